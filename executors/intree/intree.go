// Package intree reads a folder tree that comes as one input of a request: a tar.
//
// The tar is hostile. It is read in one pass, and what is not a plain regular file or folder with a
// harmless path is refused by name, so that the tree can be shown to a person and made in a sandbox
// without anything leaving it: no absolute path, no "..", no link, no device. Depth, names and the
// number of members are bounded; bytes are bounded by the tar's own size, as nothing in it is
// compressed or sparse. Of the headers only path, kind and size count.
package intree

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of one tree.
const (
	// MaxMembers bounds files and folders together, also folders that only paths of others name.
	MaxMembers = 10_000
	MaxDepth   = 32
	MaxPart    = 200  // bytes of one part of a path
	MaxPath    = 1000 // bytes of a path
)

// maxQuoted bounds how much of a path a fault repeats.
const maxQuoted = 200

// Fault is what is wrong with a tar, as the end of a sentence about it.
type Fault struct{ text string }

func (f *Fault) Error() string { return f.text }

// fault is about one member, or about the whole if name is empty.
func fault(name, format string, a ...any) error {
	text := fmt.Sprintf(format, a...)
	if name != "" {
		if len(name) > maxQuoted {
			name = name[:maxQuoted] + "..."
		}
		text = "its member " + strconv.Quote(name) + " " + text
	}
	return &Fault{text}
}

// Member is a file or a folder.
type Member struct {
	// Path is relative to the tree, clean, of printable UTF-8.
	Path string
	Dir  bool
	Size int64
}

// Each calls do with every member of the tar, in its order, and with the bytes of a file. It returns how many
// entries the tree has, folders that only paths name included. A *Fault is a verdict on the tar, any other error
// one of reading or of do.
func Each(r io.Reader, do func(Member, io.Reader) error) (entries int, err error) {
	src := &source{r: r}
	tr := tar.NewReader(src)
	t := tree{}
	files := 0
	for {
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF):
			if files == 0 {
				return 0, fault("", "it holds no file")
			}
			return len(t), nil
		case src.err != nil:
			return 0, src.err
		case err != nil:
			return 0, fault("", "it is not a readable tar (%v)", err)
		case h.Typeflag == tar.TypeXGlobalHeader:
			continue // a note of git archive's
		}
		m, err := memberOf(h)
		if err == nil && m.Path != "." {
			err = t.add(m)
		}
		if err != nil {
			return 0, err
		}
		if m.Path == "." {
			continue
		}
		if !m.Dir {
			files++
		}
		if err := do(m, tr); errors.Is(err, io.ErrUnexpectedEOF) && src.err == nil {
			return 0, fault(m.Path, "is cut off")
		} else if err != nil {
			return 0, err
		}
		if _, err := io.Copy(io.Discard, tr); src.err != nil {
			return 0, src.err
		} else if err != nil {
			return 0, fault(m.Path, "is cut off")
		}
	}
}

// Check is Each for callers that need the verdict and not the members.
func Check(r io.Reader) (entries int, err error) {
	return Each(r, func(Member, io.Reader) error { return nil })
}

// Verdict says, in a sentence each, what is wrong with the trees of a request: their places below /in, and how
// the tar of each is opened. One whose open fails with os.ErrNotExist is left out: another rule tells of it.
func Verdict(trees []string, open func(tree string) (io.ReadCloser, error)) (faults []string, err error) {
	total := 0
	for _, name := range trees {
		r, err := open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		n, err := Check(bufio.NewReader(r))
		r.Close()
		if f, ok := errors.AsType[*Fault](err); ok {
			faults = append(faults, fmt.Sprintf("the folder tree %q can't be unpacked: %v", "/in/"+name, f))
		} else if err != nil {
			return nil, err
		}
		total += n
	}
	if total > MaxMembers {
		faults = append(faults, fmt.Sprintf("the folder trees have %d files and folders together, %d are allowed",
			total, MaxMembers))
	}
	return faults, nil
}

