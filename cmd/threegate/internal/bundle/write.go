package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Modes of what is put down: the folder around it says who may look.
const (
	modeFile = 0o644
	modeDir  = 0o755
)

// ErrChanged says that a file is not what was approved.
var ErrChanged = errors.New("it is not the file that was approved")

// ErrUnsynced says that a file is in its place, but might not survive a crash of
// the machine.
var ErrUnsynced = errors.New("written, but not known to be on the disk")

// WriteFile writes dir/name durably: a temporary in the same folder, synced,
// renamed into place, the folder synced. Without replace an existing file is an
// error that matches fs.ErrExist, and stays.
func WriteFile(dir, name string, data []byte, mode fs.FileMode, replace bool) (err error) {
	f, err := os.CreateTemp(dir, "."+name+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreGone(os.Remove(f.Name())))
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return rename(f.Name(), filepath.Join(dir, name), replace)
}

func rename(from, to string, replace bool) error {
	var flags uint
	if !replace {
		flags = unix.RENAME_NOREPLACE
	}
	if err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	if err := syncDir(filepath.Dir(to)); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsynced, err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// CopyFolder makes dir/name with copies of the files, durably and in one step.
// Every file whose SHA256 is set must have that hash while it is copied, else
// the error matches ErrChanged and nothing is left behind. An existing dir/name
// is an error that matches fs.ErrExist.
func CopyFolder(ctx context.Context, dir, name string, files []File, l Limits, count io.Writer) (err error) {
	temp, err := os.MkdirTemp(dir, "."+name+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	folders := map[string]bool{temp: true}
	var total int64
	for _, f := range files {
		to := filepath.Join(temp, filepath.FromSlash(f.Rel))
		for d := filepath.Dir(to); !folders[d]; d = filepath.Dir(d) {
			folders[d] = true
		}
		if err := os.MkdirAll(filepath.Dir(to), modeDir); err != nil {
			return err
		}
		n, err := copyFile(ctx, to, f, l.Bytes-total, count)
		if err != nil {
			return err
		}
		total += n
	}
	for d := range folders {
		if err := errors.Join(os.Chmod(d, modeDir), syncDir(d)); err != nil {
			return err
		}
	}
	return rename(temp, filepath.Join(dir, name), false)
}

func copyFile(ctx context.Context, to string, f File, limit int64, count io.Writer) (n int64, err error) {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeFile)
	if err != nil {
		return 0, err
	}
	n, sum, err := stream(ctx, f, limit, io.MultiWriter(out, count))
	err = errors.Join(err, out.Chmod(modeFile), out.Sync(), out.Close())
	if err == nil && f.SHA256 != "" && sum != f.SHA256 {
		err = fmt.Errorf("%s: %w: sha256 is %s, expected %s", f.Host, ErrChanged, sum, f.SHA256)
	}
	return n, err
}
