package spool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// discard moves something of a job to the trash. That is not durable on return.
func (s *Spool) discard(path string) error {
	if err := s.disk.Move("trash", path, s.path(DirTrash, s.ids.next(time.Now())), false); err != nil {
		return err
	}
	select {
	case s.trashed <- struct{}{}:
	default: // one is waiting already
	}
	return nil
}

// EmptyTrash removes what was discarded, until ctx ends. What comes out of an
// inbox can be large, and somebody can still hold descriptors of its folders:
// no job waits for its removal.
func (s *Spool) EmptyTrash(ctx context.Context) {
	for tries := 0; ctx.Err() == nil; {
		var again <-chan time.Time
		if err := s.emptyTrash(ctx); err == nil {
			tries = 0
		} else if ctx.Err() == nil {
			tries++
			again = time.After(backoff(s.o.Retry, maxDelay, tries))
			s.log.Warn("the trash can't be emptied; it will be tried again", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-s.trashed:
		case <-again:
		}
	}
}

// emptyTrash removes all it can. Folders in a folder are moved up into the trash,
// so that it needs no more descriptors for a tree that nests deeply.
func (s *Spool) emptyTrash(ctx context.Context) error {
	for {
		moved := false
		err := s.eachInTrash(ctx, "", func(path string) error {
			err := s.disk.Remove("trash", path)
			if !errors.Is(err, unix.ENOTEMPTY) {
				return err
			}
			err = s.eachInTrash(ctx, filepath.Base(path), func(child string) error {
				err := s.disk.Remove("trash", child)
				if errors.Is(err, unix.ENOTEMPTY) {
					err = s.disk.Move("trash", child, s.path(DirTrash, s.ids.next(time.Now())), false)
					moved = moved || err == nil
				}
				return err
			})
			return errors.Join(err, s.disk.Remove("trash", path))
		})
		if !moved || ctx.Err() != nil {
			return err
		}
	}
}

// eachInTrash calls f with the path of every entry of a folder of the trash, after
// it closed the folder to all others. It returns one of the errors.
func (s *Spool) eachInTrash(ctx context.Context, name string, f func(path string) error) error {
	folder := s.path(DirTrash, name)
	fd, err := openDir(folder)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), folder)
	defer dir.Close()
	if err := seizeFolder(fd); err != nil {
		return err
	}
	var failed error
	err = readDirNames(dir, func(child string) bool {
		if err := f(filepath.Join(folder, child)); err != nil {
			failed = err
		}
		return ctx.Err() == nil
	})
	return errors.Join(err, failed)
}

// errTooMany ends seize at its limit.
var errTooMany = errors.New("too many entries")

// seize closes the folders of a tree that came out of an inbox, top-down: each gets the node's owner and is closed
// to all others. Whoever still has one open can make no entry in it then, and nobody reaches what lies in it. It
// looks at no more than left entries; more are errTooMany. Files stay as they are, and mounts: what gets the node's
// owner would look like the node's own, and its sender may still write to it, or have another name for it.
func (s *Spool) seize(dir int, name string, left *int) error {
	if *left--; *left < 0 {
		return errTooMany
	}
	pin, l, err := look(s.disk, "claim.seize", dir, name)
	if err != nil {
		return err
	}
	defer unix.Close(pin)
	if l.foreign || l.mode != unix.S_IFDIR {
		return nil
	}
	folder, err := s.openSeized("claim.seize", pin, name)
	if err != nil {
		return err
	}
	defer folder.Close()
	var below error
	err = readDirNames(folder, func(child string) bool {
		below = s.seize(int(folder.Fd()), child, left)
		return below == nil
	})
	return errors.Join(below, err)
}

// openSeized seizes a folder and opens it for reading.
func (s *Spool) openSeized(step string, pin int, name string) (*os.File, error) {
	var fd int
	err := s.disk.Open(step+".list", name, func() error {
		err := seizeFolder(pin)
		if err == nil {
			fd, err = unix.Open(procPath(pin), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// seizeFolder gives a folder to the node, and closes it. What can't be changed, because it is immutable or because
// the node is not root's, stays as it is.
func seizeFolder(pin int) error {
	var err error
	if os.Geteuid() == 0 {
		err = unix.Fchownat(pin, "", 0, 0, unix.AT_EMPTY_PATH)
	}
	if err == nil {
		err = unix.Chmod(procPath(pin), uint32(modePrivateDir))
	}
	if errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

// procPath leads to what a descriptor is open on, also if it only names it.
func procPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }
