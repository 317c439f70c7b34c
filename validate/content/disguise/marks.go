package disguise

import (
	"encoding/binary"
	"math/bits"
)

// marks are what a line shows of a disguise at a glance: how often each occurs.
type marks struct {
	// letters, and the places where a sign, or two, stand between letters, a digit
	// beside one, and a capital between small ones.
	letters, signs, pairs, digits, capitals int
	// punctuation are all signs, numbers all digits.
	punctuation, numbers int
	// alone are letters that stand by themselves.
	alone int
	// words are runs of letters, long those of some length, strange the long ones that
	// the vocabulary does not know.
	words, long, strange int
	// longest is the length of the longest run of letters.
	longest int
	// foreign says that there are characters beyond ASCII.
	foreign bool
}

// longWord is the length of words by whose letters disguises are told.
const longWord = 4

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// masks are sets of the bytes of a block: a bit for each.
type masks struct{ letter, capital, digit, blank, high uint64 }

// at enters eight bytes, the first of which is the one of number i of the block.
func (m *masks) at(i int, x uint64) {
	high := x & highs
	x &^= highs
	lower := x | cases
	letter := (lower + (0x80-'a')*ones) &^ (lower + (0x80-'z'-1)*ones) & highs &^ high
	capital := letter &^ (x << 2) // 0x20 moves to 0x80
	digit := (x + (0x80-'0')*ones) &^ (x + (0x80-'9'-1)*ones) & highs &^ high
	blank := ^(x + (0x80-0x21)*ones) & highs &^ high
	m.letter |= gather(letter) << i
	m.capital |= gather(capital) << i
	m.digit |= gather(digit) << i
	m.blank |= gather(blank) << i
	m.high |= gather(high) << i
}

// gather makes eight bits of the high bits of eight bytes.
func gather(x uint64) uint64 { return (x >> 7) * 0x0102040810204080 >> 56 }

const block = 64

// look counts the marks of a line.
func (v *vocabulary) look(line []byte) (m marks) {
	carry := 0 // letters at the end of the last block that belong to a run
	for from := 0; from < len(line); from += block {
		n := min(block, len(line)-from)
		var s masks
		i := 0
		for ; i+8 <= n; i += 8 {
			s.at(i, binary.LittleEndian.Uint64(line[from+i:]))
		}
		if i < n {
			s.at(i, head(line[from+i:from+n]))
		}
		all := ^uint64(0) >> (block - n)
		s.blank &= all
		m.foreign = m.foreign || s.high != 0
		word := s.letter | s.high
		sign := all &^ (word | s.digit | s.blank)
		m.letters += bits.OnesCount64(s.letter)
		m.punctuation += bits.OnesCount64(sign)
		m.numbers += bits.OnesCount64(s.digit)
		m.signs += bits.OnesCount64(word << 1 & sign & (word >> 1))
		m.pairs += bits.OnesCount64(word << 1 & sign & (sign >> 1) & (word >> 2))
		m.digits += bits.OnesCount64(s.digit & (word<<1 | word>>1))
		small := s.letter &^ s.capital
		m.capitals += bits.OnesCount64(small << 1 & s.capital & (small >> 1))
		touch := word | s.digit
		m.alone += bits.OnesCount64(s.letter &^ (touch << 1) &^ (touch >> 1))
		carry = m.runs(v, line[from:], s.letter, touch, carry)
	}
	return m
}

// runs counts the runs of letters of a block; touch are what no word stands beside.
func (m *marks) runs(v *vocabulary, b []byte, letter, touch uint64, carry int) int {
	if carry > 0 && letter&1 == 0 {
		carry = 0
	}
	for letter != 0 {
		at := bits.TrailingZeros64(letter)
		n := bits.TrailingZeros64(^(letter >> at))
		end := at + n
		if n == block {
			end = block
		}
		if at == 0 {
			n += carry
		}
		m.longest = max(m.longest, n)
		if end == block {
			return n
		}
		letter &= ^uint64(0) << end
		if at == 0 && carry > 0 || touch>>end&1 != 0 || at > 0 && touch>>(at-1)&1 != 0 {
			continue
		}
		m.words++
		if n < longWord {
			continue
		}
		m.long++
		var x uint64
		if at+8 <= len(b) {
			x = binary.LittleEndian.Uint64(b[at:])
			if n < 8 {
				x &= 1<<(8*n) - 1
			}
		} else {
			x = head(b[at:end])
		}
		if !v.maybe(x, n) {
			m.strange++
		}
	}
	return 0
}
