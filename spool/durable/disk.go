package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Disk takes filesystem steps. The zero value is the real disk.
type Disk struct {
	Seam Seam
	// Owner, if there is one, gets each file that is made, before anything is written to it.
	Owner *Owner
	// Pinned, if there is one, is a folder that is reached by its descriptor only.
	Pinned *PinnedDir
}

// Mkdir makes one folder with exactly this mode, whatever the umask. It is
// durable once its parent has been synced. An existing folder is an error that
// matches fs.ErrExist.
func (d Disk) Mkdir(step, path string, mode fs.FileMode) error {
	return d.take(Step{Name: step + ".mkdir", Op: OpMkdir, Path: path}, func() error {
		if rel, ok := d.Pinned.below(path); ok {
			return d.Pinned.root.Mkdir(rel, mode.Perm()&0o700) // Give opens it to others
		}
		if err := unix.Mkdir(path, unixMode(mode)); err != nil {
			return err
		}
		return unix.Chmod(path, unixMode(mode))
	})
}

// Symlink makes a symbolic link, whose target is any text: it is there whole or
// not at all, and durable with the folder's entry.
func (d Disk) Symlink(step, text, path string) error {
	return d.take(Step{Name: step + ".symlink", Op: OpCreate, Path: path}, func() error {
		return unix.Symlink(text, path)
	})
}

// Move renames without syncing any folder: the caller syncs both before it
// relies on the move. Without replace an existing target is an error that
// matches fs.ErrExist. A move that reports an error although it happened is
// found out by looking, and counts as done.
func (d Disk) Move(step, from, to string, replace bool) error {
	s := Step{Name: step + ".rename", Op: OpRename, Path: from, To: to}
	source, errSource := os.Lstat(from)
	err := d.Seam.do(s, func() error {
		if replace {
			return unix.Rename(from, to)
		}
		return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	})
	if err == nil {
		return nil
	}
	if errors.Is(errSource, fs.ErrNotExist) {
		return &StepError{Step: s, Err: err} // there was nothing to move
	}
	gone, errGone := missing(from)
	target, errTarget := os.Lstat(to)
	if errors.Is(errTarget, fs.ErrNotExist) {
		return &StepError{Step: s, Uncertain: errGone != nil, Err: err}
	}
	if errSource != nil || errGone != nil || errTarget != nil {
		return &StepError{Step: s, Uncertain: true, Err: err}
	}
	if gone && os.SameFile(source, target) {
		return nil
	}
	return &StepError{Step: s, Err: err}
}

// Rename is Move without replacing, and a sync of both folders. It is the one
// way in which a state changes.
func (d Disk) Rename(step, from, to string) error {
	if err := d.Move(step, from, to, false); err != nil {
		return err
	}
	var b Batch
	b.Dir(step, filepath.Dir(to))
	b.Dir(step+".source", filepath.Dir(from))
	return Uncertain(d.Sync(&b))
}

// SyncDir makes the entries of a folder durable. A folder that can't be opened is
// an fs.PathError.
func (d Disk) SyncDir(step, path string) error {
	return d.take(Step{Name: step + ".fsyncdir", Op: OpSyncDir, Path: path}, func() error {
		f, err := d.Pinned.open(path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// Remove removes one file or empty folder; one that is not there is no error.
func (d Disk) Remove(step, path string) error {
	return d.take(Step{Name: step + ".remove", Op: OpRemove, Path: path}, func() error {
		err := d.Pinned.remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// RemoveTree removes a folder with all that it holds, following no link. One
// that is not there is no error.
func (d Disk) RemoveTree(step, path string) error {
	s := Step{Name: step + ".removetree", Op: OpRemove, Path: path, Torn: func() error {
		es, err := os.ReadDir(path)
		if err == nil && len(es) > 0 {
			err = os.RemoveAll(filepath.Join(path, es[0].Name()))
		}
		return err
	}}
	return d.take(s, func() error { return os.RemoveAll(path) })
}

// Open runs a caller's own open of a file that is to be read, so that a lack of
// descriptors can be injected there too.
func (d Disk) Open(step, path string, open func() error) error {
	return d.Seam.do(Step{Name: step + ".open", Op: OpOpen, Path: path}, open)
}

// take wraps the error of a step that did not happen.
func (d Disk) take(s Step, apply func() error) error {
	if err := d.Seam.do(s, apply); err != nil {
		return &StepError{Step: s, Err: err}
	}
	return nil
}

func missing(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

func unixMode(m fs.FileMode) uint32 {
	u := uint32(m.Perm())
	if m&fs.ModeSticky != 0 {
		u |= unix.S_ISVTX
	}
	if m&fs.ModeSetgid != 0 {
		u |= unix.S_ISGID
	}
	return u
}
