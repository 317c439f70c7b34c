package workspace

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

// maxCopy bounds what one copy writes, in bytes.
const maxCopy = 256 << 20

// copyPart is what is copied at once, in bytes.
const copyPart = 4 << 20

// Move renames a file, folder or link. Without overwrite the kernel itself refuses a target
// that exists; with it, only a file or link is replaced.
func (w *Workspace) Move(ctx context.Context, src, dst string, overwrite bool) error {
	from, _, err := w.Lstat(src)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return w.missing(from, err)
	}
	to, err := w.target(from, dst, overwrite)
	if err != nil {
		return err
	}
	if err = w.rename(from, to, overwrite); err == nil {
		contract.Touch(ctx, from, to)
	}
	return err
}

// target judges where a move or copy goes.
func (w *Workspace) target(from, dst string, overwrite bool) (string, error) {
	to, info, err := w.Lstat(dst)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if into, other := w.root.Lstat(path.Dir(to)); other != nil || !into.IsDir() {
		return "", contract.Errorf(contract.FileIO, "%q is no folder, so nothing can be put into it", path.Dir(to)).
			WithHint("name a path in a folder that there is; file_write with create_dirs makes folders")
	}
	if from == "." || to == "." {
		return "", contract.Errorf(contract.FileIO, "the workspace itself stays where it is")
	}
	if to == from || strings.HasPrefix(to, from+"/") || strings.HasPrefix(from, to+"/") {
		return "", contract.Errorf(contract.FileIO, "%q and %q lie in each other", from, to)
	}
	if err != nil {
		return to, nil
	}
	if info.IsDir() {
		return "", contract.Errorf(contract.FileIO, "%q is a folder, which is never overwritten", to).
			WithHint("name the whole path, such as " + path.Join(to, path.Base(from)))
	}
	if !overwrite {
		return "", contract.Errorf(contract.FileIO, "%q exists", to).WithHint("set overwrite, or choose another dst")
	}
	return to, nil
}

// rename is what os.Root lacks: a rename that replaces nothing.
func (w *Workspace) rename(from, to string, overwrite bool) error {
	fromDir, err := w.root.Open(path.Dir(from))
	if err != nil {
		return failed(err)
	}
	defer fromDir.Close()
	toDir, err := w.root.Open(path.Dir(to))
	if err != nil {
		return failed(err)
	}
	defer toDir.Close()
	flags := uint(unix.RENAME_NOREPLACE)
	if overwrite {
		flags = 0
	}
	err = unix.Renameat2(int(fromDir.Fd()), path.Base(from), int(toDir.Fd()), path.Base(to), flags)
	if err != nil {
		return contract.Errorf(contract.FileIO, "%q can't be renamed: %v", from, err)
	}
	return nil
}

// Copy copies a file, or a folder with all below it. It refuses a tree that holds anything
// else than files and folders. What it makes appears whole or not at all, and not once ctx is over.
func (w *Workspace) Copy(ctx context.Context, src, dst string, overwrite, preserveMode bool) error {
	from, info, err := w.Lstat(src)
	if err != nil {
		return w.missing(from, err)
	}
	to, err := w.target(from, dst, overwrite)
	if err != nil {
		return err
	}
	temp := w.temp(to)
	c := copier{ctx: ctx, w: w, preserveMode: preserveMode, left: maxCopy, entries: maxEntries}
	if err = errors.Join(c.copy(from, temp, info), ctx.Err()); err == nil {
		err = w.rename(temp, to, overwrite)
	}
	if err != nil {
		return errors.Join(err, w.discard(ctx, temp))
	}
	w.temps.Delete(temp)
	for _, file := range c.made {
		contract.Touch(ctx, to+strings.TrimPrefix(file, temp))
	}
	return nil
}

type copier struct {
	ctx           context.Context
	w             *Workspace
	preserveMode  bool
	left, entries int64
	made          []string
}

func (c *copier) copy(from, to string, info fs.FileInfo) error {
	if c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	if c.entries--; c.entries < 0 {
		return contract.Errorf(contract.FileIO, "more than %d entries to copy", maxEntries)
	}
	switch {
	case info.IsDir():
		return c.folder(from, to, info)
	case info.Mode().IsRegular():
		return c.file(from, to)
	}
	return contract.Errorf(contract.FileIO, "%q is neither a file nor a folder: links and devices are not copied", from)
}

func (c *copier) folder(from, to string, info fs.FileInfo) error {
	if err := c.w.root.Mkdir(to, 0o755); err != nil {
		return failed(err)
	}
	entries, err := fs.ReadDir(c.w.root.FS(), from)
	if err != nil {
		return failed(err)
	}
	for _, e := range entries {
		below, err := c.w.root.Lstat(path.Join(from, e.Name()))
		if err != nil {
			return failed(err)
		}
		if err := c.copy(path.Join(from, e.Name()), path.Join(to, e.Name()), below); err != nil {
			return err
		}
	}
	if c.preserveMode {
		return c.w.root.Chmod(to, info.Mode().Perm())
	}
	return nil
}

func (c *copier) file(from, to string) error {
	in, info, err := c.w.open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := c.w.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return failed(err)
	}
	c.made = append(c.made, to)
	for err == nil {
		var n int64
		n, err = io.CopyN(out, in, copyPart)
		if c.left -= n; c.left < 0 {
			err = contract.Errorf(contract.FileIO, "more than %d bytes to copy", maxCopy)
		}
		err = cmp.Or(err, c.ctx.Err())
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && c.preserveMode {
		err = out.Chmod(info.Mode().Perm())
	}
	return errors.Join(err, out.Close())
}

// Delete removes a file or link, or a folder with recursive: all of it at once, by a rename. It never follows a link.
// With force, what is not there is no error. Once ctx is over nothing is deleted.
func (w *Workspace) Delete(ctx context.Context, p string, recursive, force bool) error {
	clean, info, err := w.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist) && force:
		return nil
	case err != nil:
		return w.missing(clean, err)
	case clean == ".":
		return contract.Errorf(contract.FileIO, "the workspace itself is not deleted")
	case info.IsDir() && !recursive:
		return contract.Errorf(contract.FileIO, "%q is a folder", clean).
			WithHint("set recursive to delete it with all below it")
	case ctx.Err() != nil:
		return ctx.Err()
	case info.IsDir():
		temp := w.temp(clean)
		if err := w.rename(clean, temp, false); err != nil {
			return err
		}
		err = w.discard(ctx, temp)
	default:
		err = w.root.Remove(clean)
	}
	if err != nil {
		return failed(err)
	}
	contract.Touch(ctx, clean)
	return nil
}