// memberOf judges one header.
func memberOf(h *tar.Header) (Member, error) {
	m := Member{Size: h.Size}
	switch h.Typeflag {
	case tar.TypeReg:
	case tar.TypeDir:
		m.Dir, m.Size = true, 0
	case tar.TypeSymlink:
		return m, fault(h.Name, "is a symbolic link; files and folders only are allowed")
	case tar.TypeLink:
		return m, fault(h.Name, "is a hard link; make the tar with --hard-dereference")
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return m, fault(h.Name, "is a device or a pipe; files and folders only are allowed")
	default:
		return m, fault(h.Name, "is of the kind %q; files and folders only are allowed", h.Typeflag)
	}
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return m, fault(h.Name, "is sparse; make the tar without --sparse")
		}
	}
	name := h.Name
	if m.Dir {
		name = strings.TrimSuffix(name, "/")
	}
	if name != "." {
		name = strings.TrimPrefix(name, "./")
	}
	m.Path = name
	if name == "." && m.Dir {
		return m, nil
	}
	return m, checkPath(h.Name, name)
}

func checkPath(said, name string) error {
	switch {
	case name == "":
		return fault("", "it has a member without a name")
	case path.IsAbs(name):
		return fault(said, "has an absolute path")
	case len(name) > MaxPath:
		return fault(said, "has a path of more than %d bytes", MaxPath)
	case !utf8.ValidString(name):
		return fault(said, "has a name that is not valid UTF-8")
	}
	for _, r := range name {
		if !unicode.IsPrint(r) || r == '\\' {
			return fault(said, "has a name with the character %U", r)
		}
	}
	parts := strings.Split(name, "/")
	if len(parts) > MaxDepth {
		return fault(said, "lies deeper than %d folders", MaxDepth)
	}
	for _, p := range parts {
		switch {
		case p == "" || p == "." || p == "..":
			return fault(said, "has %q as a part of its path", p)
		case len(p) > MaxPart:
			return fault(said, "has a name of more than %d bytes", MaxPart)
		}
	}
	return nil
}

// tree is what was seen, by paths as a person tells them apart: without case, in Unicode's normal form.
type tree map[string]seen

type seen struct {
	path  string
	dir   bool
	named bool // by a member of its own
}

// add notes a member and the folders that it lies in.
func (t tree) add(m Member) error {
	for at := 0; ; {
		n := strings.IndexByte(m.Path[at:], '/')
		if n < 0 {
			return t.enter(m.Path, m.Path, m.Dir, true)
		}
		at += n
		if err := t.enter(m.Path, m.Path[:at], true, false); err != nil {
			return err
		}
		at++
	}
}

func (t tree) enter(said, p string, dir, named bool) error {
	key := strings.ToLower(norm.NFC.String(p))
	old, there := t[key]
	switch {
	case there && old.path != p:
		return fault(said, "clashes with %s: they differ only in case or in how letters are encoded",
			strconv.Quote(old.path))
	case there && old.dir != dir:
		return fault(said, "clashes with %s: a path is a file or a folder", strconv.Quote(old.path))
	case there && named && old.named:
		return fault(said, "is there twice")
	case !there && len(t) == MaxMembers:
		return fault("", "it has more than %d files and folders", MaxMembers)
	}
	t[key] = seen{p, dir, named || old.named}
	return nil
}

// Modes of what Unpack makes, whatever the tar says: anybody may read it.
const (
	fileMode = 0o444
	dirMode  = 0o755
)

// Unpack makes the tree in the folder dir, which must be empty, and which no other user may write to. Files are not
// made durable. After an error what is there must be removed.
func Unpack(r io.Reader, dir *os.Root) error {
	_, err := Each(r, func(m Member, content io.Reader) error {
		if m.Dir {
			return dir.MkdirAll(m.Path, dirMode)
		}
		if up := path.Dir(m.Path); up != "." {
			if err := dir.MkdirAll(up, dirMode); err != nil {
				return err
			}
		}
		f, err := dir.OpenFile(m.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Close())
	})
	return err
}

// source tells errors of reading from those of the format.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
