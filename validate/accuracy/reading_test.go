//go:build real

package accuracy_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDocumentsAreTextsOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("a line of some length that is repeated\n", 4000)
	for name, text := range map[string]string{
		"a.txt": "Copy the files to the folder, then read the log of the run.\nVersion 1.2, of 2024.\n",
		"b.txt": "Copy the files to the folder,\tthen read the log of the run. Version 1.3, of 2025.\n",
		"c.txt": "too short\n",
		"d.txt": "\x00" + strings.Repeat("binary", 40),
		"e.txt": long,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := source{"texts", other, 10, false, func(*finder) []candidate { return asTheyAre(files(`\.txt$`, "", dir)) }}
	seen := map[[32]byte]bool{}
	docs := s.documents(&finder{ctx: t.Context()}, seen)
	if len(docs) != 2 {
		t.Fatalf("%d documents, want that of a.txt or b.txt and the beginning of e.txt", len(docs))
	}
	for _, d := range docs {
		if len(d.Text) > maxText+1<<10 || !bytes.HasSuffix(d.Text, []byte("\n")) {
			t.Errorf("%s: %d bytes, not cut behind a line", d.Name, len(d.Text))
		}
	}
	if again := s.documents(&finder{ctx: t.Context()}, seen); len(again) != 0 {
		t.Errorf("%d texts came twice", len(again))
	}
}

func TestReadsPackedFiles(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte("unpacked")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.gz")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := readAny(path); string(got) != "unpacked" {
		t.Errorf("%q", got)
	}
}

func TestComments(t *testing.T) {
	for _, c := range []struct{ path, source, want string }{
		{"a.go", "// Package a is short.\npackage a\n\nvar s = \"// none\" // but this\n/* and\n * that\n */\n",
			"Package a is short.\nbut this\nand\nthat\n\n"},
		{"a.py", "#!/usr/bin/python\n# reads\nx = 1 # not at the start of a line\n  # and writes\n", "reads\nand writes\n"},
		{"a.h", "int a; /* the first */ int b; /*\n * the second\n */", "the first \n\nthe second\n\n"},
	} {
		if got := string(comments(c.path, []byte(c.source))); got != c.want {
			t.Errorf("%s: %q, want %q", c.path, got, c.want)
		}
	}
}

func TestChunks(t *testing.T) {
	var got []string
	for _, c := range chunks("log", []byte("1\n2\n3\n4\n5"), 2) {
		got = append(got, c.name+"="+string(c.read()))
	}
	if want := "log, part 1=1\n2\n|log, part 2=3\n4\n|log, part 3=5"; strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
}

// messages makes a .mo file.
func messages(texts ...string) []byte {
	const head = 28
	var strs []byte
	b := binary.LittleEndian.AppendUint32(nil, 0x950412de)
	for _, n := range []int{0, len(texts), head, head, 0, 0} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	for _, s := range texts {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
		b = binary.LittleEndian.AppendUint32(b, uint32(head+8*len(texts)+len(strs)))
		strs = append(append(strs, s...), 0)
	}
	return append(b, strs...)
}

func TestCatalogue(t *testing.T) {
	if got := catalogue(messages("Language: de\n", "Datei nicht gefunden", "ein Byte\x00viele Bytes")); string(got) !=
		"Datei nicht gefunden\nein Byte\nviele Bytes\n" {
		t.Errorf("%q", got)
	}
}

func TestCatalogueOfDamagedFiles(t *testing.T) {
	whole := messages("Language: de\n", "Datei nicht gefunden")
	for i := range whole {
		catalogue(whole[:i])
		for _, c := range []byte{0, 1, 0x7f, 0xff} {
			b := bytes.Clone(whole)
			b[i] = c
			if out := catalogue(b); len(out) > len(b)*len(b) {
				t.Errorf("byte %d as %d: %d bytes give %d", i, c, len(b), len(out))
			}
		}
	}
}

// TestPrograms: a program runs in an empty folder, and not for long.
func TestPrograms(t *testing.T) {
	tmp, err := os.MkdirTemp("", "harvest-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o777); err != nil {
		t.Fatal(err)
	}
	f := &finder{t.Context(), ".", tmp}
	if got := string(f.confined(true, []byte("in"), "/bin/sh", "-c", "cat; pwd; ls; echo err >&2")); got != "in"+tmp+"\nerr\n" {
		t.Errorf("%q", got)
	}
	if os.Getuid() == 0 {
		if got := string(f.confined(true, nil, "/usr/bin/id", "-u")); got != "65534\n" {
			t.Errorf("it ran as %q", got)
		}
	}
}
