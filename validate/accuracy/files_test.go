//go:build real

package accuracy_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// maxFile is how much is read of a file, unpacked.
const maxFile = 1 << 20

// readAny returns the beginning of a file, unpacked if it is gzipped, or nothing.
func readAny(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil
		}
	}
	b, _ := io.ReadAll(io.LimitReader(r, maxFile)) // what can be read of a file is a text, too
	return b
}

// files are the regular files below dirs whose path matches want and not but.
func files(want, but string, dirs ...string) (out []string) {
	yes, no := regexp.MustCompile(want), regexp.MustCompile(but)
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && yes.MatchString(path) && (but == "" || !no.MatchString(path)) {
				out = append(out, path)
			}
			return nil // a folder that is not there gives nothing
		})
	}
	return out
}

// asTheyAre makes a candidate of each file.
func asTheyAre(paths []string) []candidate { return through(paths, func(b []byte) []byte { return b }) }

// through makes a candidate of what change leaves of each file.
func through(paths []string, change func([]byte) []byte) (out []candidate) {
	for _, p := range paths {
		out = append(out, candidate{p, func() []byte { return change(readAny(p)) }})
	}
	return out
}

// comments are those of a source file, without the marks around them.
func comments(path string, b []byte) []byte {
	switch filepath.Ext(path) {
	case ".go":
		return goComments(b)
	case ".h", ".c":
		return blockComments(b)
	}
	var out bytes.Buffer
	for line := range bytes.Lines(b) {
		if t := bytes.TrimLeft(line, " \t"); bytes.HasPrefix(t, []byte("#")) && !bytes.HasPrefix(t, []byte("#!")) {
			out.Write(bytes.TrimPrefix(bytes.TrimLeft(t, "#"), []byte(" ")))
		}
	}
	return out.Bytes()
}

var lineMark = regexp.MustCompile(`(?m)^[ \t]*(?:/\*+|\*+/|\*+|//+)?[ \t]?`)

func goComments(b []byte) []byte {
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", set.Base(), len(b)), b, nil, scanner.ScanComments)
	var out bytes.Buffer
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return out.Bytes()
		}
		if tok == token.COMMENT && !strings.HasPrefix(lit, "//go:") {
			out.WriteString(strings.TrimSuffix(lineMark.ReplaceAllString(lit, ""), "*/") + "\n")
		}
	}
}

func blockComments(b []byte) []byte {
	var out bytes.Buffer
	for {
		_, rest, ok := bytes.Cut(b, []byte("/*"))
		if !ok {
			return out.Bytes()
		}
		comment, after, _ := bytes.Cut(rest, []byte("*/"))
		out.Write(append(lineMark.ReplaceAll(comment, nil), '\n'))
		b = after
	}
}

// infoNodes are the nodes of an info file.
func infoNodes(path string) (out []candidate) {
	for i, node := range bytes.Split(readAny(path), []byte("\x1f\n")) {
		if i > 0 && !bytes.HasPrefix(node, []byte("Tag Table:")) {
			first, _, _ := strings.Cut(string(node), "\n")
			out = append(out, candidate{path + ": " + first, func() []byte { return node }})
		}
	}
	return out
}

// catalogue returns the translations of a .mo file, one each line.
func catalogue(b []byte) []byte {
	const magic = 0x950412de
	if len(b) < 20 || binary.LittleEndian.Uint32(b) != magic {
		return nil
	}
	at := func(off uint32) uint32 {
		if int64(off)+4 > int64(len(b)) {
			return 0
		}
		return binary.LittleEndian.Uint32(b[off:])
	}
	n, table := at(8), at(16)
	var out bytes.Buffer
	for i := range min(n, uint32(len(b)/8)) {
		size, off := int64(at(table+8*i)), int64(at(table+8*i+4))
		if i > 0 && off+size <= int64(len(b)) && size > 0 { // the first is the file's heading
			out.Write(bytes.ReplaceAll(b[off:off+size], []byte{0}, []byte("\n")))
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

// paragraphs are the parts of a file between empty lines, each named by its first line.
func paragraphs(path string) (out []candidate) {
	for part := range bytes.SplitSeq(readWhole(path), []byte("\n\n")) {
		first, _, _ := strings.Cut(string(part), "\n")
		out = append(out, candidate{path + ": " + first, func() []byte { return append(part, '\n') }})
	}
	return out
}

func readWhole(path string) []byte {
	b, _ := os.ReadFile(path) // none there gives nothing
	return b
}
