package disguise

import (
	"bytes"
	"unicode/utf8"
)

const (
	howTags      = "in invisible copies of letters"
	howSelectors = "in variation selectors"
	howBits      = "in characters without width"
)

// The least that is taken for text in characters that nobody sees.
const (
	leastTags      = 4
	leastSelectors = 4
	leastBits      = 32
)

// blackFlag is the emoji behind which tags name a region.
const (
	blackFlag = "\U0001F3F4"
	maxFlag   = 6
)

// unseen reads text in characters that nobody sees: one that stands for each letter,
// for each byte or for each bit.
func (r *reader) unseen(raw []byte) {
	if bytes.IndexByte(raw, 0xF3) < 0 && bytes.IndexByte(raw, 0xEF) < 0 && bytes.IndexByte(raw, 0xE2) < 0 {
		return
	}
	var tags, bytesOf, bitsOf run
	flag := false // the last character is the black flag
	end := func() {
		tags.end(r)
		bytesOf.end(r)
		bitsOf.end(r)
	}
	for i := 0; i < len(raw) && !r.done; {
		if raw[i] != 0xF3 && raw[i] != 0xEF && raw[i] != 0xE2 {
			end()
			flag = bytes.HasPrefix(raw[i:], []byte(blackFlag))
			for i++; i < len(raw) && raw[i] != 0xF3 && raw[i] != 0xEF && raw[i] != 0xE2 && raw[i] != blackFlag[0]; i++ {
				flag = flag && raw[i]&0xC0 == 0x80
			}
			continue
		}
		c, n := utf8.DecodeRune(raw[i:])
		switch {
		case c >= 0xE0020 && c <= 0xE007F:
			tags.add(r, howTags, i, n, byte(c-0xE0000), flag)
		case c >= 0xFE00 && c <= 0xFE0F:
			bytesOf.add(r, howSelectors, i, n, byte(c-0xFE00), false)
		case c >= 0xE0100 && c <= 0xE01EF:
			bytesOf.add(r, howSelectors, i, n, byte(c-0xE0100+16), false)
		case c >= 0x200B && c <= 0x200F || c >= 0x2060 && c <= 0x2064 || c == 0xFEFF:
			bitsOf.add(r, howBits, i, n, byte(c), false)
		default:
			end()
		}
		i += n
	}
	end()
}

// run is a run of characters that nobody sees.
type run struct {
	how      string
	from, to int
	flag     bool // it names a region
	text     []byte
}

func (u *run) add(r *reader, how string, at, n int, c byte, flag bool) {
	if len(u.text) > 0 && u.to != at {
		u.end(r)
	}
	if len(u.text) == 0 {
		u.how, u.from, u.flag = how, at, flag
	}
	u.text, u.to = append(u.text, c), at+n
}

// end reads the run, if it is one.
func (u *run) end(r *reader) {
	text := u.text
	u.text = u.text[:0]
	if len(text) == 0 || r.done {
		return
	}
	x := Reading{From: u.from, To: u.to, How: u.how, Sure: true, Unseen: true}
	switch {
	case u.how == howTags && (len(text) < leastTags || u.flag && len(text) <= maxFlag+1):
		return
	case u.how == howSelectors && len(text) < leastSelectors:
		return
	case u.how == howBits:
		if text = fromBits(text); text == nil {
			return
		}
	}
	if !readable(text) {
		return
	}
	x.Text = lowered(&r.out, text)
	r.emit(x)
	if !r.done {
		r.undo(x, append([]byte(nil), text...), r.v.look(text))
	}
}

// readable says whether most of b are letters and blanks.
func readable(b []byte) bool {
	n := 0
	for _, c := range b {
		if letter(c) || c == ' ' {
			n++
		}
	}
	return 3*n >= 2*len(b)
}

// fromBits makes bytes of characters of two kinds, eight or seven for each.
func fromBits(b []byte) []byte {
	if len(b) < leastBits {
		return nil
	}
	one := b[0]
	for _, c := range b {
		if c != one {
			for _, flip := range []byte{0, 0xFF} {
				for _, width := range []int{8, 7} {
					if out := packed(b, c, width, flip); readable(out) {
						return out
					}
				}
			}
			return nil
		}
	}
	return nil
}

func packed(b []byte, one byte, width int, flip byte) (out []byte) {
	v, n := byte(0), 0
	for _, c := range b {
		if v <<= 1; c == one {
			v |= 1
		}
		if n++; n == width {
			out = append(out, (v^flip)&(1<<width-1))
			v, n = 0, 0
		}
	}
	return out
}
