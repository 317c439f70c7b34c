package intree

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// entry is a member of a tar that a test makes.
type entry struct {
	name string
	kind byte
	body string
	link string
	pax  map[string]string
}

func file(name, body string) entry { return entry{name: name, kind: tar.TypeReg, body: body} }

func made(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o4777, Uid: 7, Size: int64(len(e.body)), Linkname: e.link,
			PAXRecords: e.pax}
		if e.pax != nil {
			h.Format = tar.FormatPAX
		}
		if e.kind == tar.TypeXGlobalHeader {
			h = &tar.Header{Typeflag: e.kind, PAXRecords: e.pax}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatalf("%q: %v", e.name, err)
		}
		if _, err := io.WriteString(w, e.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unpacked unpacks a tar into a fresh folder and lists what is there; modes and folders too.
func unpacked(t *testing.T, b []byte) (dir string, list []string, err error) {
	t.Helper()
	dir = t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := Unpack(bytes.NewReader(b), root); err != nil {
		return dir, nil, err
	}
	werr := fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == "." {
			return err
		}
		if d.IsDir() {
			list = append(list, p+"/")
			return nil
		}
		data, err := root.ReadFile(p)
		list = append(list, p+"="+string(data))
		return err
	})
	if werr != nil {
		t.Fatal(werr)
	}
	return dir, list, nil
}

func TestUnpack(t *testing.T) {
	folder := func(name string) entry { return entry{name: name, kind: tar.TypeDir} }
	for _, c := range []struct {
		name    string
		entries []entry
		want    []string
		count   int
	}{
		{"one file", []entry{file("a", "x")}, []string{"a=x"}, 1},
		{"as tar -C DIR . makes it", []entry{folder("./"), folder("./d/"), file("./d/a", "x"), file("./b", "")},
			[]string{"b=", "d/", "d/a=x"}, 3},
		{"folders that only paths name", []entry{file("x/y/z", "1"), file("x/a", "2"), folder("x/y/")},
			[]string{"x/", "x/a=2", "x/y/", "x/y/z=1"}, 4},
		{"an empty folder", []entry{folder("empty/"), file("a", "x")}, []string{"a=x", "empty/"}, 2},
		{"a note of git archive", []entry{{kind: tar.TypeXGlobalHeader, pax: map[string]string{"comment": "abc"}},
			file("a", "x")}, []string{"a=x"}, 1},
		{"names that begin with a dot, a dash or @", []entry{file(".eslintrc", "1"), file("@s/-x", "2"),
			file("a b/ü", "3")}, []string{".eslintrc=1", "@s/", "@s/-x=2", "a b/", "a b/ü=3"}, 5},
		{"a long path", []entry{file(strings.Repeat("p/", 31)+strings.Repeat("n", MaxPart), "x")}, nil, 32},
		{"attributes are not carried over", []entry{{name: "a", kind: tar.TypeReg, body: "x",
			pax: map[string]string{"SCHILY.xattr.security.capability": "v"}}}, []string{"a=x"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := made(t, c.entries...)
			n, err := Check(bytes.NewReader(b))
			if err != nil || n != c.count {
				t.Errorf("%d entries, %v; want %d", n, err, c.count)
			}
			dir, got, err := unpacked(t, b)
			if err != nil || c.want != nil && !slices.Equal(got, c.want) {
				t.Fatalf("%v, %v; want %v", got, err, c.want)
			}
			_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, _ error) error {
				if info, err := d.Info(); err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 ||
					!d.IsDir() && info.Mode().Perm()&0o222 != 0 {
					t.Errorf("%s has the mode %v", p, info.Mode())
				}
				return nil
			})
		})
	}
}

