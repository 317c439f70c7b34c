package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// rootEntry is one file of a root filesystem, and where its bytes lie.
type rootEntry struct {
	name   string // relative, clean, no trailing slash
	kind   byte
	mode   int64
	link   string
	offset int64
	size   int64
}

// readRoot reads the table of contents of a tar and sanitises it. The result
// is sorted by name, hard links last; every parent folder is present.
func readRoot(f *os.File) ([]rootEntry, error) {
	count := &countingReader{r: f}
	tr := tar.NewReader(count)
	seen := map[string]rootEntry{}
	var total int64
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%w: not a readable tar: %w", ErrRootfs, err)
		}
		e, keep, err := sanitise(h)
		if err != nil {
			return nil, err
		}
		if !keep {
			continue
		}
		e.offset = count.n
		if total += e.size; total > MaxRootBytes {
			return nil, fmt.Errorf("%w: more than %d bytes of files", ErrRootfs, int64(MaxRootBytes))
		}
		if old, dup := seen[e.name]; dup && (old.kind != tar.TypeDir || e.kind != tar.TypeDir) {
			return nil, fmt.Errorf("%w: %q is in the tar twice", ErrRootfs, e.name)
		}
		if len(seen) >= MaxRootEntries {
			return nil, fmt.Errorf("%w: more than %d files", ErrRootfs, MaxRootEntries)
		}
		seen[e.name] = e
	}
	if err := checkTree(seen); err != nil {
		return nil, err
	}
	out := slices.SortedFunc(maps.Values(seen), func(a, b rootEntry) int {
		if la, lb := a.kind == tar.TypeLink, b.kind == tar.TypeLink; la != lb {
			if la {
				return 1
			}
			return -1
		}
		return strings.Compare(a.name, b.name)
	})
	return out, nil
}

// sanitise turns a tar header into an entry of ours. Owners, times, extended
// attributes (so file capabilities too), setuid and setgid bits are dropped by
// not being carried over; devices, FIFOs and the root itself are left out.
func sanitise(h *tar.Header) (e rootEntry, keep bool, err error) {
	switch h.Typeflag {
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return e, false, nil
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink:
	default:
		return e, false, fmt.Errorf("%w: %.200q is of tar type %q", ErrRootfs, h.Name, h.Typeflag)
	}
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return e, false, fmt.Errorf("%w: %.200q is sparse: make the tar without --sparse", ErrRootfs, h.Name)
		}
	}
	name, err := cleanName(h.Name)
	if err != nil {
		return e, false, err
	}
	if name == "." {
		return e, false, nil
	}
	e = rootEntry{name: name, kind: h.Typeflag, mode: h.Mode & 0o777}
	switch h.Typeflag {
	case tar.TypeReg:
		e.size = h.Size
	case tar.TypeDir:
		e.mode = h.Mode & 0o1777 // /tmp keeps its sticky bit
	case tar.TypeSymlink:
		e.mode = 0o777
		if h.Linkname == "" || len(h.Linkname) > MaxPathLength || !utf8.ValidString(h.Linkname) ||
			strings.ContainsRune(h.Linkname, 0) {
			return e, false, fmt.Errorf("%w: symbolic link %q has the target %.200q", ErrRootfs, name, h.Linkname)
		}
		e.link = h.Linkname
	case tar.TypeLink:
		if e.link, err = cleanName(h.Linkname); err != nil {
			return e, false, err
		}
	}
	return e, true, nil
}

// cleanName makes a tar's name relative and refuses what would leave the root
// or mean something to the program that unpacks layers.
func cleanName(name string) (string, error) {
	bad := func(why string) (string, error) {
		return "", fmt.Errorf("%w: name %.200q %s", ErrRootfs, name, why)
	}
	switch {
	case name == "":
		return bad("is empty")
	case len(name) > MaxPathLength:
		return bad("is too long")
	case !utf8.ValidString(name):
		return bad("is not UTF-8")
	case strings.ContainsRune(name, 0):
		return bad("holds a NUL")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return bad("holds ..")
		}
		if strings.HasPrefix(part, ".wh.") {
			return bad("would delete a file when unpacked (.wh.)")
		}
	}
	return path.Clean(strings.TrimLeft(path.Clean("/"+name), "/")), nil
}

// checkTree adds missing parent folders and refuses a tree whose unpacking
// would depend on order or pass through a link.
func checkTree(seen map[string]rootEntry) error {
	for _, n := range slices.Collect(maps.Keys(seen)) {
		for dir := path.Dir(n); dir != "."; dir = path.Dir(dir) {
			parent, ok := seen[dir]
			if !ok {
				seen[dir] = rootEntry{name: dir, kind: tar.TypeDir, mode: 0o755}
				continue
			}
			if parent.kind != tar.TypeDir {
				return fmt.Errorf("%w: %q lies below %q, which is no folder", ErrRootfs, n, dir)
			}
		}
		if e := seen[n]; e.kind == tar.TypeLink {
			if target, ok := seen[e.link]; !ok || target.kind != tar.TypeReg {
				return fmt.Errorf("%w: hard link %q to %q, which is no regular file of the tar", ErrRootfs, n, e.link)
			}
		}
	}
	return nil
}

// writeRoot writes entries as a tar that depends on nothing but them.
func writeRoot(w io.Writer, f io.ReaderAt, entries []rootEntry) error {
	tw := tar.NewWriter(w)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: e.mode, Linkname: e.link, Size: e.size, ModTime: Epoch}
		if e.kind == tar.TypeDir {
			h.Name += "/"
		}
		if err := tw.WriteHeader(h); err != nil {
			return fmt.Errorf("writing the layer: %q: %w", e.name, err)
		}
		if _, err := io.Copy(tw, io.NewSectionReader(f, e.offset, e.size)); err != nil {
			return fmt.Errorf("writing the layer: %q: %w", e.name, err)
		}
	}
	if err := tw.Close(); err != nil {
		return fmt.Errorf("writing the layer: %w", err)
	}
	return nil
}

// countingReader knows how far it was read. A tar.Reader reads no further than
// the header that it returns, so the count is where the file's bytes begin.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
