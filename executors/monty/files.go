package monty

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/threegate/tool-exec/executors/monty/wire"
)

// Limits of single operations.
const (
	// maxRead is what fits one answer, with room for its envelope.
	maxRead = wire.MaxFrame - 1024
	// maxEntries bounds the listing of one folder.
	maxEntries = 200_000
)

// serve carries out one file operation. Its errors are those of Python.
func (f *files) serve(c *wire.OSCall) (*wire.Value, error) {
	switch op := c.Op.(type) {
	case *wire.OSCall_Exists:
		return f.test(op.Exists, (*os.Root).Stat, func(fs.FileMode) bool { return true })
	case *wire.OSCall_IsFile:
		return f.test(op.IsFile, (*os.Root).Stat, fs.FileMode.IsRegular)
	case *wire.OSCall_IsDir:
		return f.test(op.IsDir, (*os.Root).Stat, fs.FileMode.IsDir)
	case *wire.OSCall_IsSymlink:
		return f.test(op.IsSymlink, (*os.Root).Lstat, func(m fs.FileMode) bool { return m&fs.ModeSymlink != 0 })
	case *wire.OSCall_ReadText:
		return f.readText(op.ReadText)
	case *wire.OSCall_ReadBytes:
		b, err := f.read(op.ReadBytes)
		return &wire.Value{Kind: &wire.Value_Bytes{Bytes: b}}, err
	case *wire.OSCall_Stat:
		return f.stat(op.Stat)
	case *wire.OSCall_Iterdir:
		return f.list(op.Iterdir)
	case *wire.OSCall_Resolve:
		return f.absolute(op.Resolve)
	case *wire.OSCall_Absolute:
		return f.absolute(op.Absolute)
	case *wire.OSCall_Unlink:
		return f.remove(op.Unlink, false)
	case *wire.OSCall_Rmdir:
		return f.remove(op.Rmdir, true)
	case *wire.OSCall_WriteText:
		return f.write(op.WriteText, truncate, utf8.RuneCount)
	case *wire.OSCall_AppendText:
		return f.write(op.AppendText, extend, utf8.RuneCount)
	case *wire.OSCall_WriteBytes:
		return f.write(op.WriteBytes, truncate, countBytes)
	case *wire.OSCall_AppendBytes:
		return f.write(op.AppendBytes, extend, countBytes)
	case *wire.OSCall_Open:
		return f.open(op.Open)
	case *wire.OSCall_Mkdir:
		return f.mkdir(op.Mkdir)
	case *wire.OSCall_Rename:
		return f.rename(op.Rename.GetSrc(), op.Rename.GetDst())
	}
	return nil, &pyError{typ: "OSError", msg: "this operation is not supported here"}
}

// test says whether what is at p, if anything, is of a kind.
func (f *files) test(
	p string, stat func(*os.Root, string) (fs.FileInfo, error), is func(fs.FileMode) bool,
) (*wire.Value, error) {
	t, err := f.resolve(p)
	if err != nil {
		return nil, err
	}
	fi, err := stat(t.root, t.rel)
	return boolean(err == nil && is(fi.Mode())), nil
}

func (f *files) absolute(p string) (*wire.Value, error) {
	t, err := f.resolve(p)
	return pathValue(t.full), err
}

// Ways to open a file.
const (
	truncate = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	extend   = os.O_WRONLY | os.O_CREATE | os.O_APPEND
)

// file opens a regular file and nothing else; it never waits for one.
func (t target) file(flags int) (*os.File, fs.FileInfo, error) {
	fl, err := t.root.OpenFile(t.rel, flags|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, nil, osError(err, t.given)
	}
	fi, err := fl.Stat()
	switch {
	case err != nil:
		err = osError(err, t.given)
	case fi.IsDir():
		err = errnoError(syscall.EISDIR, t.given)
	case !fi.Mode().IsRegular():
		err = &pyError{typ: "PermissionError",
			msg: "[Errno 13] Permission denied: " + pyRepr(t.given) + " (no regular file)"}
	default:
		return fl, fi, nil
	}
	_ = fl.Close()
	return nil, nil, err
}

func (f *files) read(p string) ([]byte, error) {
	t, err := f.resolve(p)
	if err != nil {
		return nil, err
	}
	fl, fi, err := t.file(os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer fl.Close()
	var b bytes.Buffer
	if size := fi.Size(); size <= maxRead {
		b.Grow(int(size) + bytes.MinRead)
		// A file that grows meanwhile, or tells no size, is read on, bounded.
		if _, err := b.ReadFrom(io.LimitReader(fl, maxRead+1)); err != nil {
			return nil, osError(err, p)
		}
		if b.Len() <= maxRead {
			return b.Bytes(), nil
		}
	}
	return nil, &pyError{typ: "OSError", msg: fmt.Sprintf(
		"[Errno 27] File too large: %s (at most %d bytes can be read at once)", pyRepr(p), maxRead)}
}

func (f *files) readText(p string) (*wire.Value, error) {
	b, err := f.read(p)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) {
		return nil, decodeError(b)
	}
	return str(string(b)), nil
}

func countBytes(b []byte) int { return len(b) }

// write writes a file and returns what Python does, the count of characters or bytes.
func (f *files) write(w *wire.Write, flags int, count func([]byte) int) (*wire.Value, error) {
	t, err := f.writable(w.GetPath())
	if err != nil {
		return nil, err
	}
	fl, _, err := t.file(flags)
	if err != nil {
		return nil, err
	}
	_, err = fl.Write(w.GetData())
	if err = errors.Join(err, fl.Close()); err != nil {
		return nil, osError(err, t.given)
	}
	return integer(int64(count(w.GetData()))), nil
}

