package durable

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrNotRegular says that a path names something that is no file of bytes.
var ErrNotRegular = errors.New("not a regular file")

const openFlags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

// OpenRegular opens a regular file for reading. It follows no link at the end of path and waits for nothing: anything
// else is an error that matches ErrNotRegular.
func OpenRegular(path string) (*os.File, error) {
	return regular(path, "a symbolic link", func() (*os.File, error) {
		return os.OpenFile(path, openFlags|unix.O_NOFOLLOW, 0)
	})
}

// OpenNamed is OpenRegular for a path that a person gave: a link at its end is followed.
func OpenNamed(path string) (*os.File, error) {
	return regular(path, "behind links that lead in a circle", func() (*os.File, error) {
		return os.OpenFile(path, openFlags, 0)
	})
}

// OpenBelow is OpenRegular for a file below an opened folder: no part of rel may be a link, or lead out.
func OpenBelow(dir *os.File, rel string) (*os.File, error) {
	path := filepath.Join(dir.Name(), rel)
	return regular(path, "a symbolic link, or lies behind one", func() (*os.File, error) {
		fd, err := unix.Openat2(int(dir.Fd()), rel, &unix.OpenHow{Flags: openFlags,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		return os.NewFile(uintptr(fd), path), nil
	})
}

// regular opens path, and says of what else than a regular file it is. The kernel may say only that there is a link.
func regular(path, link string, open func() (*os.File, error)) (*os.File, error) {
	not := func(what string) error {
		return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w: it is %s", ErrNotRegular, what)}
	}
	f, err := open()
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, not(link)
	case errors.Is(err, unix.ENXIO):
		return nil, not("a socket or a device")
	case err != nil:
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = not(Describe(info.Mode()))
	}
	if err != nil {
		_ = f.Close() // it was only looked at
		return nil, err
	}
	return f, nil
}

// OpenFolder opens a folder for what lies in it. A link is refused, with an error that matches ErrNotRegular.
func OpenFolder(path string) (*os.File, error) {
	f, err := os.OpenFile(path, openFlags|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	// Of a link the kernel says that it is no folder.
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		what := "no folder"
		if info, err := os.Lstat(path); err == nil {
			what = Describe(info.Mode())
		}
		return nil, fmt.Errorf("%s: %w: it is %s", path, ErrNotRegular, what)
	}
	return f, err
}

// ReadRegular reads a file that OpenRegular opens. One of more than limit bytes is an error that matches ErrTooLong.
func ReadRegular(path string, limit int64) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%q: %w", path, ErrTooLong)
	}
	return data, err
}

// Digest is the lower-case hex SHA-256 of a file that OpenRegular opens.
func Digest(path string) (string, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Describe names a file's type in words.
func Describe(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a regular file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "no ordinary file"
}

// WriteFile is [Disk.WriteFile] of the real disk. A file that is there already is an error that matches fs.ErrExist.
func WriteFile(dir, name string, data []byte, mode fs.FileMode) error {
	return Disk{}.WriteFile("file", dir, name, data, mode, false)
}

// ReplaceFile is WriteFile that replaces a file that is there: it is the old one or the new one, whole, also after a
// crash.
func ReplaceFile(dir, name string, data []byte, mode fs.FileMode) error {
	return Disk{}.WriteFile("file", dir, name, data, mode, true)
}

// RemoveFile removes dir/name durably. One that is not there is an error that matches fs.ErrNotExist.
func RemoveFile(dir, name string) error {
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	if err := (Disk{}).Remove("file", path); err != nil {
		return err
	}
	return Disk{}.SyncDir("file", dir)
}
