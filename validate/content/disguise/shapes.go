package disguise

import (
	"math/bits"
	"sync"
)

// shape finds words by what is left of them when they are changed in some way: it has
// the rank of the commonest, by a hash.
type shape map[uint32]uint16

func (s shape) add(key, rank int) {
	if k := uint32(key); s[k] == 0 {
		s[k] = uint16(rank)
	}
}

// shapes are those of all words. Only text with strange words needs them.
var shapes = sync.OnceValue(func() *struct{ mixed, moved, bare, without shape } {
	v := words()
	s := &struct{ mixed, moved, bare, without shape }{shape{}, shape{}, shape{}, make(shape, 6*len(v.list))}
	for i, word := range v.list {
		w, rank := []byte(word), i+1
		if len(w) >= longWord {
			s.mixed.add(int(mixedKey(w)), rank)
			s.moved.add(int(movedKey(w)), rank)
		}
		s.bare.add(int(bareKey(w)), rank)
		if len(w) > 1 && vowel(w[0]) && !vowel(w[1]) {
			s.bare.add(int(bareKey(w[1:])), rank)
		}
		for k := range len(w) {
			if len(w) > longWord {
				s.without.add(int(lessOne(w, k)), rank)
			}
		}
	}
	return s
})

// of returns the word of a rank, or "".
func (v *vocabulary) of(rank uint16) string {
	if rank == 0 {
		return ""
	}
	return v.list[rank-1]
}

// mixed returns the word that has the letters of w, or "".
func (v *vocabulary) mixed(w []byte) string {
	if s := v.of(shapes().mixed[mixedKey(w)]); len(s) == len(w) {
		return s
	}
	return ""
}

// withVowels returns the word that w lacks the vowels of, or "".
func (v *vocabulary) withVowels(w []byte) string { return v.of(shapes().bare[bareKey(w)]) }

// shift returns by how many places a word was moved in the alphabet, if the
// vocabulary knows one that comes of it.
func (v *vocabulary) shift(w []byte) (by int, ok bool) {
	s := v.of(shapes().moved[movedKey(w)])
	if len(s) != len(w) {
		return 0, false
	}
	by = (int(s[0]) - int(w[0]) + 26) % 26
	return by, by != 0
}

// lessOne is the hash of w without its letter i; -1 leaves all.
func lessOne(w []byte, i int) uint32 {
	h := uint32(0x811C9DC5)
	for k, c := range w {
		if k != i {
			h = (h ^ uint32(c)) * 0x01000193
		}
	}
	return h
}

// near returns the word that w becomes with one letter more or less. Another letter
// in the place of one makes too many words of too many others.
func (v *vocabulary) near(w []byte) string {
	if s := v.of(shapes().without[lessOne(w, -1)]); len(s) == len(w)+1 && lacks(w, s) {
		return s
	}
	if len(w) < longWord+1 {
		return ""
	}
	var room [maxToken]byte
	for i := range w {
		if i == len(w)-1 && w[i] != w[i-1] { // without its last letter many a word is another form of itself
			break
		}
		less := append(append(room[:0], w[:i]...), w[i+1:]...)
		if rank := v.rank(less); rank > 0 && len(less) >= longWord {
			return string(less)
		}
	}
	return ""
}

// lacks says whether a is b without one of its letters.
func lacks(a []byte, b string) bool {
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return string(a[i:]) == b[i+1:]
}

// mixedKey is the same for all words of the same letters.
func mixedKey(w []byte) uint32 {
	sum := uint32(len(w))
	for _, c := range w {
		sum += letterNumbers[c-'a']
	}
	return sum
}

var letterNumbers = func() (t [26]uint32) {
	x := uint32(1)
	for i := range t {
		x = x*0x9E3779B1 + 0x7F4A7C15
		t[i] = bits.Reverse32(x) | 1
	}
	return t
}()

// movedKey is the same for all words that are moved by some places in the alphabet.
func movedKey(w []byte) uint32 {
	h := uint32(len(w))
	for i := 1; i < len(w); i++ {
		h = h*0x01000193 ^ uint32((int(w[i])-int(w[i-1])+26)%26+1)
	}
	return h
}

// bareKey is the same for all words that differ in their vowels only, but for the
// first letter.
func bareKey(w []byte) uint32 {
	h := uint32(0)
	for i, c := range w {
		if i == 0 || !vowel(c) {
			h = h*0x01000193 ^ uint32(c)
		}
	}
	return h
}
