package artifact

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/threegate/tool-exec/schemas"
)

// pdfNames are names of a PDF's actions and parts that do something by themselves, or
// that hold what is not looked at. Shorter ones would turn up in compressed data.
var pdfNames = map[string]string{
	"JavaScript": "it holds JavaScript", "Launch": "it launches a program", "EmbeddedFile": "it holds a file",
	"EmbeddedFiles": "it holds files", "RichMedia": "it holds a player", "Rendition": "it holds a player",
	"XFA": "it holds a form in XFA", "SubmitForm": "it sends a form", "ImportData": "it reads a file",
}

const (
	maxPDFName = 96 // of the names above, were all their letters spelled
	// maxDict bounds the dictionary in front of a stream, and maxObjects what one compressed stream
	// of objects is unpacked to.
	maxDict    = 4 << 10
	maxObjects = 4 << 20
	// maxPDFObjects bounds what all of a file are unpacked to.
	maxPDFObjects = 64 << 20
	// inNext is how much of the end of a part stands in the next one too.
	inNext = 24 << 10
)

// pdf looks for actions in a part of a PDF.
func (d *detector) pdf(b []byte, last bool) {
	d.pdfNames(b)
	for i := 0; ; {
		k := bytes.Index(b[i:], []byte("/ObjStm"))
		if k < 0 {
			return
		}
		i += k + len("/ObjStm")
		if !d.pdfObjects(b, i) && (last || len(b)-i > inNext) {
			d.add(schemas.ArtifactSealed, "it holds objects that can't be unpacked")
		}
	}
}

var pdfEscape = regexp.MustCompile(`#[0-9A-Fa-f]{2}`)

// pdfNames looks for names as they stand; a name may spell letters as #41.
func (d *detector) pdfNames(b []byte) {
	ends := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("()<>[]{}/%", r) }
	for part := range bytes.SplitSeq(b, []byte("/")) {
		name := part[:min(len(part), maxPDFName)]
		if end := bytes.IndexFunc(name, ends); end >= 0 {
			name = name[:end]
		}
		escaped := bytes.IndexByte(name, '#') >= 0
		if escaped {
			name = pdfEscape.ReplaceAllFunc(name, func(code []byte) []byte {
				plain, _ := hex.DecodeString(string(code[1:]))
				return plain
			})
		}
		if why := pdfNames[string(name)]; why != "" {
			d.add(schemas.ArtifactPDFAction, why)
		} else if string(name) == "Encrypt" {
			d.add(schemas.ArtifactSealed, "it is encrypted")
		} else if escaped && string(name) == "ObjStm" {
			d.add(schemas.ArtifactSealed, "it holds objects under a disguised name")
		}
	}
}

var pdfFlate = regexp.MustCompile(`/Filter\s*(?:/(?:FlateDecode|Fl)\b|\[\s*/(?:FlateDecode|Fl)\s*\])`)

// pdfObjects unpacks the stream of objects whose dictionary holds the place at in b, and
// looks for names in it. It says whether it could.
func (d *detector) pdfObjects(b []byte, at int) bool {
	k := bytes.Index(b[at:min(len(b), at+maxDict)], []byte("stream"))
	if k < 0 {
		return false
	}
	from := max(0, at-maxDict)
	dict := b[from : at+k]
	if i := bytes.LastIndex(b[from:at], []byte(" obj")); i >= 0 {
		dict = dict[i:]
	}
	packed := bytes.TrimLeft(b[at+k+len("stream"):], "\r\n")
	switch {
	case bytes.ContainsAny(dict, "#") || bytes.Contains(dict, []byte("/Predictor")):
		return false
	case !bytes.Contains(dict, []byte("/Filter")):
		return true // its names were seen as they stand
	case !pdfFlate.Match(dict), d.unpacked > maxPDFObjects:
		return false
	}
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return false
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxObjects+1))
	d.pdfNames(plain)
	d.unpacked += len(plain)
	return len(plain) <= maxObjects && (err == nil || errors.Is(err, zlib.ErrChecksum))
}
