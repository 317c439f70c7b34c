package encoded

import (
	"bytes"
	"iter"
)

// Text as the numbers of its characters: calls, lists of bytes, bits, pairs of figures with signs between.

// calls are the beginnings of what stands for one character, and the base of the
// number that follows: chr(65), [char]65, U+0041, \u{41}, \U00000041, %u0041.
var calls = []struct {
	mark string
	base int
}{{"hr(", 10}, {"HR(", 10}, {"har]", 10}, {"har(", 10}, {"HAR(", 10}, {"U+", 16}, {`\u{`, 16}, {`\U0`, 16}, {"%u00", 16}}

func callMarks() (out []string) {
	for _, c := range calls {
		out = append(out, c.mark)
	}
	return out
}

// minCalls is how many of them make a text.
const minCalls = 8

func findCalls(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for _, c := range calls {
			var out []byte
			start, stop := 0, 0
			flush := func() bool {
				ok := len(out) < minCalls || yield(stretch{start, stop, Escape, out})
				out = nil
				return ok
			}
			for at := range places(b, c.mark) {
				if len(out) > 0 && at-stop > 16 && !flush() {
					return
				}
				v, end := number(b, at+len(c.mark), c.base)
				if end == 0 || v == 0 || v > 0x7e {
					continue
				}
				if len(out) == 0 {
					start = at
				}
				out, stop = append(out, byte(v)), end
			}
			if !flush() {
				return
			}
		}
	}
}

// number reads the number at i; its end is 0 without one.
func number(b []byte, i, base int) (v, end int) {
	if base == 10 && i+2 < len(b) && (b[i] == '0' && b[i+1]|0x20 == 'x' || b[i] == '&' && b[i+1]|0x20 == 'h') {
		i, base = i+2, 16
	}
	from := i
	for i < len(b) && i-from < 8 && (digitClass[b[i]] || base == 16 && hexClass[b[i]]) {
		v = v*base + int(unhex(b[i]))
		i++
	}
	if i == from {
		return 0, 0
	}
	return v, i
}

var listClass = classOf("0123456789, -\n\t[](){};")

// findBytes reads lists of the values of bytes, with or without a sign, that come
// to a known format or to text with line ends of two characters.
func findBytes(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; ; {
			from, end := longRun(b, i, 2*minSpelt-1, &listClass)
			if from == len(b) {
				return
			}
			var out []byte
			start, stop := from, from
			flush := func() bool {
				at := knownAt(out)
				found := out[max(0, at):]
				ok := len(out) < minSpelt || at < 0 && (bytes.IndexByte(out, '\r') < 0 || !LooksText(out)) || yield(stretch{start, stop, Number, found})
				out = nil
				return ok
			}
			for k := from; k < end; {
				if !digitClass[b[k]] {
					if (b[k] == '[' || b[k] == '{') && !flush() { // a list of its own
						return
					}
					k++
					continue
				}
				v, e := number(b[:end], k, 10)
				if k > from && b[k-1] == '-' {
					v = -v
				}
				if v < -128 || v > 255 || e-k > 3 {
					if !flush() {
						return
					}
				} else {
					if len(out) == 0 {
						start = k
					}
					out, stop = append(out, byte(v)), e
				}
				k = e
			}
			if !flush() {
				return
			}
			i = end
		}
	}
}

// knownAt is where bytes of a known format begin in out, behind at most a few numbers
// that happen to stand before them, or -1.
func knownAt(out []byte) int {
	const few = 3
	for i := range min(few+1, len(out)) {
		if known(out[i:]) {
			return i
		}
	}
	return -1
}

var bitClass = classOf("01, \nb_")

// findBits reads bytes that are written as eight digits each.
func findBits(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; ; {
			from, end := longRun(b, i, 9*minData-1, &bitClass)
			if from == len(b) {
				return
			}
			var out []byte
			v, n := 0, 0
			for k := from; k < end; k++ {
				switch c := b[k]; {
				case c == '0' && k+1 < end && b[k+1] == 'b':
					k++
					v, n = 0, 0
				case c == '0' || c == '1':
					v, n = v<<1|int(c-'0'), n+1
					if n == 8 {
						out = append(out, byte(v))
						v, n = 0, 0
					}
				}
			}
			if (LooksText(out) || known(out)) && !yield(stretch{from, end, Number, out}) {
				return
			}
			i = end
		}
	}
}

var dashClass = classOf("0123456789abcdefABCDEF-:")

// findDashes reads bytes with hyphens or colons between them: 41-4B-49.
func findDashes(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := 0; ; {
			from, end := longRun(b, i, 3*minSpelt-1, &dashClass)
			if from == len(b) {
				return
			}
			var out []byte
			k := from
			for ; k+1 < end && hexClass[b[k]] && hexClass[b[k+1]] && (k+2 >= end || !hexClass[b[k+2]]); k += 3 {
				out = append(out, unhex(b[k])<<4|unhex(b[k+1]))
			}
			if len(out) >= minSpelt && !yield(stretch{from, min(k, end), Hex, out}) {
				return
			}
			i = end
		}
	}
}
