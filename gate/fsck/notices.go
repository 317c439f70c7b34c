package fsck

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// told is what CORE was told last about a subject, by the last event of a job: without a notice,
// that an earlier one is no longer true.
type told struct {
	notice *schemas.Notice
	by     *job
	before *schemas.Notice // that CORE may still see while an order is carried out
}

// notices looks at what CORE is told of requests that got no result. CORE may remove every notice;
// one that is there must be what is on record.
func (n *node) notices() {
	if !n.cfg.CoreNotices.Enabled {
		return
	}
	pending, err := spool.Undelivered(n.cfg.Dir)
	if err != nil {
		n.unreadable("", n.path(spool.DirOutbox), err)
	}
	for _, name := range pending {
		n.report.Pending = append(n.report.Pending, n.path(spool.DirOutbox, name))
	}
	dir := n.cfg.CoreNotices.Path
	es, err := os.ReadDir(dir)
	if n.unseen(dir, err) {
		return
	}
	if err != nil {
		n.found(CheckLayout, "", dir, "make the folder again, or mount it: notices wait until it is there",
			"CORE's folder of notices can't be read: %v", err)
		return
	}
	for _, e := range es {
		name := e.Name()
		subject, ok := strings.CutPrefix(strings.TrimSuffix(name, spool.NoticeSuffix), spool.NoticePrefix)
		of, known := n.told[subject]
		path := filepath.Join(dir, name)
		switch {
		case slices.Contains(pending, name), known && of.by.kind() != string(of.by.announced):
			// on its way
		case spool.IsTemporary(name):
			n.report.Pending = append(n.report.Pending, path)
		case !ok:
			n.foreign(path)
		case n.blind && !known:
			n.unjudged("", path, "nothing on record tells CORE this")
		case !strings.HasSuffix(name, spool.NoticeSuffix) || !known || of.notice == nil:
			n.found(CheckNotice, "", path, "remove it: CORE must not believe it",
				"nothing on record tells CORE this")
		default:
			n.notice(path, of)
		}
	}
}

// maxNoticeBytes is more than any notice has.
const maxNoticeBytes = 1 << 20

// ordered says whether an order waits, or is decided and not done.
func (n *node) ordered() bool {
	folder := spool.NewOrders(n.cfg.Dir, nil)
	waiting, err := folder.Pending()
	undone, undoneErr := folder.Unanswered()
	return err == nil && len(waiting) > 0 || undoneErr == nil && len(undone) > 0
}

func same(notice *schemas.Notice, file []byte) bool {
	b, err := notice.Encode()
	return err == nil && bytes.Equal(b, file)
}

// notice compares one notice with the record.
func (n *node) notice(path string, of told) {
	want, err := of.notice.Encode()
	if err != nil {
		n.unreadable(of.by.id, path, err)
		return
	}
	switch got, err := durable.ReadRegular(path, maxNoticeBytes); {
	case errors.Is(err, fs.ErrNotExist): // CORE took it meanwhile
	case err == nil && of.before != nil && n.ordered() && same(of.before, got):
		n.report.Pending = append(n.report.Pending, path)
	case err != nil || !bytes.Equal(got, want):
		n.found(CheckNotice, of.by.id, path, "tell CORE not to use it, and remove it",
			"it is not what the ledger has for it")
	}
}
