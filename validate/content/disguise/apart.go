package disguise

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/threegate/tool-exec/validate/text"
)

const howApart = "in letters that stand apart"

// apart joins letters that stand by themselves. Where the gaps between some are
// wider than between others, words end there; otherwise they are looked for.
func (r *reader) apart(x Reading, line []byte) {
	out, total := r.out[:0], 0
	for i := 0; i < len(line); {
		end, n, narrow, wide := lone(line, i)
		if n < 3 {
			out = append(out, line[i])
			i++
			continue
		}
		r.word = r.word[:0]
		gap := 0
		for _, c := range line[i:end] {
			switch {
			case c == ' ' || c == '\t':
				gap++
				continue
			case !letter(c):
				continue
			case gap > narrow && wide > narrow:
				r.word = append(r.word, ' ')
			}
			gap = 0
			r.word = append(r.word, c|0x20)
		}
		words := r.word
		if wide == narrow {
			words = r.split.split(words)
		}
		if out = append(out, words...); words == nil {
			out = append(out, line[i:end]...)
		} else {
			total += n
		}
		i = end
	}
	r.out = out
	if total < leastAlone {
		return
	}
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c | 0x20
		}
	}
	x.How, x.Text, x.Sure = howApart, out, x.Sure || total >= 2*leastAlone
	r.emit(x)
}

// lone bounds the run of single letters at i: with blanks between them, and one
// other sign at most. narrow and wide are the least and the most blanks.
func lone(b []byte, i int) (end, n, narrow, wide int) {
	if i > 0 && (letter(b[i-1]) || b[i-1] >= utf8.RuneSelf) {
		return i, 0, 0, 0
	}
	narrow = 1 << 30
	gap := 0
	for k := i; k < len(b); {
		if !letter(b[k]) || k+1 < len(b) && (letter(b[k+1]) || b[k+1] >= utf8.RuneSelf || b[k+1] == '\'') {
			break
		}
		if n++; n > 1 {
			narrow, wide = min(narrow, gap), max(wide, gap)
		}
		k++
		end, gap = k, 0
		for signs := 0; k < len(b) && (b[k] == ' ' || b[k] == '\t' || !wordByte(b[k]) && signs == 0); k++ {
			if b[k] == ' ' || b[k] == '\t' {
				gap++
			} else {
				signs++
			}
		}
		if gap == 0 || gap > 8 {
			break
		}
	}
	return end, n, narrow, wide
}

func letter(c byte) bool   { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func wordByte(c byte) bool { return letter(c) || c >= '0' && c <= '9' || c >= utf8.RuneSelf }

// apartForeign is apart for letters beyond ASCII.
func (r *reader) apartForeign(x Reading, line []byte) {
	n, narrow, gap := 0, 1<<30, 0
	for w := range bytes.FieldsSeq(line) {
		if c, size := utf8.DecodeRune(w); size == len(w) && unicode.IsLetter(c) {
			n++
		} else if n--; n < -leastAlone {
			return
		}
	}
	if n < leastAlone {
		return
	}
	for i, c := range line {
		if c == ' ' {
			gap++
		} else if gap > 0 {
			if i > gap {
				narrow = min(narrow, gap)
			}
			gap = 0
		}
	}
	out := r.word[:0]
	for i, c := range line {
		if c != ' ' {
			if gap > narrow && i > gap {
				out = append(out, ' ')
			}
			out = append(out, c)
			gap = 0
		} else {
			gap++
		}
	}
	r.word = out
	x.How, x.Text = howApart, text.Fold(out).Text
	r.emit(x)
}