func TestRefused(t *testing.T) {
	link := func(kind byte, name, to string) entry { return entry{name: name, kind: kind, link: to} }
	deep := strings.Repeat("d/", MaxDepth) + "f"
	for _, c := range []struct {
		name    string
		entries []entry
		want    string
	}{
		{"nothing", nil, "it holds no file"},
		{"folders only", []entry{{name: "d/", kind: tar.TypeDir}}, "it holds no file"},
		{"absolute", []entry{file("/etc/passwd", "x")}, `"/etc/passwd" has an absolute path`},
		{"up", []entry{file("../x", "x")}, `"../x" has ".." as a part`},
		{"up inside", []entry{file("a/../../x", "x")}, `has ".." as a part`},
		{"up as a folder", []entry{{name: "../", kind: tar.TypeDir}, file("a", "x")}, `has ".." as a part`},
		{"dot inside", []entry{file("a/./x", "x")}, `has "." as a part`},
		{"two slashes", []entry{file("a//x", "x")}, `has "" as a part`},
		{"a file called .", []entry{file(".", "x")}, `has "." as a part`},
		{"symbolic link", []entry{file("a", "x"), link(tar.TypeSymlink, "l", "a")}, `"l" is a symbolic link`},
		{"symbolic link out", []entry{link(tar.TypeSymlink, "l", "/etc")}, `"l" is a symbolic link`},
		{"hard link", []entry{file("a", "x"), link(tar.TypeLink, "l", "a")}, `"l" is a hard link`},
		{"device", []entry{{name: "sda", kind: tar.TypeBlock}}, `"sda" is a device`},
		{"character device", []entry{{name: "null", kind: tar.TypeChar}}, `"null" is a device`},
		{"pipe", []entry{{name: "p", kind: tar.TypeFifo}}, `"p" is a device or a pipe`},
		{"other kind", []entry{{name: "c", kind: tar.TypeCont}}, `"c" is of the kind '7'`},
		{"twice", []entry{file("a", "1"), file("a", "2")}, `"a" is there twice`},
		{"twice after ./", []entry{file("a", "1"), file("./a", "2")}, `"a" is there twice`},
		{"folder twice", []entry{{name: "d/", kind: tar.TypeDir}, {name: "d/", kind: tar.TypeDir}, file("a", "")},
			`"d" is there twice`},
		{"case", []entry{file("Readme", "1"), file("README", "2")}, `"README" clashes with "Readme"`},
		{"case of a folder", []entry{file("Lib/a", "1"), file("lib/b", "2")}, `"lib/b" clashes with "Lib"`},
		{"encodings of a letter", []entry{file("\u00e9", "1"), file("e\u0301", "2")}, "clashes with"},
		{"a file as a folder", []entry{file("a", "1"), file("a/b", "2")}, `"a/b" clashes with "a"`},
		{"a folder as a file", []entry{file("a/b", "1"), file("a", "2")}, `"a" clashes with "a"`},
		{"invisible", []entry{file("a\u200bb", "x")}, "the character U+200B"},
		{"bidi", []entry{file("a\u202eb", "x")}, "the character U+202E"},
		{"escape", []entry{file("a\x1b[2Jb", "x")}, "the character U+001B"},
		{"newline", []entry{file("a\nb", "x")}, "the character U+000A"},
		{"backslash", []entry{file(`a\b`, "x")}, "the character U+005C"},
		{"encoding", []entry{file("a\xffb", "x")}, "not valid UTF-8"},
		{"long name", []entry{file(strings.Repeat("n", MaxPart+1), "x")}, "a name of more than 200 bytes"},
		{"long path", []entry{file(strings.Repeat(strings.Repeat("n", 100)+"/", 10)+"x", "x")}, "a path of more than"},
		{"deep", []entry{file(deep, "x")}, "lies deeper than 32 folders"},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, made(t, c.entries...), c.want)
		})
	}
	whole := made(t, file("a", strings.Repeat("x", 2000)))
	bad := slices.Clone(whole)
	bad[0] = 'b' // the sum no longer fits
	for want, b := range map[string][]byte{
		"it holds no file": {}, "is cut off": whole[:1500], "no readable tar by its sum": bad,
		"not a readable tar": []byte(strings.Repeat("no tar ", 200)),
	} {
		refused(t, b, strings.Replace(want, "no readable tar by its sum", "not a readable tar", 1))
	}
}

func refused(t *testing.T, b []byte, want string) {
	t.Helper()
	_, err := Check(bytes.NewReader(b))
	var f *Fault
	if !errors.As(err, &f) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want a fault with %q", err, want)
	}
	if err != nil && strings.ContainsAny(err.Error(), "\n\x1b\u200b\u202e") {
		t.Errorf("the message %q has hidden characters", err)
	}
	if dir, list, err := unpacked(t, b); err == nil {
		t.Errorf("%s holds %v", dir, list)
	}
}

