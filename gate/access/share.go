package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// Groups are the groups of people who use the node without root; 0 is none.
type Groups struct {
	// People read the node's own files and the ledger, and give orders.
	People int
	// Approvers put requests into inboxes.
	Approvers int
	// Auditors read jobs, whatever came of them.
	Auditors int
}

// Modes of what is shared. What is made in a folder of modeDir gets its group.
const (
	modePrivate fs.FileMode = 0o700
	modeDir                 = 0o750 | fs.ModeSetgid
	modeFile    fs.FileMode = 0o640
	modeDrop                = 0o770 | fs.ModeSticky // each puts files there, none touches another's
)

type folder struct {
	path string
	gid  int
	mode fs.FileMode
}

// folders are those of a node that people may read, parents first.
func (g Groups) folders() []folder {
	list := []folder{{spool.DirSpool, g.Auditors, modeDir}, {spool.DirOutbox, g.Auditors, modeDir}}
	for _, st := range spool.States {
		list = append(list, folder{filepath.Join(spool.DirSpool, string(st)), g.Auditors, modeDir})
	}
	list = append(list, folder{spool.DirArchive, g.Auditors, modeDir}, folder{spool.DirReissues, g.Auditors, modeDir},
		folder{spool.DirQuarantine, g.Auditors, modeDir},
		folder{spool.DirQuarantineRequests, g.Auditors, modeDir},
		folder{spool.DirQuarantineResults, g.Auditors, modeDir},
		folder{spool.DirLedger, g.People, modeDir}, folder{spool.DirSigners, g.People, modeDir},
		folder{spool.DirOrders, g.People, modeDrop},
		folder{spool.DirOrdersDone, g.People, modeDir})
	for i := range list {
		if list[i].gid == 0 {
			list[i].mode = modePrivate
		}
	}
	return list
}

// Share gives folders to the groups that may read them, with all that they hold, or takes them back.
// The folder itself comes last: what a crash cut off is done again.
//
// Whoever calls it holds the lock of the node in dir.
func (g Groups) Share(dir string, inboxes []spool.Inbox) error {
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, f := range g.folders() {
		if err := give(path(f.path), f.gid, f.mode, f.path != spool.DirOrders); err != nil {
			return err
		}
	}
	for _, in := range inboxes {
		if g.Approvers == 0 {
			break
		}
		if err := Fixed(in.Dir); err != nil {
			return err
		}
		if err := give(in.Dir, g.Approvers, modeDrop, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if g.People == 0 {
		return nil
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return err
	}
	es, err := os.ReadDir(dir)
	for _, e := range es { // the configuration, and what says how the node is
		if fi, statErr := e.Info(); statErr == nil && fi.Mode().IsRegular() && fi.Mode()&0o040 != 0 {
			err = errors.Join(err, os.Lchown(path(e.Name()), -1, g.People))
		}
	}
	return errors.Join(err, give(dir, g.People, fi.Mode().Perm()|0o050|fs.ModeSetgid, false))
}

// Fixed is an error, with a hint, if somebody else than root and the node's user could put another folder in the place
// of an inbox, as a link: that would be given to the approvers, and what lies there would be taken in.
func Fixed(inbox string) error {
	paths := []string{inbox}
	if real, err := filepath.EvalSymlinks(inbox); err == nil {
		paths = append(paths, real)
	}
	for _, path := range paths {
		for above := filepath.Dir(path); path != above; path, above = above, filepath.Dir(above) {
			up, err := os.Stat(above)
			if err != nil {
				return err
			}
			entry, err := os.Lstat(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return err
			}
			open := up.Mode()&0o022 != 0
			if ours(up) && (!open || up.Mode()&fs.ModeSticky != 0 && ours(entry)) {
				continue
			}
			err = fmt.Errorf("others could put another folder in the place of the inbox %s: "+
				"they can write to %s (mode %04o)", path, above, up.Mode().Perm())
			return executors.WithHint(err, fmt.Sprintf("chown root %[1]s && chmod go-w %[1]s, or let the inbox be "+
				"elsewhere (inboxes.path): each folder above it must be root's, and only root may write there", above))
		}
	}
	return nil
}

// ours says whether a file is root's, or of the user that the node runs as.
func ours(fi fs.FileInfo) bool {
	uid := int(fi.Sys().(*syscall.Stat_t).Uid)
	return uid == 0 || uid == os.Geteuid()
}

// give sets group and mode of a folder unless it has them, and before that those of what lies in it: jobs,
// which the node made. What was left raw of a request stays closed.
func give(dir string, gid int, mode fs.FileMode, deep bool) error {
	const bits = fs.ModePerm | fs.ModeSetgid | fs.ModeSticky
	fi, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if st := fi.Sys().(*syscall.Stat_t); fi.Mode()&bits == mode && (int(st.Gid) == gid || gid == 0) {
		return nil
	}
	if deep && gid != 0 {
		err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil || path == dir:
				return err
			case e.IsDir() && hostile(path):
				return fs.SkipDir
			case e.IsDir():
				return errors.Join(os.Lchown(path, -1, gid), os.Chmod(path, modeDir))
			case e.Type().IsRegular():
				return giveFile(path, gid)
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Chown(dir, -1, gid), os.Chmod(dir, mode))
}

// giveFile gives one of the node's own files to a group; somebody else's stays as it is.
func giveFile(path string, gid int) error {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || int(fi.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		return err
	}
	return errors.Join(f.Chown(-1, gid), f.Chmod(modeFile))
}

// hostile says whether path is the trash, or what was left raw of a request.
func hostile(path string) bool {
	dir, name := filepath.Split(path)
	in := filepath.Base(dir)
	raw := name == spool.DirRaw && spool.ValidID(strings.TrimPrefix(in, "."))
	return raw || filepath.Join(in, name) == spool.DirTrash
}
