package artifact

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gabriel-vasile/mimetype"

	"github.com/threegate/tool-exec/schemas"
)

// types are those that a file shows, read in parts of half a megabyte.
func types(t testing.TB, name string, b []byte) []string {
	t.Helper()
	d := newDetector(name, b[:min(len(b), headSize)])
	if d.hasMarkup() {
		if _, err := d.markup(func() (io.Reader, error) { return bytes.NewReader(b), nil }); err != nil {
			t.Fatal(err)
		}
	}
	d.window(b, true)
	var names []string
	for _, s := range d.shown {
		names = append(names, s.name)
	}
	return names
}

func packed(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

// npy is an array of numpy's with a description of what it holds.
func npy(descr, data string) string {
	h := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': (4,), }", descr)
	h += strings.Repeat(" ", 117-len(h)) + "\n"
	return "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(h)))) + h + data
}

const (
	pdfStart = "%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 2 0 R/OpenAction[3 0 R/FitH null]>>\nendobj\n"
	svgStart = `<?xml version="1.0" encoding="utf-8"?>` + "\n" + `<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN"` +
		"\n" + `"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">` + "\n" +
		`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">`
)

func TestTypes(t *testing.T) {
	objects := func(plain string) string {
		return pdfStart + "5 0 obj\n<</Type/ObjStm/N 3/First 18/Filter/FlateDecode/Length 99>>\nstream\r\n" +
			packed(plain) + "\nendstream\nendobj\n"
	}
	for _, c := range []struct{ name, file, content, want string }{
		{"csv", "a.csv", "a,b\n1,2\n3,4\n", "text"},
		{"json", "a.json", `{"a": [1, 2]}`, "text"},
		{"markdown", "n.md", "# Notes\n\nA table:\n", "text"},
		{"words of a list", "words.txt", "cat\ndog\n(see below)\n", "text"},
		{"nothing", "a.txt", "", "text"},
		{"source", "a.py", "import os\nprint(1)\n", "text source"},
		{"mz in a table", "a.csv", "MZ,code\n1,2\n", "text"},
		{"png", "a.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06", "image"},
		{"sqlite", "a.db", "SQLite format 3\x00\x10\x00\x01\x01\x00\x40\x20\x20" + strings.Repeat("\x00", 80), "database"},
		{"an array of numbers", "a.npy", npy("'<f8'", "\x00\x00\x80\x3f\x00\x00\x00\x00"), "data"},
		{"an array of records", "a.npy", npy("[('a', '<f8'), ('b', '<i4')]", "\x00\x00\x80\x3f"), "data"},
		{"an array of objects", "a.npy", npy("'|O'", "\x80\x04\x95"), "data object"},
		{"an array of records with objects", "a.npy", npy("[('a', '<f8'), ('b', '|O')]", "\x80\x04"), "data object"},
		{"zlib", "a.bin", packed(strings.Repeat("a long text ", 40)), "sealed"},
		{"script", "a.txt", "#!/bin/sh\necho hi\n", "script"},
		{"script of something", "a.txt", "#!/opt/weird/interp\nhi\n", "text script"},
		{"script by its name", "run.sh", "echo hi\n", "text script"},
		{"script of PowerShell", "run.ps1", "Get-Item x\n", "text script"},
		{"batch file", "a.txt", "@echo off\r\ndel x\r\n", "text script"},
		{"desktop entry", "a.txt", "# made by hand\n[Desktop Entry]\nExec=x\n", "text launcher"},
		{"about desktop entries", "a.txt", "A file begins so:\n\n[Desktop Entry]\nExec=x\n", "text"},
		{"hta", "a.hta", "<html><head><HTA:APPLICATION ID=x></head></html>", "html launcher"},
		{"hta by content", "a.html", "<html><head><HTA:APPLICATION ID=x></head></html>", "html launcher"},
		{"registry", "a.txt", "Windows Registry Editor Version 5.00\r\n\r\n[HKEY]\r\n", "text launcher"},
		{"pickle 4", "a.bin", "\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00]\x94(K\x01K\x02e.", "data object"},
		{"pickle 2", "a.bin", "\x80\x02]q\x00(K\x01K\x02e.", "data object"},
		{"pickle 0", "a.txt", "cos\nsystem\n(S'id'\ntR.", "text object"},
		{"pickle 0 of a list", "a.txt", "(lp0\nI1\naI2\na.", "text object"},
		{"pickle by its name", "model.pkl", "?", "text object"},
		{"notebook", "a.json", `{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`, "text notebook"},
		{"notebook by its name", "a.ipynb", "{}", "text notebook"},
		{"cells of a table", "a.json", `{"cells": [1, 2], "format": 4}`, "text"},
		{"html", "a.html", "<!doctype html><title>Sales</title><h1>Sales</h1><p onward>x</p><a href='#a'>a</a>", "html html-script"},
		{"plain html", "a.html", "<!doctype html><title>Sales</title><h1>Sales</h1><a href='https://example.org'>a</a>", "html"},
		{"html with data", "a.html", `<html><script type="application/ld+json">{"a":1}</script></html>`, "html"},
		{"html with a script", "a.html", "<html><body><SCRIPT>alert(1)</SCRIPT></body></html>", "html html-script"},
		{"html with a handler", "a.html", "<html><img src=x OnError=alert(1)></html>", "html html-script"},
		{"html with a hidden address", "a.html", "<html><a href=' java\nscript&#58;alert(1)'>x</a></html>", "html html-script"},
		{"html with a frame", "a.html", "<html><iframe src='//x'></iframe></html>", "html html-script"},
		{"html that moves on", "a.html", "<html><meta http-equiv=Refresh content='0;url=//x'></html>", "html html-script"},
		{"script in a title of SVG in HTML", "a.html", "<html><svg><style><script>alert(1)</script></style></svg></html>",
			"html html-script"},
		{"script behind a comment in a style sheet", "a.html",
			"<html><style><!-- </style><script>alert(1)</script> --></style></html>", "html html-script"},
		{"html by its name", "a.htm", "A report\n<script>alert(1)</script>\n", "text html html-script"},
		{"talk of html", "a.txt", "Use <b>bold</b> here.\n", "text"},
		{"svg", "a.svg", svgStart + `<path d="M0 0"/><image xlink:href="data:image/png;base64,iVBO"/></svg>`, "svg"},
		{"svg with a script", "a.svg", svgStart + `<script>alert(1)</script></svg>`, "svg svg-script"},
		{"svg with a named script", "a.svg", svgStart + `<s:script xmlns:s="http://www.w3.org/2000/svg">x</s:script></svg>`,
			"svg svg-script"},
		{"svg with a handler", "a.svg", svgStart + `<g onload="x()"/></svg>`, "svg svg-script"},
		{"svg that sets an address", "a.svg", svgStart + `<a><set attributeName="href" to="x"/></a></svg>`, "svg svg-script"},
		{"svg with entities", "a.svg", `<!DOCTYPE svg [<!ENTITY x "y">]><svg xmlns="http://www.w3.org/2000/svg">&x;</svg>`,
			"text svg svg-script"},
		{"xml with a script of its own", "a.xml", `<?xml version="1.0"?><build><script>x</script></build>`, "text"},
		{"xml of a browser's", "a.xml",
			`<?xml version="1.0"?><r><x:script xmlns:x="http://www.w3.org/1999/xhtml">x</x:script></r>`, "text html-script"},
		{"pdf", "a.pdf", pdfStart + "%%EOF\n", "pdf"},
		{"pdf with links", "a.pdf", pdfStart + "<</S/URI/URI(https://example.org)>>\n", "pdf"},
		{"pdf with JavaScript", "a.pdf", pdfStart + "<</S/JavaScript/JS(app.alert\\(1\\))>>\n", "pdf pdf-action"},
		{"pdf with a disguised name", "a.pdf", pdfStart + "<</S/#4aava#53cript/JS(x)>>\n", "pdf pdf-action"},
		{"pdf that launches", "a.pdf", pdfStart + "<</S /Launch /F (x.exe)>>\n", "pdf pdf-action"},
		{"pdf with packed objects", "a.pdf", objects("<</Type/Page>>"), "pdf"},
		{"pdf with a packed action", "a.pdf", objects("<</S/JavaScript/JS 9 0 R>>"), "pdf pdf-action"},
		{"pdf packed in another way", "a.pdf",
			pdfStart + "<</Type/ObjStm/Filter[/ASCIIHexDecode/FlateDecode]>>\nstream\n00>\nendstream\n", "pdf sealed"},
		{"encrypted pdf", "a.pdf", pdfStart + "trailer <</Encrypt 9 0 R>>\n", "pdf sealed"},
		{"pdf behind other text", "a.txt", "hello\n" + pdfStart + "<</S/JavaScript>>", "pdf pdf-action"},
		{"macro document by its name", "a.xlsm", "PK", "text office-macro"},
		{"rtf", "a.rtf", `{\rtf1\ansi hello}`, "office"},
		{"xz", "a", "\xfd7zXZ\x00\x00\x04" + strings.Repeat("\x00", 24), "sealed"},
		{"7z", "a", "7z\xbc\xaf\x27\x1c\x00\x04" + strings.Repeat("\x00", 24), "sealed"},
		{"rar", "a", "Rar!\x1a\x07\x01\x00" + strings.Repeat("\x00", 24), "sealed"},
		{"wasm", "a", "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00", "program"},
		{"compiled python", "a", "\xa7\r\r\n\x00\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\xe3\x00\x00\x00\x00", "program"},
		{"objects of Java's", "a", "\xac\xed\x00\x05sr\x00\x11java.util.HashMap", "data object"},
	} {
		if got := strings.Join(types(t, c.file, []byte(c.content)), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestProgramInside: a program is found behind whatever stands in front of it.
func TestProgramInside(t *testing.T) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := elf.NewFile(bytes.NewReader(self)); err != nil {
		t.Fatal(err)
	}
	pe := "MZ\x90\x00\x03" + strings.Repeat("\x00", 55) + "\x80\x00\x00\x00" + strings.Repeat("\x00", 64) +
		"PE\x00\x00\x64\x86" + strings.Repeat("\x00", 80)
	for _, prefix := range []string{"", "a,b\n1,2\n", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", strings.Repeat("\x00", 300000)} {
		for _, p := range []string{string(self[:4096]), pe} {
			if got := types(t, "a.csv", []byte(prefix+p)); !slices.Contains(got, schemas.ArtifactProgram) {
				t.Errorf("behind %.10q: %v", prefix, got)
			}
		}
	}
}

// TestNames: what the tables name exists.
func TestNames(t *testing.T) {
	for media, name := range byMedia {
		if m := mimetype.Lookup(media); m == nil || m.String() != media && !strings.HasPrefix(m.String(), media+";") {
			t.Errorf("%s is no type of the library: %v", media, m)
		}
		if !known(name) {
			t.Errorf("%s: there is no type %s", media, name)
		}
	}
	for ending, name := range byName {
		if !known(name) {
			t.Errorf("%s: there is no type %s", ending, name)
		}
	}
}

func FuzzTypes(f *testing.F) {
	for _, s := range []string{"a,b\n", pdfStart, svgStart, "<html><script>", "\x80\x04\x95", "PK\x05\x06", "\x7fELF\x02\x01\x01",
		"MZ", "\x93NUMPY\x01\x00", `{"cells":[],"nbformat":4}`} {
		f.Add("a.txt", []byte(s))
		f.Add("a.html", []byte(s))
	}
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		got := types(t, name, b)
		if len(got) == 0 {
			t.Fatal("no type")
		}
		for _, n := range got {
			if !known(n) {
				t.Fatalf("there is no type %s", n)
			}
		}
	})
}

func known(name string) bool {
	return slices.ContainsFunc(schemas.ArtifactTypes(), func(t schemas.ArtifactType) bool { return t.Name == name })
}