func TestTooMany(t *testing.T) {
	entries := make([]entry, MaxMembers)
	for i := range entries {
		entries[i] = file(fmt.Sprintf("f%d", i), "")
	}
	if n, err := Check(bytes.NewReader(made(t, entries...))); n != MaxMembers || err != nil {
		t.Errorf("%d entries: %d, %v", MaxMembers, n, err)
	}
	_, err := Check(bytes.NewReader(made(t, append(entries, file("d/f", ""))...)))
	if err == nil || !strings.Contains(err.Error(), "more than 10000 files and folders") {
		t.Errorf("one more: %v", err)
	}
	half := made(t, entries[:MaxMembers/2+1]...)
	faults, err := Verdict([]string{"a", "b", "none"}, func(name string) (io.ReadCloser, error) {
		if name == "none" {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(bytes.NewReader(half)), nil
	})
	if err != nil || len(faults) != 1 || !strings.Contains(faults[0], "10002 files and folders together") {
		t.Errorf("in two trees: %q, %v", faults, err)
	}
}

// A sparse file would unpack to more than the tar has.
func TestSparse(t *testing.T) {
	b := made(t, entry{name: "a", kind: tar.TypeReg, body: "x", pax: map[string]string{"comment": "GNU.sparse.size=999"}})
	// The writer refuses such records: make one out of a comment of the same length.
	b = bytes.Replace(b, []byte("comment=GNU.sparse.size=999"), []byte("GNU.sparse.size=99999999999"), 1)
	if _, err := Check(bytes.NewReader(b)); err == nil {
		t.Error("a sparse file is taken")
	}
	old := made(t, file("a", "x"))
	old[156] = tar.TypeGNUSparse
	copy(old[257:], "ustar  \x00")
	sum(old[:512])
	if _, err := Check(bytes.NewReader(old)); err == nil {
		t.Error("an old sparse file is taken")
	}
}

// sum makes the checksum of a header fit.
func sum(h []byte) {
	copy(h[148:156], "        ")
	n := 0
	for _, c := range h {
		n += int(c)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", n))
}

// An error of the disk is no verdict on the tar.
func TestTrouble(t *testing.T) {
	b := made(t, file("a", strings.Repeat("x", 5000)))
	for _, at := range []int{0, 100, 512, 1000, 5000} {
		_, err := Check(io.MultiReader(bytes.NewReader(b[:at]), broken{}))
		if f := (*Fault)(nil); !errors.Is(err, errBroken) || errors.As(err, &f) {
			t.Errorf("after %d bytes: %v", at, err)
		}
	}
	if _, err := Each(bytes.NewReader(b), func(Member, io.Reader) error { return errBroken }); !errors.Is(err, errBroken) {
		t.Errorf("of the caller: %v", err)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

// FuzzUnpack: whatever the bytes are, nothing panics, a tree stays in its folder, and has no more bytes than the tar.
func FuzzUnpack(f *testing.F) {
	f.Add(made(f, file("a", "x"), file("d/b", "y"), entry{name: "e/", kind: tar.TypeDir}))
	f.Add(made(f, file("../a", "x")))
	f.Add(made(f, entry{name: "l", kind: tar.TypeSymlink, link: "/etc"}, file("l/x", "y")))
	f.Add(made(f, entry{name: "ü", kind: tar.TypeReg, body: "x", pax: map[string]string{"comment": "c"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := Check(bytes.NewReader(b))
		top := t.TempDir()
		if merr := os.Mkdir(filepath.Join(top, "in"), 0o700); merr != nil {
			t.Fatal(merr)
		}
		root, rerr := os.OpenRoot(filepath.Join(top, "in"))
		if rerr != nil {
			t.Fatal(rerr)
		}
		defer root.Close()
		uerr := Unpack(bytes.NewReader(b), root)
		if err == nil && uerr != nil {
			t.Fatalf("checked, and not unpacked: %v", uerr)
		}
		found, size := 0, int64(0)
		werr := filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil || !d.IsDir() && !info.Mode().IsRegular() {
				t.Fatalf("%s is %v, %v", p, info.Mode(), err)
			}
			found++
			if !d.IsDir() {
				size += info.Size()
			}
			return nil
		})
		if werr != nil || size > int64(len(b)) || err == nil && found != entries+2 {
			t.Fatalf("%d entries with %d bytes, want %d of at most %d; %v", found, size, entries, len(b), werr)
		}
	})
}
