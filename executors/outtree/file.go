package outtree

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
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
	if !*made {
		if err := os.MkdirAll(filepath.Join(w.path, prefix), 0o750); err != nil {
			return err
		}
		*made = true
	}
	c, err := durable.Disk{}.Copy("collect", filepath.Join(w.path, path), 0o640, f, w.bytes)
	switch {
	case errors.Is(err, durable.ErrTooLong), errors.Is(err, durable.ErrSource):
		w.refuse(path, "changed while it was read")
		return nil
	case err != nil:
		return err
	}
	w.bytes -= c.Size
	w.tree.Files = append(w.tree.Files, executors.File{Path: path, Size: c.Size, SHA256: c.SHA256})
	return nil
}

// CopyStream copies the first limit bytes of the file src to dst, replacing what is there. The caller makes it
// durable. A src that does not exist is an empty stream.
func CopyStream(src, dst string, limit int64) (executors.Stream, error) {
	f, err := durable.OpenRegular(src)
	var in io.Reader = strings.NewReader("")
	if err == nil {
		defer f.Close()
		in = io.LimitReader(f, limit)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if rerr := os.Remove(dst); err == nil && !errors.Is(rerr, os.ErrNotExist) {
		err = rerr
	}
	var c durable.Copied
	if err == nil {
		c, err = durable.Disk{}.Copy("collect", dst, 0o640, in, limit)
	}
	if err != nil {
		return executors.Stream{}, fmt.Errorf("collect a stream: %w", err)
	}
	return executors.Stream{Total: c.Size, Kept: c.Size, SHA256: c.SHA256}, nil
}
