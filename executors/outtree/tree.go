// Package outtree takes out of a sandbox what it left in /out.
//
// The tree was made by whoever ran there and may still be changed while it is
// read: every entry is read through a descriptor of its folder, no symbolic
// link is followed, nothing but regular files is opened, and depth, count, bytes
// and names are bounded. It never interprets what a file holds.
package outtree

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
)

// Limits that no configuration changes.
const (
	MaxDepth     = 16
	MaxPathBytes = 1024
	// MaxRefused is how many refused entries are listed one by one.
	MaxRefused = 100
	// maxQuoted bounds the text of a refused path.
	maxQuoted = 200
	dirBatch  = 256
)

// Bounds limit what is copied.
type Bounds struct {
	Bytes int64 // of all files together
	Files int   // files and folders together
}

// Tree is what was found.
type Tree struct {
	Files   []executors.File    // copied, sorted by path
	Refused []executors.Refused // left behind, sorted by path
}

// Copy copies the regular files below src into the folder dst, if there are any. An earlier copy there is removed
// first. The caller makes the files durable. What can't or must not be copied is listed as refused; an error is a
// fault of the node's own.
func Copy(src, dst string, b Bounds) (Tree, error) {
	if err := os.RemoveAll(dst); err != nil {
		return Tree{}, fmt.Errorf("collect output: %w", err)
	}
	fd, err := unix.Open(src, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return Tree{}, fmt.Errorf("collect output: open %s: %w", src, err)
	}
	top := os.NewFile(uintptr(fd), src)
	defer top.Close()

	w := &walk{path: dst, bytes: b.Bytes, entries: b.Files}
	if err := w.dir(top, "", 1); err != nil {
		return Tree{}, fmt.Errorf("collect output: %w", err)
	}
	slices.SortFunc(w.tree.Files, func(a, b executors.File) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(w.tree.Refused, func(a, b executors.Refused) int { return cmp.Compare(a.Path, b.Path) })
	if w.unlisted > 0 {
		w.tree.Refused = append(w.tree.Refused, executors.Refused{
			Path: "...", Reason: fmt.Sprintf("%d more entries were left behind", w.unlisted)})
	}
	return w.tree, nil
}

// walk is one copy under way; bytes and entries are what may still come.
type walk struct {
	path     string
	bytes    int64
	entries  int
	tree     Tree
	unlisted int
}

func (w *walk) refuse(path, reason string) {
	if len(w.tree.Refused) >= MaxRefused {
		w.unlisted++
		return
	}
	w.tree.Refused = append(w.tree.Refused, executors.Refused{Path: quote(path), Reason: reason})
}

// quote makes any bytes a short line of plain ASCII.
func quote(path string) string {
	cut := ""
	if len(path) > maxQuoted {
		path, cut = path[:maxQuoted], "..."
	}
	return strconv.QuoteToASCII(path) + cut
}

// dir copies the entries of an open folder, whose path is prefix.
func (w *walk) dir(d *os.File, prefix string, depth int) error {
	made := false // folders are made when their first file is
	for {
		names, err := d.Readdirnames(dirBatch)
		for _, name := range names {
			if err := w.entry(d, prefix, name, depth, &made); err != nil {
				return err
			}
		}
		if err != nil || len(names) == 0 { // io.EOF, or a folder that can't be read any more
			break
		}
	}
	return nil
}

func (w *walk) entry(d *os.File, prefix, name string, depth int, made *bool) error {
	path := name
	if prefix != "" {
		path = prefix + "/" + name
	}
	if reason := badName(name); reason != "" {
		w.refuse(path, reason)
		return nil
	}
	if len(path) > MaxPathBytes {
		w.refuse(path, fmt.Sprintf("path is longer than %d bytes", MaxPathBytes))
		return nil
	}
	if w.entries <= 0 {
		w.refuse(path, "more files than the limit allows")
		return nil
	}
	w.entries--
	var st unix.Stat_t
	if err := unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		w.refuse(path, "vanished or can't be read")
		return nil
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return w.file(d, path, name, prefix, made)
	case unix.S_IFDIR:
		return w.folder(d, path, name, depth)
	default:
		w.refuse(path, "is "+kindOf(st.Mode)+", not a regular file")
		return nil
	}
}

func (w *walk) folder(d *os.File, path, name string, depth int) error {
	if depth >= MaxDepth {
		w.refuse(path, fmt.Sprintf("folders are nested deeper than %d", MaxDepth))
		return nil
	}
	sub, err := openBelow(d, name, unix.O_DIRECTORY)
	if err != nil {
		w.refuse(path, "changed while it was read")
		return nil
	}
	defer sub.Close()
	return w.dir(sub, path, depth+1)
}

// openBelow opens an entry of d itself: no link, no mount point, nothing that
// would block.
func openBelow(d *os.File, name string, flags uint64) (*os.File, error) {
	fd, err := unix.Openat2(int(d.Fd()), name, &unix.OpenHow{
		Flags:   flags | unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
