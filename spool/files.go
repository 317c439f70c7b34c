package spool

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

	"github.com/threegate/tool-exec/spool/internal/durable"
)

// WriteFile writes dir/name durably with exactly this mode. A file that is there
// already is an error that matches fs.ErrExist.
func WriteFile(dir, name string, data []byte, mode fs.FileMode) error {
	return durable.Disk{}.WriteFile("file", dir, name, data, mode, false)
}

// ReplaceFile is WriteFile that replaces a file that is there: it is the old one or the new one, whole, also after a
// crash.
func ReplaceFile(dir, name string, data []byte, mode fs.FileMode) error {
	return durable.Disk{}.WriteFile("file", dir, name, data, mode, true)
}

// RemoveFile removes dir/name durably. One that is not there is an error that matches fs.ErrNotExist.
func RemoveFile(dir, name string) error {
	d := durable.Disk{}
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	if err := d.Remove("file", path); err != nil {
		return err
	}
	return d.SyncDir("file", dir)
}

// RemoveFolder removes a folder with all that it holds, durably. It follows no link, and can be called
// again after a crash.
func RemoveFolder(path string, seam Seam) error {
	d := durable.Disk{Seam: seam}
	if err := d.RemoveTree("folder", path); err != nil {
		return err
	}
	return d.SyncDir("folder", filepath.Dir(path))
}

// modeHint lets the node's group read hints.
const modeHint fs.FileMode = 0o640

// WriteHint writes a file in the node's folder that nothing depends on: whoever
// reads it sees it whole, but it may be lost in a crash.
func (s *Spool) WriteHint(name string, data []byte) error {
	if err := plainName(name); err != nil {
		return err
	}
	tmp := s.path(durable.Temporary(name))
	if err := os.WriteFile(tmp, data, modeHint); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(s.dir, name))
}

// IsTemporary reports whether a name may be that of a file or folder of the node
// that is still being written.
func IsTemporary(name string) bool { return durable.IsTemporary(name) }

// ReadRegular reads a regular file of at most limit bytes. It neither follows nor
// waits for anything else.
func ReadRegular(path string, limit int64) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%q: %w", path, durable.ErrTooLong)
	}
	return data, err
}

// Digest is the lower-case hex SHA-256 of a regular file. It neither follows nor
// waits for anything else.
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

var errNotRegular = errors.New("it is no regular file")

// OpenRegular opens a regular file for reading and nothing else: it neither follows nor waits.
func OpenRegular(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, unix.ELOOP) {
			return nil, fmt.Errorf("%q: %w", name, errNotRegular)
		}
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%q: %w", name, errNotRegular)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
