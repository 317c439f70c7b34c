package text

import (
	"bytes"
	"compress/gzip"
	"io"
	"iter"
	"unicode/utf8"
)

// The encodings, as they appear in Piece.Encoding.
const (
	Base64  = "base64"
	Hex     = "hex"
	Percent = "percent"
	Escape  = "escape" // \x41, \u0041
	Gzip    = "gzip"
	Entity  = "entity" // &#65;
	Tags    = "tags"   // marks inside of words, ig<b>no</b>re
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
	// Unread says that the limits did not suffice: neither the rest of this stretch nor
	// what follows it was decoded. It is the last piece and has no Data.
	Unread bool
	depth  int
}

// Limits bound the work of Pieces.
type Limits struct {
	// Depth is how many encodings may be nested.
	Depth int
	// Bytes is how much content is decoded in all.
	Bytes int
}

// DefaultLimits suits a document of size bytes.
func DefaultLimits(size int) Limits {
	return Limits{Depth: 3, Bytes: min(4*size+1<<20, 64<<20)}
}

// minData is the least decoded content that is worth a look.
const minData = 8

// minDeep is how long chance bytes are at least that count as nested too deep: shorter
// ones are what any identifier decodes to.
const minDeep = 48

// startCost is what beginning to decompress counts, in decoded bytes: the tables of a
// decompressor are far larger than a few damaged bytes.
const startCost = 2 << 10

// Pieces yields every encoded stretch of raw, outer ones before what is nested
// in them. If there is more than lim allows, the last one is Unread: what was not
// decoded must not pass for harmless.
func Pieces(raw []byte, lim Limits) iter.Seq[Piece] {
	return func(yield func(Piece) bool) {
		w := walker{depth: lim.Depth, budget: lim.Bytes, yield: yield}
		w.walk(raw, Piece{End: len(raw), Text: true})
	}
}

type walker struct {
	depth  int
	budget int // of decoded bytes
	yield  func(Piece) bool
	done   bool
}

// walk looks for pieces in data, which is parent's content.
func (w *walker) walk(data []byte, parent Piece) {
	if isGzip(data) {
		w.gunzip(data, parent)
	}
	if !parent.Text {
		return
	}
	for _, find := range finders {
		for s := range find(data) {
			if w.done {
				return
			}
			w.emit(parent, s)
		}
	}
}

func isGzip(data []byte) bool { return bytes.HasPrefix(data, []byte("\x1f\x8b\x08")) }

// gunzip decompresses data. Damaged data counts as far as it goes.
func (w *walker) gunzip(data []byte, parent Piece) {
	if w.budget -= startCost; w.budget < 0 {
		w.done = true
		w.yield(Piece{Offset: parent.Offset, End: parent.End, Encoding: parent.Encoding, Unread: true})
		return
	}
	if r, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		// A little more than the budget, so that emit sees that there is more.
		out, _ := io.ReadAll(io.LimitReader(r, int64(w.budget+minData)))
		w.emit(parent, stretch{0, len(data), Gzip, out, false})
	}
}

// emit yields what a stretch of parent's content decodes to, and what is nested in it.
func (w *walker) emit(parent Piece, s stretch) {
	if w.done || len(s.data) < minData {
		return
	}
	p := Piece{Offset: s.from, End: s.to, Encoding: s.enc, depth: parent.depth + 1}
	if parent.depth > 0 {
		p.Offset, p.End, p.Encoding = parent.Offset, parent.End, parent.Encoding+"+"+s.enc
	}
	room := w.budget
	if p.depth > w.depth {
		if len(s.data) < minDeep && !LooksText(s.data) || s.plain {
			return
		}
		room = 0
	}
	fits := s.data[:min(len(s.data), room)]
	w.budget -= len(fits)
	if len(fits) > 0 {
		p.Data, p.Text = fits, LooksText(fits)
		w.done = !w.yield(p)
	}
	switch {
	case w.done:
	case len(fits) < len(s.data):
		p.Data, p.Text, p.Unread = nil, false, true
		w.done = true
		w.yield(p)
	default:
		w.walk(fits, p)
	}
}

// LooksText reports whether b is text to a reader: hardly any control or
// undecodable bytes.
func LooksText(b []byte) bool {
	sample := b[:min(len(b), 64<<10)]
	odd := 0
	for i := PlainEnd(sample, 0); i < len(sample); i = PlainEnd(sample, i) {
		r, n := utf8.DecodeRune(sample[i:])
		if r == utf8.RuneError && n == 1 || r < ' ' && r != '\r' && r != 0x1b || r == 0x7f {
			odd++
		}
		i += n
	}
	return len(b) > 0 && odd <= len(sample)/20
}
