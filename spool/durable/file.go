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
	"strings"

	"golang.org/x/sys/unix"
)

// ErrTooLong is returned by Copy for a source of more than the allowed size.
var ErrTooLong = errors.New("more bytes than allowed")

// Temporary is the name under which a file is prepared. There is one per name, so
// a crash never leaves more than one, and the next write of the same name takes
// it away.
func Temporary(name string) string { return "." + name + ".tmp" }

// IsTemporary reports whether a name may be that of a Temporary.
func IsTemporary(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
}

// WriteFile writes dir/name with exactly this mode: temporary, write, sync,
// close, rename, sync of the folder. Whoever reads dir/name sees all of data or
// what was there before. Without replace a file of that name is an error that
// matches fs.ErrExist. Only one writer per name may be at work.
func (d Disk) WriteFile(step, dir, name string, data []byte, mode fs.FileMode, replace bool) error {
	dst := filepath.Join(dir, name)
	if !replace {
		// The rename would find out too, but after the work.
		if absent, err := missing(dst); err == nil && !absent {
			return fmt.Errorf("%s: %q: %w", step, dst, fs.ErrExist)
		}
	}
	tmp := filepath.Join(dir, Temporary(name))
	if err := d.fill(step, tmp, mode, data); err != nil {
		return err
	}
	var b Batch
	b.File(step, tmp)
	err := d.Sync(&b)
	if err == nil {
		err = d.Move(step, tmp, dst, replace)
	}
	if err != nil {
		return errors.Join(err, d.Remove(step+".undo", tmp))
	}
	return Uncertain(d.SyncDir(step, dir))
}

// Write is WriteFile that replaces, without the syncs, which are left to the
// batch. Until then a power cut can leave dir/name empty or torn: its presence
// says nothing.
func (d Disk) Write(step, dir, name string, data []byte, mode fs.FileMode, later *Batch) error {
	tmp, dst := filepath.Join(dir, Temporary(name)), filepath.Join(dir, name)
	if err := d.fill(step, tmp, mode, data); err != nil {
		return err
	}
	if err := d.Move(step, tmp, dst, true); err != nil {
		return errors.Join(err, d.Remove(step+".undo", tmp))
	}
	later.File(step, dst)
	later.Dir(step, dir)
	return nil
}

// fill makes the file path, taking away what a crash left there.
func (d Disk) fill(step, path string, mode fs.FileMode, data []byte) error {
	write := func() error {
		return d.create(step, path, mode, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	}
	err := write()
	if errors.Is(err, fs.ErrExist) {
		if err = d.Remove(step+".stale", path); err == nil {
			err = write()
		}
	}
	return err
}

// Copied is what Copy has written.
type Copied struct {
	Size   int64
	SHA256 string // lower-case hex
}

// Copy writes all of src to a fresh file path, hashing it on the way. It syncs
// neither the file nor its folder. A source of more than limit bytes is
// ErrTooLong. After an error there is no file. An error of src itself matches
// ErrSource.
func (d Disk) Copy(step, path string, mode fs.FileMode, src io.Reader, limit int64) (Copied, error) {
	var c Copied
	h := sha256.New()
	err := d.create(step, path, mode, func(w io.Writer) error {
		in := &source{r: io.LimitReader(src, limit+1)}
		n, err := io.Copy(io.MultiWriter(w, h), in)
		switch {
		case in.err != nil:
			return fmt.Errorf("%w: %w", ErrSource, in.err)
		case err != nil:
			return err
		case n > limit:
			return ErrTooLong
		}
		c.Size = n
		return nil
	})
	if err != nil {
		return Copied{}, err
	}
	c.SHA256 = hex.EncodeToString(h.Sum(nil))
	return c, nil
}

// ErrSource is a failure to read what was to be copied.
var ErrSource = errors.New("reading the source failed")

type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// create makes a fresh file, lets write fill it and closes it. It removes the
// file again if any of what follows the creation fails.
func (d Disk) create(step, path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	var f *os.File
	err = d.take(Step{Name: step + ".create", Op: OpCreate, Path: path}, func() error {
		var err error
		f, err = d.Pinned.open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, mode)
		return err
	})
	defer func() {
		if err != nil && f != nil { // what could not be opened is not ours
			_ = f.Close() // a second close only reports that it is one
			err = errors.Join(err, d.Remove(step+".undo", path))
		}
	}()
	if err != nil {
		return err
	}
	if err = d.Owner.give(f, mode); err != nil {
		return &StepError{Step: Step{Name: step + ".chmod", Path: path}, Err: err}
	}
	if err = write(&file{d: d, step: step, f: f}); err != nil {
		return err
	}
	return d.take(Step{Name: step + ".close", Op: OpClose, Path: path}, f.Close)
}

type file struct {
	d    Disk
	step string
	f    *os.File
}

func (w *file) Write(p []byte) (n int, err error) {
	s := Step{Name: w.step + ".write", Op: OpWrite, Path: w.f.Name()}
	s.Torn = func() error { _, err := w.f.Write(p[:len(p)/2]); return err }
	err = w.d.take(s, func() error { n, err = w.f.Write(p); return err })
	return n, err
}

// Unnamed is a file in the making that gets its name when it is whole.
type Unnamed struct {
	*os.File
	dir string
}

// Create begins a file of the folder dir. It ends with Commit.
func Create(dir string) (*Unnamed, error) {
	f, err := os.CreateTemp(dir, Temporary("*"))
	if err != nil {
		return nil, err
	}
	return &Unnamed{f, dir}, nil
}

// Commit makes the file durable and gives it its name and mode, in the place of one that has that name. If there is an
// error, or the caller had one, the file goes, and the error is returned.
func (u *Unnamed) Commit(name string, mode fs.FileMode, failed error) error {
	var d Disk
	err := failed
	if err == nil {
		err = u.Chmod(mode)
	}
	if err == nil {
		err = u.Sync()
	}
	err = errors.Join(err, u.Close())
	if err == nil {
		err = d.Move("file", u.Name(), filepath.Join(u.dir, name), true)
	}
	if err != nil {
		return errors.Join(err, d.Remove("file.undo", u.Name()))
	}
	return Uncertain(d.SyncDir("file", u.dir))
}
