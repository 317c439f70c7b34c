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
		if what := programInside(b); what != "" {
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
