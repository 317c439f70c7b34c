package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/threegate/tool-exec/spool/durable"
)

// Outbox brings notices to CORE's folder of notices, which may be a mount that hangs. Put only
// writes into the node; Deliver, which nobody waits for, writes into CORE's folder. A notice that was
// delivered may be delivered once more after a crash: the same bytes under the same name.
type Outbox struct {
	// Seam is for fault injection.
	Seam Seam
	// Access is who may do what with a notice in CORE's folder.
	Access Access

	dir  string
	core coreFolder
	// mu keeps Put from replacing what Deliver is about to remove as delivered.
	mu   sync.Mutex
	wake chan struct{}
}

// Names of notices.
const (
	NoticePrefix = "TN-"
	NoticeSuffix = ".json"

	maxNoticeBytes = 64 << 10
)

// NewOutbox brings the notices of the node in dir to the folder core, which need not be there yet.
func NewOutbox(dir, core string) *Outbox {
	return &Outbox{Access: DefaultAccess(), dir: filepath.Join(dir, DirOutbox), core: coreFolder{dir: core},
		wake: make(chan struct{}, 1)}
}

func (o *Outbox) disk() durable.Disk { return durable.Disk{Seam: o.Seam} }

// Put notes durably that CORE is to find notice under name, in place of an earlier one. An empty
// notice means that CORE is to find none.
func (o *Outbox) Put(name string, notice []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.disk().WriteFile("notice", o.dir, name, notice, modeGroupFile, true); err != nil {
		return err
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// Wake tells when there is something to deliver.
func (o *Outbox) Wake() <-chan struct{} { return o.wake }

// Deliver does in CORE's folder what was noted. What fails stays noted, and does not keep the
// others from being delivered.
func (o *Outbox) Deliver() error {
	es, err := os.ReadDir(o.dir)
	if err != nil || len(es) == 0 {
		return err
	}
	if err := o.core.present(); err != nil {
		return err
	}
	var errs []error
	for _, e := range es {
		if IsTemporary(e.Name()) {
			continue // of a Put that a crash cut short, and that is made again
		}
		if err := o.deliver(e.Name()); err != nil {
			errs = append(errs, fmt.Errorf("notice %s: %w", e.Name(), err))
		}
	}
	return errors.Join(errs...)
}

func (o *Outbox) deliver(name string) error {
	path := filepath.Join(o.dir, name)
	notice, err := durable.ReadRegular(path, maxNoticeBytes)
	if err != nil {
		return err
	}
	if len(notice) == 0 {
		err = o.disk().Remove("notice.withdraw", filepath.Join(o.core.dir, name))
		if err == nil {
			err = o.disk().SyncDir("notice.withdraw", o.core.dir)
		}
	} else {
		d := o.disk()
		d.Owner = o.Access.owner()
		err = d.WriteFile("notice.deliver", o.core.dir, name, notice, o.Access.Mode, true)
	}
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if now, err := durable.ReadRegular(path, maxNoticeBytes); err != nil || !bytes.Equal(now, notice) {
		return err // another one came meanwhile
	}
	if err := o.disk().Remove("notice.done", path); err != nil {
		return err
	}
	return o.disk().SyncDir("notice.done", o.dir)
}

// Undelivered lists the names that CORE's folder does not have yet.
func Undelivered(dir string) ([]string, error) {
	es, err := os.ReadDir(filepath.Join(dir, DirOutbox))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range es {
		if strings.HasPrefix(e.Name(), NoticePrefix) {
			names = append(names, e.Name())
		}
	}
	return names, err
}
