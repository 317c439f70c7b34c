package sentence

import (
	_ "embed"
	"strings"
	"unicode/utf8"
)

// A sift tells, in one pass over the bytes of a sentence, whether judging it can
// lead to anything. Most text of programs ends here. What it lets pass is judged
// in full; what it holds back has no more than one word that orders or claims are
// made of, and not as its first.
type sift struct {
	words, stems bits // hashes of the words that are looked for, and of those with a star
}

// bits is a set of hashes.
type bits [1 << 18 / 64]uint64

func (s *bits) add(h uint32)      { s[h>>20] |= 1 << (h >> 14 & 63) }
func (s *bits) has(h uint32) bool { return s[h>>20]>>(h>>14&63)&1 != 0 }

// How many bytes of a word the sift looks at.
const (
	stem = 4
	head = 9
)

// key hashes the small letters at the start of b, their first stem bytes if they
// are so many and their first head bytes, and returns how many letters there are.
func key(b []byte) (ofStem, ofHead uint32, n int) {
	h := uint32(0)
	for n < min(len(b), head) && lowerByte(b[n]) {
		h = h*37 + uint32(b[n])
		if n++; n == stem {
			ofStem = h
		}
	}
	for n < len(b) && lowerByte(b[n]) {
		n++
	}
	return ofStem * 0x9E3779B1, h * 0x9E3779B1, n
}

// needed are the points from which on a sentence is judged.
const needed = 2

// plain are the bytes that tell the sift nothing.
var plain = func() (t [256]bool) {
	for c := range utf8.RuneSelf {
		b := byte(c)
		t[c] = !lowerByte(b) && b != '/' && b != '`' && b != '.' && b != '_'
	}
	return t
}()

// pass says whether a sentence is worth a look.
func (s *sift) pass(b []byte) bool {
	points, words := 0, 0
	for i := 0; i < len(b); {
		c := b[i]
		switch {
		case plain[c]:
			i++
		case lowerByte(c):
			short, long, n := key(b[i:])
			words++
			if s.words.has(long) || n >= stem && s.stems.has(short) {
				points++
				if words == 1 {
					points++
				}
			}
			i += n
		case c >= utf8.RuneSelf:
			return true
		case c == '/' && i+1 < len(b) && b[i+1] == '/', c == '`':
			points++
			i += 2
		case (c == '.' || c == '_') && i > 0 && lowerByte(b[i-1]) && i+1 < len(b) && lowerByte(b[i+1]):
			_, _, n := key(b[i+1:])
			if w := b[i+1 : i+1+n]; c == '_' || runnableEnds[string(w)] || topLevel[string(w)] {
				points++
			}
			i++
		default:
			i++
		}
	}
	return points >= needed && words >= least
}

func lowerByte(c byte) bool { return c >= 'a' && c <= 'z' }

// interesting are the classes whose words give points although they are not
// looked for by themselves.
var interesting = map[string]bool{"please": true, "modal": true, "noneed": true, "you": true, "forever": true, "act": true, "rights": true, "instr": true, "ai": true, "trustout": true}

// rarest is the longest word of a phrase.
func rarest(phrase string) string {
	long := ""
	for _, w := range strings.Fields(phrase) {
		if len(w) > len(long) {
			long = w
		}
	}
	return long
}

// soughtText lists more words of orders and claims, which no class of the lexicon
// holds: `make train` finds them.
//
//go:embed sought.txt
var soughtText string

// sifted makes the sift of a lexicon.
func (l *lexicon) sifted() *sift {
	s := &sift{}
	for _, w := range strings.Fields(soughtText) {
		_, long, _ := key([]byte(w))
		s.words.add(long)
	}
	for i, m := range []map[string][]class{l.exact, l.prefix, l.phrase} {
		for w, cs := range m {
			for _, c := range cs {
				if c >= firstListed && (l.sought[c] || interesting[l.names[c]]) {
					short, long, n := key([]byte(rarest(w)))
					if i == 1 && n >= stem && n < head {
						s.stems.add(short)
					} else {
						s.words.add(long)
					}
				}
			}
		}
	}
	return s
}
