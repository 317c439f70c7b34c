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
			for ; i < len(line) && line[i] > ' '; i++ {
				out = append(out, line[i])
			}
			for ; i < len(line) && line[i] <= ' '; i++ {
				out = append(out, ' ')
			}
			continue
		}
		chunk := r.plainWord[:0]
		gap := 0
		for _, c := range line[i:end] {
			if c <= ' ' {
				gap++
				continue
			}
			if gap > narrow && wide > narrow {
				chunk = append(chunk, ' ')
			}
			gap = 0
			chunk = append(chunk, c)
		}
		r.plainWord = chunk
		if words := r.chunk(lowered(&r.word, chunk), wide > narrow); words != nil {
			out = append(out, words...)
			total += n
		} else {
			out = append(out, line[i:end]...)
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

// chunk returns the words that characters which stood apart come to, or nil. parted
// says that there are blanks between them.
func (r *reader) chunk(b []byte, parted bool) []byte {
	if !parted && lettersOnly(b) {
		if r.v.rank(b) > 0 {
			return b
		}
		return r.split.split(b)
	}
	letters, _ := lettersOf(b)
	if 2*letters < len(b) {
		return nil
	}
	var out []byte
	for w := range bytes.FieldsSeq(b) {
		if !lettersOnly(w) && bytes.IndexByte(w, '/') < 0 {
			if word := r.match.match(w, false); word != nil {
				w = word
			}
		}
		out = append(append(out, w...), ' ')
	}
	return bytes.TrimRight(out, " ")
}

// lone bounds the run of single characters at i, with blanks between them; n of them
// are letters. A sign may stand behind each. narrow and wide are the least and the
// most blanks.
func lone(b []byte, i int) (end, n, narrow, wide int) {
	narrow = 1 << 30
	gap, before := 0, false
	for k := i; k < len(b) && b[k] < utf8.RuneSelf; {
		size := 1
		if k+1 < len(b) && b[k+1] > ' ' {
			if wordByte(b[k+1]) || k+2 < len(b) && b[k+2] > ' ' {
				break
			}
			size = 2
		}
		if b[k] <= ' ' {
			break
		}
		if before {
			narrow, wide = min(narrow, gap), max(wide, gap)
		}
		if before = true; letter(b[k]) {
			n++
		}
		k += size
		for end, gap = k, 0; k < len(b) && (b[k] == ' ' || b[k] == '\t'); k++ {
			gap++
		}
		if gap == 0 || gap > 8 {
			break
		}
	}
	return end, n, narrow, wide
}

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

func letter(c byte) bool   { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func wordByte(c byte) bool { return letter(c) || c >= '0' && c <= '9' || c >= utf8.RuneSelf }
