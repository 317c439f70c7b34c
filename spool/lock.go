package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool/durable"
)

const lockName = ".lock"

// lock takes the node for this process. The kernel gives it back when the
// process ends, however it ends; the pid in the file is only for people.
func lock(dir string) (*os.File, error) {
	p := filepath.Join(dir, lockName)
	f, err := os.OpenFile(p, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, modePrivateFile)
	if err != nil {
		return nil, fmt.Errorf("locking the node: %w", err)
	}
	if err := tryLock(f); err != nil {
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			text, _ := io.ReadAll(io.LimitReader(f, 20))
			pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
			return nil, fmt.Errorf("%w: %q is held by process %d", ErrLocked, p, pid)
		}
		return nil, fmt.Errorf("locking %q: %w", p, err)
	}
	// Only people read the pid: a full disk must not keep the node from starting.
	if err = f.Truncate(0); err == nil {
		_, _ = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	return f, nil
}

// Hold keeps every gate off the node in dir until release is called, and does
// nothing else to it. A node that a process owns gives ErrLocked.
func Hold(dir string) (release func() error, err error) {
	f, err := lock(dir)
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}

// Locked holds the lock for an instant when it looks; a start that meets it
// tries a few times.
const (
	lockTries = 5
	lockPause = 20 * time.Millisecond
)

func tryLock(f *os.File) error {
	var err error
	for range lockTries {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		time.Sleep(lockPause)
	}
	return err
}

// Locked says whether a process owns the node in dir.
func Locked(dir string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDONLY|unix.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, fs.ErrPermission):
		return durable.LockListed(filepath.Join(dir, lockName))
	}
	if err != nil {
		return false, fmt.Errorf("looking at the lock of the node: %w", err)
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
