package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// Checkpoints lie in one folder, a file each, named by the number of the last event that they sign.
const (
	// DirCheckpoints is that folder in a node's, unless another is named.
	DirCheckpoints = "checkpoints"
	suffixNote     = ".note" // c2sp.org/tlog-checkpoint
	suffixOpenWOP  = ".json" // OpenWOP's audit profile
	maxCheckpoint  = 64 << 10
)

// noted is a checkpoint and its file.
type noted struct {
	Checkpoint
	file string
}

// folder is what lies in a folder of checkpoints, in the order of their events.
type folder struct {
	notes   []noted
	openwop []openwop.SignedCheckpoint
}

// readFolder reads the checkpoints in dir. One that does not exist holds none. What is no checkpoint is given to wrong.
func readFolder(dir string, wrong func(file string, err error)) (f folder, err error) {
	entries, err := os.ReadDir(dir) // sorted: names have the number, with leading zeros
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("read the checkpoints: %w", err)
	}
	for _, e := range entries {
		if spool.IsTemporary(e.Name()) || e.Name() == dirStatements {
			continue
		}
		file := filepath.Join(dir, e.Name())
		raw, err := durable.ReadRegular(file, maxCheckpoint)
		switch {
		case err != nil:
		case strings.HasSuffix(e.Name(), suffixNote):
			var c Checkpoint
			if c, err = ParseCheckpoint(raw); err == nil && e.Name() != noteName(c.N) {
				err = fmt.Errorf("it is about event %d", c.N)
			}
			if err == nil {
				f.notes = append(f.notes, noted{c, file})
			}
		default:
			var cp openwop.SignedCheckpoint
			err = schemas.DecodeStrict(raw, &cp)
			if err == nil && e.Name() != cp.ID+suffixOpenWOP {
				err = fmt.Errorf("it is %q", cp.ID)
			}
			if err == nil {
				f.openwop = append(f.openwop, cp)
			}
		}
		if err != nil {
			wrong(file, err)
		}
	}
	return f, nil
}

func noteName(n int64) string { return fmt.Sprintf("cp-%012d%s", n, suffixNote) }

// checkpoints reads those that are to be checked.
func (r *record) checkpoints() ([]openwop.SignedCheckpoint, error) {
	f, err := readFolder(r.o.Checkpoints, r.unreadable)
	r.notes = f.notes
	return f.openwop, err
}

// note checks a checkpoint whose last event was just read, and reports whether it is good.
func (r *record) note(c noted) bool {
	root, err := r.tree.root()
	signer, _, why := c.signedBy(*r.o.Keys)
	switch {
	case c.N != r.tree.size:
		why = "the record has no such event"
	case err != nil || root != c.Hash:
		why = "it signs other events than those of the record"
	case c.Origin != r.origin:
		why = fmt.Sprintf("it is of the log %q, and this node is %q", c.Origin, r.origin)
	case !signer && why == "":
		why = "only witnesses signed it"
	}
	if why != "" {
		r.found(CheckCheckpoint, c.file, mendRecord, "checkpoint at event %d: %s", c.N, why)
	}
	return why == ""
}
