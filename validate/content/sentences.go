package content

import (
	"bytes"
	"strings"

	"github.com/threegate/tool-exec/validate/text"
)

// sentences looks for the phrases in the sentences of folded, which is what raw reads as.
func (c *collector) sentences(raw []byte, folded *text.Mapped, p *text.Piece) {
	b := folded.Text
	at := func(i int) byte {
		if o := folded.Origin(i); o < len(raw) {
			return raw[o]
		}
		return 0
	}
	small := func(i int) bool { return at(i) >= 'a' && at(i) <= 'z' }
	capital := func(s span) bool {
		first, last := at(s.from), at(s.to-1)
		return s.to-s.from > 1 && first >= 'A' && first <= 'Z' && last >= 'A' && last <= 'Z'
	}
	r := newReading(loadGrammar())
	var words []word
	standing, framed := -1, -1 // until where a standing order, and a frame, hold
	for s := range sentencesOf(b, small) {
		if c.full() || !c.judges(s.to-s.from) {
			return
		}
		words = wordsOf(words[:0], b, s)
		block := blockBehind(b, s.to)
		if line := bytes.TrimLeft(b[s.from:s.to], "\n "); fenced(line) != "" || bytes.HasPrefix(line, []byte("#")) {
			framed = -1 // it ends with its section
		}
		found := map[string]bool{}
		for from := 0; from < len(words); from += window - windowOverlap {
			to := min(len(words), from+window)
			r.read(b, words[from:to], capital)
			if to == len(words) && block >= 0 {
				r.set(r.g.classes[classBlock].n, to-from-1)
			}
			standing, framed = r.carry(s, standing, framed)
			for i := range r.g.phrases {
				f := &r.g.phrases[i]
				if found[f.rule] || !f.matches(r) {
					continue
				}
				found[f.rule] = true
				span := trim(b, s)
				if (f.block || f.rule == RuleInsert) && block >= 0 {
					span.to = blockEnd(b, block)
				}
				c.hit(Hit{Rule: f.rule, Name: "words", Offset: folded.Origin(span.from),
					End: folded.Origin(span.to)}, p)
			}
			if to == len(words) {
				break
			}
		}
	}
}

// carry gives the window its classes of orders and frames that hold until an offset, and returns until where they do.
func (r *reading) carry(s span, standing, framed int) (int, int) {
	if r.matchesAny(r.g.standing) {
		standing = s.to + maxStanding
	}
	if s.from < standing {
		r.set(r.g.classes[classStanding].n, 0)
	}
	if s.from < framed {
		r.set(r.g.classes[classFramed].n, 0)
	}
	if r.matchesAny(r.g.framed) {
		framed = s.to + maxFramed
	}
	return standing, framed
}

// maxStanding is how far what a standing order wants done may stand behind it.
const maxStanding = 900

// maxFramed is the same for a frame.
const maxFramed = 400

// trim takes spaces and marks of lists off the ends of s.
func trim(b []byte, s span) span {
	for s.from < s.to && bytes.IndexByte([]byte(" \t\n-*+>#"), b[s.from]) >= 0 {
		s.from++
	}
	for s.to > s.from && b[s.to-1] <= ' ' {
		s.to--
	}
	return s
}

// maxBlock is how far the end of a block of code is searched.
const maxBlock = 8 << 10

// blockBehind returns where a block of code begins behind the sentence that ends at i, or
// -1: a fence, or lines that are indented or begin with a prompt.
func blockBehind(b []byte, i int) int {
	for i < len(b) && (b[i] == ':' || b[i] == '.' || b[i] == ' ') {
		i++
	}
	if i >= len(b) || b[i] != '\n' {
		return -1
	}
	for n := 0; i < len(b) && b[i] == '\n' && n < 3; n++ {
		i++
		if bytes.HasPrefix(bytes.TrimLeft(b[i:min(len(b), i+8)], " "), []byte(">")) { // of a quotation
			i = end(b, i, " >")
		}
	}
	if fenced(b[i:]) != "" || codeLine(b[i:]) {
		return i
	}
	return -1
}

// fenced returns the marks of a fence that b begins with.
func fenced(b []byte) string {
	line := bytes.TrimLeft(b[:min(len(b), 16)], " >")
	for _, marks := range []string{"```", "~~~"} {
		if bytes.HasPrefix(line, []byte(marks)) {
			return marks
		}
	}
	return ""
}

// end is where those of chars end that begin at i.
func end(b []byte, i int, chars string) int {
	for i < len(b) && strings.IndexByte(chars, b[i]) >= 0 {
		i++
	}
	return i
}

// codeLine says whether b begins with a line that looks like one of code.
func codeLine(b []byte) bool {
	return len(b) > 4 && (b[0] == '\t' || string(b[:4]) == "    " && b[4] > ' ') ||
		bytes.HasPrefix(bytes.TrimLeft(b[:min(len(b), 8)], " "), []byte("$ "))
}

// blockEnd returns where the block that begins at i ends.
func blockEnd(b []byte, i int) int {
	most := min(len(b), i+maxBlock)
	if marks := fenced(b[i:]); marks != "" {
		from := min(most, i+bytes.IndexByte(b[i:], marks[0])+len(marks))
		if n := bytes.Index(b[from:most], []byte(marks)); n >= 0 {
			return from + n + len(marks)
		}
		return most
	}
	for i < most && codeLine(b[i:]) {
		n := bytes.IndexByte(b[i:most], '\n')
		if n < 0 {
			return most
		}
		i += n + 1
	}
	return i
}
