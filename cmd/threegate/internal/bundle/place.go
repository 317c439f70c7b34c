package bundle

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool/durable"
)

// Modes of files and folders that are written: the folder above them limits who may read.
const (
	modeFile = 0o644
	modeDir  = 0o755
)

// ErrChanged says that a file is not what was approved.
var ErrChanged = errors.New("it is not the file that was approved")

// ErrUnsynced says that a file is in its place, but might not survive a crash of
// the machine.
var ErrUnsynced = errors.New("written, but not known to be on the disk")

// Place is an open folder. It stays the same folder if its path changes. Others who may
// write there can make a call fail, but can't make it reach anything outside.
type Place struct {
	path string
	dir  *os.File
	root *os.Root
}

// OpenPlace opens the folder at path.
func OpenPlace(path string) (*Place, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	dir := os.NewFile(uintptr(fd), path)
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &Place{path: path, dir: dir, root: root}, nil
}

// Close lets go of the folder.
func (p *Place) Close() error { return errors.Join(p.root.Close(), p.dir.Close()) }

// plain refuses what names no entry of the folder itself.
func (p *Place) plain(name string) error {
	if !filepath.IsLocal(name) || filepath.Base(name) != name || name == "." {
		return &os.PathError{Op: "use", Path: filepath.Join(p.path, name), Err: fs.ErrInvalid}
	}
	return nil
}

// Read returns the first limit+1 bytes of a regular file at most. A link is refused.
func (p *Place) Read(name string, limit int64) ([]byte, error) {
	if err := p.plain(name); err != nil {
		return nil, err
	}
	return p.ReadBelow(name, limit)
}

// ReadBelow is Read for a file at any depth: no part of rel may be a link.
func (p *Place) ReadBelow(rel string, limit int64) ([]byte, error) {
	f, err := durable.OpenBelow(p.dir, rel)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	return data, errors.Join(err, f.Close())
}

// Mode is the mode of an entry, which may be a link.
func (p *Place) Mode(name string) (fs.FileMode, error) {
	info, err := p.root.Lstat(name)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

// Remove removes a file, or a link but not what it leads to.
func (p *Place) Remove(name string) error {
	if err := p.plain(name); err != nil {
		return err
	}
	return p.root.Remove(name)
}

// WriteFile writes a file durably: a temporary in the same folder, synced, renamed
// into place, the folder synced. Without replace an existing file is an error that
// matches fs.ErrExist, and stays.
func (p *Place) WriteFile(name string, data []byte, mode fs.FileMode, replace bool) error {
	if err := p.plain(name); err != nil {
		return err
	}
	temp := temporary(name)
	f, err := p.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	made, err := f.Stat()
	if err == nil {
		_, err = f.Write(data)
	}
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = p.rename(temp, name, made, replace)
	}
	if err != nil {
		return errors.Join(err, ignoreGone(p.root.Remove(temp)))
	}
	return nil
}

// Claim calls make while this process alone may take name, unless one of the entries exists: then the error matches
// fs.ErrExist. This holds only against callers of Claim. A claim of a process that was killed stays.
func (p *Place) Claim(name string, make func() error, entries ...string) (err error) {
	if err := p.plain(name); err != nil {
		return err
	}
	mark := "." + name + ".claim"
	if err := p.root.Mkdir(mark, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.root.Remove(mark)) }()
	for _, e := range entries {
		switch _, err := p.root.Lstat(e); {
		case err == nil:
			return &os.PathError{Op: "make", Path: filepath.Join(p.path, e), Err: fs.ErrExist}
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return make()
}

// temporary is a name that nobody could know before.
func temporary(name string) string { return "." + name + "." + rand.Text() + ".tmp" }

// rename gives made, which was called temp, its name. It may be gone at once: a gate takes
// it out of its inbox. If somebody put something else in the place of temp, it is removed.
func (p *Place) rename(temp, name string, made fs.FileInfo, replace bool) error {
	var flags uint
	if !replace {
		flags = unix.RENAME_NOREPLACE
	}
	fd := int(p.dir.Fd())
	if err := unix.Renameat2(fd, temp, fd, name, flags); err != nil {
		return &os.LinkError{Op: "rename", Old: filepath.Join(p.path, temp), New: filepath.Join(p.path, name), Err: err}
	}
	info, err := p.root.Lstat(name)
	if err == nil && !os.SameFile(info, made) {
		err = fmt.Errorf("%s: somebody put something else in its place", filepath.Join(p.path, name))
		return errors.Join(err, ignoreGone(p.root.Remove(name)))
	}
	if ignoreGone(err) != nil {
		return err
	}
	if err := p.dir.Sync(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsynced, err)
	}
	return nil
}

// CopyFolder makes a folder with copies of the files, durably and in one step.
// Every file whose SHA256 is set must have that hash while it is copied, else
// the error matches ErrChanged and nothing is left behind. An existing one is an
// error that matches fs.ErrExist.
func (p *Place) CopyFolder(ctx context.Context, name string, files []File, l Limits) (err error) {
	if err := p.plain(name); err != nil {
		return err
	}
	temp := temporary(name)
	if err := p.root.Mkdir(temp, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.root.RemoveAll(temp))
		}
	}()
	in, err := p.root.OpenRoot(temp)
	if err != nil {
		return err
	}
	defer in.Close()
	made, err := in.Stat(".")
	if err != nil {
		return err
	}
	folders := map[string]bool{".": true}
	var total int64
	for _, f := range files {
		to := filepath.FromSlash(f.Rel)
		for d := filepath.Dir(to); !folders[d]; d = filepath.Dir(d) {
			folders[d] = true
		}
		if err := in.MkdirAll(filepath.Dir(to), modeDir); err != nil {
			return err
		}
		n, err := copyFile(ctx, in, to, f, l.Bytes-total)
		if err != nil {
			return err
		}
		total += n
	}
	for d := range folders {
		if err := errors.Join(in.Chmod(d, modeDir), syncDir(in, d)); err != nil {
			return err
		}
	}
	return p.rename(temp, name, made, false)
}

func copyFile(ctx context.Context, in *os.Root, to string, f File, limit int64) (n int64, err error) {
	out, err := in.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeFile)
	if err != nil {
		return 0, err
	}
	n, sum, err := stream(ctx, f, limit, out)
	err = errors.Join(err, out.Chmod(modeFile), out.Sync(), out.Close())
	if err == nil && f.SHA256 != "" && sum != f.SHA256 {
		err = fmt.Errorf("%s: %w: sha256 is %s, expected %s", f.Host, ErrChanged, sum, f.SHA256)
	}
	return n, err
}

func syncDir(in *os.Root, dir string) error {
	d, err := in.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// WriteFile is WriteFile of the Place dir.
func WriteFile(dir, name string, data []byte, mode fs.FileMode, replace bool) (err error) {
	p, err := OpenPlace(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return p.WriteFile(name, data, mode, replace)
}

// CopyFolder is CopyFolder of the Place dir.
func CopyFolder(ctx context.Context, dir, name string, files []File, l Limits) (err error) {
	p, err := OpenPlace(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return p.CopyFolder(ctx, name, files, l)
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
