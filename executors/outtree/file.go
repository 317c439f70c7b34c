package outtree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/spool/durable"
)

// badName says why a file name is not accepted, or nothing.
func badName(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "name is not valid UTF-8"
	case name == "" || name == "." || name == "..":
		return "name is not a file's"
	}
	for _, r := range name {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return fmt.Sprintf("name holds the invisible character U+%04X", r)
		}
	}
	return ""
}

// kindOf names what a mode stands for.
func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFIFO:
		return "a named pipe"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "a device"
	case unix.S_IFDIR:
		return "a folder"
	default:
		return "something unknown"
	}
}

// file copies one file; prefix is its folder.
func (w *walk) file(d *os.File, path, name, prefix string, made *bool) error {
	f, err := openBelow(d, name, 0)
	if err != nil {
		w.refuse(path, "changed while it was read")
		return nil
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		w.refuse(path, "changed while it was read")
		return nil
	}
	if st.Size > w.bytes {
		w.refuse(path, fmt.Sprintf("its %d bytes are more than the limit of /out leaves", st.Size))
		return nil
	}
	if err := w.open(); err != nil {
		return err
	}
	if !*made {
		if err := w.dst.MkdirAll(prefix, 0o750); err != nil {
			return err
		}
		*made = true
	}
	size, sum, err := copyFile(w.dst, path, f, w.bytes)
	switch {
	case errors.Is(err, errTooLarge), errors.Is(err, errSource):
		w.refuse(path, "changed while it was read")
		return w.dst.Remove(path)
	case err != nil:
		return err
	}
	w.bytes -= size
	w.tree.Files = append(w.tree.Files, executors.File{Path: path, Size: size, SHA256: sum})
	return nil
}

var (
	errTooLarge = errors.New("larger than its limit")
	errSource   = errors.New("can't be read")
)

// copyFile writes at most limit bytes of src to a new file of dst and returns their count and hash.
func copyFile(dst *os.Root, path string, src io.Reader, limit int64) (int64, string, error) {
	out, err := dst.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return 0, "", err
	}
	hash := sha256.New()
	in := &sourceReader{r: io.LimitReader(src, limit+1)}
	n, err := io.Copy(io.MultiWriter(out, hash), in)
	if err == nil && n > limit {
		err = errTooLarge
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return n, hex.EncodeToString(hash.Sum(nil)), err
}

// sourceReader wraps the errors of the sandbox's side.
type sourceReader struct{ r io.Reader }

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %v", errSource, err)
	}
	return n, err
}

// CopyStream copies the first limit bytes of the file src to dst, replacing what
// is there. To make it durable is the caller's. A src that does not exist is an empty stream.
func CopyStream(src, dst string, limit int64) (executors.Stream, error) {
	var in io.Reader
	f, err := durable.OpenRegular(src)
	switch {
	case errors.Is(err, os.ErrNotExist):
		in = io.LimitReader(nil, 0)
	case err != nil:
		return executors.Stream{}, fmt.Errorf("collect a stream: %w", err)
	default:
		defer f.Close()
		in = io.LimitReader(f, limit)
	}
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o640)
	if err != nil {
		return executors.Stream{}, fmt.Errorf("collect a stream: %w", err)
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, hash), in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return executors.Stream{}, fmt.Errorf("collect a stream: %w", err)
	}
	return executors.Stream{Total: n, Kept: n, SHA256: hex.EncodeToString(hash.Sum(nil))}, nil
}
