package artifact

import (
	"bytes"
	"encoding/binary"
	"regexp"

	"github.com/threegate/tool-exec/schemas"
)

// window looks for what makes the file one of a further type, in a part of it. Parts
// are given in order, and overlap by more than anything that is looked for is long; last
// says that the part ends the file.
func (d *detector) window(b []byte, last bool) {
	if !d.is(schemas.ArtifactProgram) {
		if what := program(b); what != "" {
			d.add(schemas.ArtifactProgram, "it holds "+what)
		}
	}
	if last && !d.is(schemas.ArtifactArchive, schemas.ArtifactOffice, schemas.ArtifactProgram) && endsAsZip(b) {
		d.add(schemas.ArtifactArchive, "it ends as a zip file")
	}
	switch {
	case d.is(schemas.ArtifactPDF):
		d.pdf(b, last)
	case d.media == "application/x-ole-storage" || d.is(schemas.ArtifactOffice):
		for _, name := range []string{"V\x00B\x00A\x00", "M\x00a\x00c\x00r\x00o\x00s\x00", "Attribut\x00e VB_"} {
			if bytes.Contains(b, []byte(name)) {
				d.add(schemas.ArtifactOfficeMacro, "it holds macros")
			}
		}
	case d.is(schemas.ArtifactText):
		d.cells = d.cells || bytes.Contains(b, []byte(`"cells"`))
		d.format = d.format || notebookFormat.Match(b)
		if d.cells && d.format {
			d.add(schemas.ArtifactNotebook, "it has cells, and the format of a notebook")
		}
	}
}

var notebookFormat = regexp.MustCompile(`"nbformat"\s{0,8}:\s{0,8}\d`)

// programs are how programs begin, and what their headers must say too: more than chance
// bytes come to.
var programs = []struct {
	magic, what string
	is          func(header []byte) bool
}{
	// a class, an order, a version, a kind of file in either order
	{"\x7fELF", "an ELF executable", func(b []byte) bool {
		kind := b[16] | b[17]
		return (b[4] == 1 || b[4] == 2) && (b[5] == 1 || b[5] == 2) && b[6] == 1 && kind >= 1 && kind <= 4 &&
			b[20]+b[23] == 1
	}},
	// the header that the first one points at
	{"MZ", "a Windows executable", func(b []byte) bool {
		at := int64(binary.LittleEndian.Uint32(b[60:]))
		return at >= 4 && at+6 <= int64(len(b)) && string(b[at:at+4]) == "PE\x00\x00" && b[at+4]|b[at+5] != 0
	}},
	// a processor and a kind of file
	{"\xcf\xfa\xed\xfe", "a Mach-O executable", func(b []byte) bool {
		cpu, kind := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[12:])
		return (cpu == 0x01000007 || cpu == 0x0100000c) && kind >= 1 && kind <= 12
	}},
}

// The least and the most that is looked at of one header.
const (
	minHeader = 64
	maxHeader = 4 << 10
)

// program names a program whose header stands anywhere in b.
func program(b []byte) string {
	for _, p := range programs {
		for i := 0; ; i += len(p.magic) {
			k := bytes.Index(b[i:], []byte(p.magic))
			if k < 0 || len(b)-i-k < minHeader {
				break
			}
			i += k
			if p.is(b[i:min(len(b), i+maxHeader)]) {
				return p.what
			}
		}
	}
	return ""
}

// maxZipTail is the longest end of a zip file's directory.
const maxZipTail = 22 + 1<<16

// endsAsZip says whether b, the end of a file, ends as a zip file does. That what stands
// in front of it is something else does not keep a reader from opening it.
func endsAsZip(b []byte) bool {
	tail := b[max(0, len(b)-maxZipTail):]
	i := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if i < 0 || len(tail)-i < 22 {
		return false
	}
	end := tail[i:]
	entries, size := binary.LittleEndian.Uint16(end[10:]), binary.LittleEndian.Uint32(end[12:])
	from := int64(i) - int64(size)
	return entries > 0 && size >= 46 && len(end) >= 22+int(binary.LittleEndian.Uint16(end[20:])) &&
		(from < 0 || string(tail[from:from+4]) == "PK\x01\x02")
}
