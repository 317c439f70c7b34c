package artifact

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"github.com/threegate/tool-exec/validate/document"
)

const (
	// maxUnpacked bounds how many bytes of one file are unpacked.
	maxUnpacked = 128 << 20
	// maxTarFile bounds one file of a tar file: it is kept in memory while it is looked at.
	maxTarFile = 16 << 20
	// maxDirectory bounds the directory of a zip file.
	maxDirectory = 2 << 20
)

// archive is a file that holds others.
type archive struct {
	// name is its own, media its media type; what is no tar, gzip or bzip2 is taken for zip.
	name, media string
	// open gives the whole of it, as often as it is called.
	open func() (io.Reader, error)
	// file is nil, or its size bytes to be read at any place; a zip file needs it.
	file io.ReaderAt
	size int64
	// left is how many bytes may still be unpacked; what is unpacked is taken off.
	left *int64
}

// member is one of the files in an archive.
type member struct {
	name string
	// sealed says that it can't be read: it is encrypted, or packed in an unknown way.
	sealed bool
	// open gives the whole of it, as often as it is called, until the next file.
	open func() (io.Reader, error)
}

// each calls do with every file that the archive holds, until it returns an error. What
// can't be read to its end is an error.
func (a *archive) each(do func(member) error) error {
	switch a.media {
	case "application/x-tar":
		return a.tar(do)
	case "application/gzip":
		return do(a.packed(func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }))
	case "application/x-bzip2":
		return do(a.packed(func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }))
	}
	return a.zip(do)
}

// counted counts what is read of r.
type counted struct {
	r    io.Reader
	left *int64
}

func (c *counted) Read(b []byte) (int, error) {
	if *c.left <= 0 {
		return 0, errors.New("it holds more than is unpacked")
	}
	n, err := c.r.Read(b)
	*c.left -= int64(n)
	return n, err
}

// packed is the one file that a compressed file holds.
func (a *archive) packed(unpack func(io.Reader) (io.Reader, error)) member {
	return member{name: strings.TrimSuffix(path.Base(a.name), path.Ext(a.name)), open: func() (io.Reader, error) {
		r, err := a.open()
		if err != nil {
			return nil, err
		}
		r, err = unpack(r)
		return &counted{r, a.left}, err
	}}
}

func (a *archive) tar(do func(member) error) error {
	r, err := a.open()
	if err != nil {
		return err
	}
	t := tar.NewReader(&counted{r, a.left})
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(t, maxTarFile+1))
		if err == nil && len(data) > maxTarFile {
			err = fmt.Errorf("%s is too large for a file in a tar file", document.Quote(h.Name))
		}
		if err == nil {
			err = do(member{name: h.Name, open: func() (io.Reader, error) { return bytes.NewReader(data), nil }})
		}
		if err != nil {
			return err
		}
	}
}

func (a *archive) zip(do func(member) error) error {
	if a.file == nil {
		return errors.New("it is a zip file inside of an archive")
	}
	b := &directory{a.file, maxDirectory}
	z, err := zip.NewReader(b, a.size)
	if err != nil {
		return err
	}
	b.left = 1 << 62 // the directory is read
	for _, f := range z.File {
		err := do(member{name: f.Name, sealed: f.Flags&1 != 0 || f.Method != zip.Store && f.Method != zip.Deflate,
			open: func() (io.Reader, error) {
				r, err := f.Open()
				return &counted{r, a.left}, err
			}})
		if err != nil {
			return fmt.Errorf("%s: %w", document.Quote(f.Name), err)
		}
	}
	return nil
}

// directory reads a zip file, of which it gives out left bytes.
type directory struct {
	io.ReaderAt
	left int64
}

func (d *directory) ReadAt(b []byte, at int64) (int, error) {
	if d.left -= int64(len(b)); d.left < 0 {
		return 0, errors.New("its directory is too long")
	}
	return d.ReaderAt.ReadAt(b, at)
}

// Heads yields the name and the beginning of each file in the archive data, which is a tar file or else
// a zip file, as far as they can be read. Little of it is unpacked.
func Heads(data []byte, isTar bool) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		left := int64(maxTarFile)
		a := archive{open: func() (io.Reader, error) { return bytes.NewReader(data), nil },
			file: bytes.NewReader(data), size: int64(len(data)), left: &left}
		if isTar {
			a.media = "application/x-tar"
		}
		a.each(func(m member) error {
			var head []byte
			if r, err := m.open(); err == nil {
				head, _ = io.ReadAll(io.LimitReader(r, headSize))
			}
			if !yield(m.name, head) {
				return io.EOF
			}
			return nil
		})
	}
}
