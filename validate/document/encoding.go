package document

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	plaintext "github.com/threegate/tool-exec/validate/text"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// decode checks that raw is text. What can be mended for the sake of further
// findings (byte order mark, carriage returns) is mended in the text it returns,
// which is nil if raw is no text at all.
func decode(raw []byte, maxBytes int64) ([]byte, *Report) {
	if maxBytes <= 0 || maxBytes > MaxBytes {
		maxBytes = MaxBytes
	}
	r := NewReport(nil)
	switch nul := bytes.IndexByte(raw, 0); {
	case int64(len(raw)) > maxBytes:
		r.Whole("doc.size", fmt.Sprintf("the document has more than the %d bytes that are allowed", maxBytes),
			"keep data out of the document: pass it as an input file")
		return nil, r
	case len(bytes.TrimSpace(raw)) == 0:
		r.Whole("doc.empty", "the document is empty", "start from a template: threegate draft")
		return nil, r
	case nul >= 0:
		line, column := NewLines(raw).Pos(nul)
		r.Whole("doc.encoding.binary",
			fmt.Sprintf("the document holds a NUL byte (line %d, column %d): it is binary, not text", line, column),
			"a document is a Markdown file in UTF-8; pass other files as inputs")
		return nil, r
	}
	text, bom := bytes.CutPrefix(raw, byteOrderMark)
	crlf := bytes.Count(text, []byte("\r\n"))
	first := bytes.Index(text, []byte("\r\n"))
	if crlf > 0 {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	r = NewReport(text)
	if bom {
		r.AtLine("doc.encoding.bom", 1, 1, "the document starts with a byte order mark (U+FEFF)",
			"save it as UTF-8 without a byte order mark")
	}
	if crlf > 0 {
		r.At("doc.encoding.newline", first, fmt.Sprintf("%d lines end with a carriage return (CRLF)", crlf),
			`save the document with Unix line ends: sed -i 's/\r$//' FILE`)
	}
	for i := plaintext.PlainEnd(text, 0); i < len(text); i = plaintext.PlainEnd(text, i) {
		c, size := utf8.DecodeRune(text[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			r = NewReport(text)
			r.At("doc.encoding.utf8", i, fmt.Sprintf("byte %#02x is not valid UTF-8", text[i]),
				"save the document as UTF-8")
			return nil, r
		case c < ' ' || c >= 0x7f && c <= 0x9f:
			r.At("doc.encoding.control", i, fmt.Sprintf("control character U+%04X", c),
				"remove it: only newline and tab are allowed")
		}
		i += size
	}
	return text, r
}
