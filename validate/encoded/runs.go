package encoded

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
)

// Most text holds nothing that is encoded, and most finders want long runs of
// few characters: they need not look at every byte to see that there is none.

// longRun returns the first run of c in b, from i on, that has n bytes at least.
// What stands in front of i does not belong to a run. Without one, from is len(b).
func longRun(b []byte, i, n int, c *class) (from, end int) {
	for i+n <= len(b) {
		k := i + n - 1 // a run that starts in between goes on beyond it
		for k >= i && c[b[k]] {
			k--
		}
		if k < i {
			return i, runEnd(b, i+n, c)
		}
		i = k + 1
	}
	return len(b), len(b)
}

// apart returns the first place from i on where n bytes follow of which no two
// neighbours are of c, or len(b).
func apart(b []byte, i, n int, c *class) int {
	for i+n <= len(b) {
		k := i + n - 2
		for k >= i && !(c[b[k]] && c[b[k+1]]) {
			k--
		}
		if k < i {
			return i
		}
		i = k + 1
	}
	return len(b)
}

// marked returns the first line of b, from at on, that holds n bytes c or more.
// Without one, from is len(b).
func marked(b []byte, at, n int, c byte) (from, end int) {
	for at < len(b) {
		k := bytes.IndexByte(b[at:], c)
		if k < 0 {
			break
		}
		from = at + bytes.LastIndexByte(b[at:at+k], '\n') + 1
		end = len(b)
		if e := bytes.IndexByte(b[at+k:], '\n'); e >= 0 {
			end = at + k + e
		}
		if n <= 1 || bytes.Count(b[at+k:end], []byte{c}) >= n {
			return from, end
		}
		at = end + 1
	}
	return len(b), len(b)
}

// markedLines yields the lines of b that hold n bytes c or more: where they begin and end.
func markedLines(b []byte, n int, c byte) iter.Seq2[int, int] {
	return func(yield func(from, end int) bool) {
		for at := 0; ; {
			from, end := marked(b, at, n, c)
			if from == len(b) || !yield(from, end) {
				return
			}
			at = end + 1
		}
	}
}

// nextQuote returns the first quote from i on, or len(b).
func nextQuote(b []byte, i int) int {
	const ones, lows = 0x0101010101010101, 0x7F7F7F7F7F7F7F7F
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		// The high bit of a byte of neither says that it is no such quote.
		double, single := x^'"'*ones, x^'\''*ones
		neither := (double&lows + lows | double) & (single&lows + lows | single) &^ lows
		if neither != ^uint64(lows) {
			return i + bits.TrailingZeros64(neither^^uint64(lows))/8
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\'' {
		i++
	}
	return i
}
