package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Owner is who gets what is made; -1 leaves what the system gives.
type Owner struct{ UID, GID int }

// give sets owner, group and mode of what is open. Without an owner only the mode is set.
func (o *Owner) give(f *os.File, mode fs.FileMode) error {
	if o != nil && (o.UID >= 0 || o.GID >= 0) {
		if err := f.Chown(o.UID, o.GID); err != nil {
			return err
		}
	}
	return f.Chmod(mode)
}

// PinnedDir is a folder below one that others may write to. They can put a link in its place; so what
// lies in it is reached by its descriptor.
type PinnedDir struct {
	// Path is where it lies now, for steps and errors: whoever moves it sets it anew.
	Path string

	root *os.Root
}

// Pin opens a folder that Mkdir made, for its owner alone. That it is another one now is an error.
func Pin(path string) (*PinnedDir, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		return nil, fmt.Errorf("%q was replaced while it was made", path)
	}
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return nil, err
	}
	return &PinnedDir{path, root}, nil
}

// Close lets the folder go.
func (h *PinnedDir) Close() error { return h.root.Close() }

// below tells whether path lies in the folder, and where.
func (h *PinnedDir) below(path string) (string, bool) {
	if h == nil {
		return "", false
	}
	rel, err := filepath.Rel(h.Path, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

func (h *PinnedDir) open(path string, flag int, mode fs.FileMode) (*os.File, error) {
	if rel, ok := h.below(path); ok {
		return h.root.OpenFile(rel, flag, mode.Perm())
	}
	return os.OpenFile(path, flag, mode)
}

func (h *PinnedDir) remove(path string) error {
	if rel, ok := h.below(path); ok {
		return h.root.Remove(rel)
	}
	return os.Remove(path)
}

// Give sets owner, group and mode of a folder that lies in the held one, or of that. It is to be the
// last that is done in it: its owner may change it from then on.
func (d Disk) Give(step, path string, mode fs.FileMode) error {
	f, err := d.Pinned.open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err == nil {
		err = errors.Join(d.Owner.give(f, mode), f.Close())
	}
	if err != nil {
		return &StepError{Step: Step{Name: step + ".give", Path: path}, Err: err}
	}
	return nil
}
