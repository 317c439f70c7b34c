// Package encoded finds text that encodes other bytes (base64, hex, percent
// and backslash escapes, compressed data, UTF-16) and decodes it, nested to a
// bounded depth and with bounded memory. What it returns says nothing about
// whether the bytes are harmful: judging is the caller's work. It never fails;
// text that decodes to nothing sensible is passed over.
package encoded

import (
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/threegate/tool-exec/validate/text"
)

// The encodings, as they appear in Piece.Encoding.
const (
	Base64  = "base64"
	Hex     = "hex"
	Percent = "percent"
	Escape  = "escape" // \x41, \u0041, \101
	Gzip    = "gzip"
	Zlib    = "zlib"
	Bzip2   = "bzip2"
	UTF16   = "utf-16"
	Base32  = "base32"
	Number  = "numbers"  // 103, 104 or 67:68 or &#103; or =67
	Entity  = "entities" // &#103; &zwnj; among other text
	Spelt   = "spelt"    // letter by letter, or in literals that are joined
	Reverse = "reverse"  // the last letter first
	Rot13   = "rot13"
)

// Piece is a stretch of text and what it decodes to.
type Piece struct {
	// Offset and End bound the stretch in the outermost text.
	Offset, End int
	// Encoding names the encodings, outermost first: "base64", "base64+gzip".
	Encoding string
	// Data is the decoded content. The caller must not change it.
	Data []byte
	// Text says that Data reads as text.
	Text bool
	// Unread says that the limits did not suffice: of this stretch nothing was looked
	// at but what earlier pieces hold, and nothing of what comes behind it. It is the
	// last piece and has no Data.
	Unread bool
	depth  int
}

// Limits bound the work of Pieces.
type Limits struct {
	// Depth is how many encodings may be nested.
	Depth int
	// Bytes is how much decoded content is looked at in all.
	Bytes int
}

// DefaultLimits suits a document of size bytes.
func DefaultLimits(size int) Limits {
	return Limits{Depth: 4, Bytes: min(4*size+1<<20, 64<<20)}
}

// minData is the least decoded content that is worth a look.
const minData = 8

// Pieces yields every encoded stretch of raw, outer ones before what is nested
// in them. If there is more than lim allows, the last one is Unread: what was not
// looked at must not pass for harmless.
func Pieces(raw []byte, lim Limits) iter.Seq[Piece] {
	return func(yield func(Piece) bool) {
		w := walker{lim: lim, budget: lim.Bytes, starts: lim.Bytes, yield: yield}
		w.walk(raw, Piece{Offset: 0, End: len(raw), Text: true})
	}
}

type walker struct {
	lim    Limits
	budget int // of decoded bytes
	starts int // what beginning to decompress may still cost
	yield  func(Piece) bool
	done   bool
}

// walk looks for pieces in data, which is parent's content.
func (w *walker) walk(data []byte, parent Piece) {
	if !parent.Text || parent.depth == 0 {
		w.binary(data, parent)
	}
	if !parent.Text || w.done {
		return
	}
	if hasUTF16(data) {
		w.emit(parent, 0, len(data), UTF16, fromUTF16(data))
	}
	for _, find := range all {
		for s := range find(data) {
			if undoes(s.enc, parent) {
				continue
			}
			w.emit(parent, s.from, s.to, s.enc, s.data)
			if w.done {
				return
			}
		}
	}
}

// undoes says that decoding p's content by enc gives back what p was decoded from,
// which was looked at already.
func undoes(enc string, p Piece) bool {
	return (enc == Reverse || enc == Rot13) && strings.HasSuffix(p.Encoding, enc)
}

// binary looks into data whose form a magic number gives away.
func (w *walker) binary(data []byte, parent Piece) {
	if w.starts -= startCost(data); w.starts < 0 {
		w.done = true
		w.yield(Piece{Offset: parent.Offset, End: parent.End, Encoding: parent.Encoding, Unread: true, depth: parent.depth})
		return
	}
	// A little more than the budget, so that emit sees that there is more.
	if enc, out := expand(data, w.budget+minData); out != nil {
		w.emit(parent, 0, len(data), enc, out)
	} else if hasUTF16(data) {
		w.emit(parent, 0, len(data), UTF16, fromUTF16(data))
	}
}

func (w *walker) emit(parent Piece, from, to int, enc string, data []byte) {
	if w.done || len(data) < minData {
		return
	}
	p := Piece{Offset: parent.Offset, End: parent.End, Encoding: enc, depth: parent.depth + 1}
	if parent.depth == 0 {
		p.Offset, p.End = from, to
	} else {
		p.Encoding = parent.Encoding + "+" + enc
	}
	room := w.budget
	if p.depth > w.lim.Depth {
		room = 0
	}
	fits := data[:min(len(data), room)]
	w.budget -= len(fits)
	if len(fits) > 0 {
		p.Data, p.Text = fits, LooksText(fits)
		w.done = !w.yield(p)
	}
	switch {
	case w.done:
	case len(fits) < len(data):
		p.Data, p.Text, p.Unread = nil, false, true
		w.done = true
		w.yield(p)
	default:
		w.walk(data, p)
	}
}

// LooksText reports whether b is text to a reader: hardly any control or
// undecodable bytes.
func LooksText(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	sample := b[:min(len(b), 64<<10)]
	odd, most := 0, len(sample)/20
	for i := 0; odd <= most; {
		if i = text.PlainEnd(sample, i); i == len(sample) {
			return true
		}
		c := sample[i]
		if c < utf8.RuneSelf {
			if c != '\r' && c != 0x1b {
				odd++
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(sample[i:])
		if r == utf8.RuneError && n == 1 {
			odd++
		}
		i += n
	}
	return false
}
