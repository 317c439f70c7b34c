package text

import (
	"encoding/binary"
	"math/bits"
)

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// PlainEnd returns the offset, from i on, of the first byte of s that is not
// plain: printable ASCII, newline or tab. It looks at eight bytes at a time.
func PlainEnd[T string | []byte](s T, i int) int {
	for ; i+8 <= len(s); i += 8 {
		x := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		// In odd, the high bit of a byte says that it is below a blank, 7F or above.
		odd := (x | ^((x | highs) - 0x20*ones) | (x&^highs + ones)) & highs
		if odd != 0 {
			if odd &^= same(x, '\n') | same(x, '\t'); odd != 0 {
				return i + bits.TrailingZeros64(odd)/8
			}
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; (c < 0x20 || c >= 0x7F) && c != '\n' && c != '\t' {
			break
		}
	}
	return i
}

// same sets the high bit of those bytes of x that are c.
func same(x uint64, c byte) uint64 {
	y := x ^ uint64(c)*ones
	return ^((y&^highs + 0x7F*ones) | y) & highs
}

// lower makes small letters of the capitals of b, which is ASCII.
func lower(b []byte) {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		capitals := (x + (0x80-'A')*ones) &^ (x + (0x80-'Z'-1)*ones) & highs
		binary.LittleEndian.PutUint64(b[i:], x|capitals>>2)
	}
	for ; i < len(b); i++ {
		if b[i] >= 'A' && b[i] <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
}