// open checks what opening a file checks, and empties one opened for writing.
// What is read or written later comes as calls of its own.
func (f *files) open(o *wire.Open) (*wire.Value, error) {
	resolve, flags := f.writable, 0
	switch strings.TrimSuffix(o.GetMode(), "b") {
	case "r":
		resolve, flags = f.resolve, os.O_RDONLY
	case "w":
		flags = truncate
	case "a":
		flags = extend
	default:
		return nil, &pyError{typ: "ValueError", msg: "mode " + pyRepr(o.GetMode()) + " is not supported"}
	}
	t, err := resolve(o.GetPath())
	if err != nil {
		return nil, err
	}
	fl, _, err := t.file(flags)
	if err != nil {
		return nil, err
	}
	if err := fl.Close(); err != nil {
		return nil, osError(err, t.given)
	}
	handle := &wire.FileHandle{Path: t.full, Mode: o.GetMode()}
	return &wire.Value{Kind: &wire.Value_FileHandle{FileHandle: handle}}, nil
}

func (f *files) mkdir(m *wire.Mkdir) (*wire.Value, error) {
	t, err := f.writable(m.GetPath())
	if err != nil {
		return nil, err
	}
	if m.GetParents() {
		if err := t.root.MkdirAll(path.Dir(t.rel), 0o755); err != nil {
			return nil, osError(err, t.given)
		}
	}
	err = t.root.Mkdir(t.rel, 0o755)
	if errors.Is(err, fs.ErrExist) && m.GetExistOk() {
		if fi, serr := t.root.Stat(t.rel); serr == nil && fi.IsDir() {
			err = nil
		}
	}
	if err != nil {
		return nil, osError(err, t.given)
	}
	return none(), nil
}

// remove removes a folder or something else, as it is told.
func (f *files) remove(p string, folder bool) (*wire.Value, error) {
	t, err := f.writable(p)
	if err != nil {
		return nil, err
	}
	if t.rel == "." {
		return nil, errnoError(syscall.EACCES, p)
	}
	fi, err := t.root.Lstat(t.rel)
	switch {
	case err != nil:
		return nil, osError(err, p)
	case !folder && fi.IsDir():
		return nil, errnoError(syscall.EISDIR, p)
	case folder && !fi.IsDir():
		return nil, errnoError(syscall.ENOTDIR, p)
	}
	if err := t.root.Remove(t.rel); err != nil {
		return nil, osError(err, p)
	}
	return none(), nil
}

func (f *files) rename(src, dst string) (*wire.Value, error) {
	s, err := f.resolve(src)
	if err != nil {
		return nil, err
	}
	d, err := f.resolve(dst)
	if err != nil {
		return nil, err
	}
	if s.place != d.place {
		return nil, errnoError(syscall.EXDEV, src, dst)
	}
	for _, p := range []string{src, dst} {
		if _, err := f.writable(p); err != nil {
			return nil, err
		}
	}
	if s.rel == "." || d.rel == "." {
		return nil, errnoError(syscall.EACCES, src, dst)
	}
	if err := s.root.Rename(s.rel, d.rel); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errnoError(syscall.ENOENT, src)
		}
		return nil, osError(err, src, dst)
	}
	return none(), nil
}

func (f *files) list(p string) (*wire.Value, error) {
	t, err := f.resolve(p)
	if err != nil {
		return nil, err
	}
	dir, err := t.root.OpenFile(t.rel, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, osError(err, p)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, osError(err, p)
	}
	if len(names) > maxEntries {
		return nil, &pyError{typ: "OSError", msg: fmt.Sprintf("%s has more than %d entries", pyRepr(p), maxEntries)}
	}
	slices.Sort(names)
	var items []*wire.Value
	for _, n := range names {
		items = append(items, pathValue(path.Join(t.full, strings.ToValidUTF8(n, "\ufffd"))))
	}
	return list(items), nil
}

// stat gives what the interpreter's own command gives: no inode, device or owner.
func (f *files) stat(p string) (*wire.Value, error) {
	t, err := f.resolve(p)
	if err != nil {
		return nil, err
	}
	fi, err := t.root.Stat(t.rel)
	if err != nil {
		return nil, osError(err, p)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, errnoError(syscall.EIO, p)
	}
	seconds := func(ts syscall.Timespec) *wire.Value { return float(float64(ts.Sec) + float64(ts.Nsec)/1e9) }
	result := &wire.NamedTuple{TypeName: "StatResult"}
	for _, f := range []struct {
		name  string
		value *wire.Value
	}{
		{"st_mode", integer(int64(st.Mode))}, {"st_ino", integer(0)}, {"st_dev", integer(0)},
		{"st_nlink", integer(int64(st.Nlink))}, {"st_uid", integer(0)}, {"st_gid", integer(0)},
		{"st_size", integer(st.Size)}, {"st_atime", seconds(st.Atim)}, {"st_mtime", seconds(st.Mtim)},
		{"st_ctime", seconds(st.Ctim)},
	} {
		result.FieldNames = append(result.FieldNames, f.name)
		result.Values = append(result.Values, f.value)
	}
	return &wire.Value{Kind: &wire.Value_NamedTuple{NamedTuple: result}}, nil
}
