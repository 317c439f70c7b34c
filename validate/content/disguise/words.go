package disguise

import (
	_ "embed"
	"math/bits"
	"strings"
	"sync"
)

// wordsFile holds the words of the labelled sentences, the commonest first (gather).
//
//go:embed words.txt
var wordsFile string

// vocabulary are the words that a reading may be made of.
type vocabulary struct {
	// nodes are those of the tree of all words; the first is its root.
	nodes []node
	size  int // words
	// set holds the hashes of words, for a first look.
	set [1 << setBits / 64]uint64
	// scrambled, shifted and bare find words by what is left of them when their
	// letters are mixed, all moved by as many places, or lose their vowels.
	scrambled, shifted, bare map[uint32]string
	// without finds words by the hash of what is left of them without one letter.
	without map[uint32]string
}

const setBits = 17

// node is a beginning of words.
type node struct {
	next [26]uint16
	rank uint16 // of the word that ends here, from 1
}

var words = sync.OnceValue(func() *vocabulary {
	list := strings.Fields(wordsFile)
	v := &vocabulary{size: len(list), nodes: make([]node, 1, 4*len(list)), scrambled: map[uint32]string{}, shifted: map[uint32]string{}, bare: map[uint32]string{}, without: make(map[uint32]string, 8*len(list))}
	for i, w := range list {
		v.add(w, uint16(i+1))
	}
	return v
})

func (v *vocabulary) add(w string, rank uint16) {
	at := uint16(0)
	for i := range len(w) {
		next := v.nodes[at].next[w[i]-'a']
		if next == 0 {
			next = uint16(len(v.nodes))
			v.nodes = append(v.nodes, node{})
			v.nodes[at].next[w[i]-'a'] = next
		}
		at = next
	}
	v.nodes[at].rank = rank
	h := wordHash(head([]byte(w)), len(w))
	v.set[h/64] |= 1 << (h % 64)
	for m, key := range map[*map[uint32]string]func([]byte) (uint32, bool){&v.scrambled: scrambledKey, &v.shifted: shiftedKey, &v.bare: bareKey} {
		if k, ok := key([]byte(w)); ok && (*m)[k] == "" { // the commonest comes first
			(*m)[k] = w
		}
	}
	if k, ok := bareKey([]byte(w[1:])); ok && vowel(w[0]) && len(w) > 1 && !vowel(w[1]) && v.bare[k] == "" {
		v.bare[k] = w
	}
	if len(w) > longWord {
		for i := range len(w) {
			if k := lessOne([]byte(w), i); v.without[k] == "" {
				v.without[k] = w
			}
		}
	}
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
	if s := v.without[lessOne(w, -1)]; len(s) == len(w)+1 && lacks(w, s) {
		return s
	}
	if len(w) < longWord+1 {
		return ""
	}
	var room [maxToken]byte
	for i := range len(w) - 1 { // without its last letter many a word is another form of itself
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

// rank returns the place of a word among all, from 1, or 0.
func (v *vocabulary) rank(w []byte) uint16 {
	at := uint16(0)
	for _, c := range w {
		if !small(c) {
			return 0
		}
		if at = v.nodes[at].next[c-'a']; at == 0 {
			return 0
		}
	}
	return v.nodes[at].rank
}

// maybe says whether a word may be one of the vocabulary; head are its first eight
// letters, in either case. Few others pass.
func (v *vocabulary) maybe(head uint64, n int) bool {
	h := wordHash(head|cases, n)
	return v.set[h/64]>>(h%64)&1 != 0
}

// cases are the bits that small letters have and capitals have not.
const cases = 0x2020202020202020

// head returns the first eight bytes of w, with zeros behind a shorter one.
func head(w []byte) (x uint64) {
	for i := range min(len(w), 8) {
		x |= uint64(w[i]) << (8 * i)
	}
	return x
}

func wordHash(head uint64, n int) uint32 {
	return uint32(((head | cases) + uint64(n)) * 0x9E3779B97F4A7C15 >> (64 - setBits))
}

// scrambledKey is the same for all words of the same letters.
func scrambledKey(w []byte) (uint32, bool) {
	sum := uint32(len(w))
	for _, c := range w {
		sum += letterNumbers[c-'a']
	}
	return sum, len(w) > 3
}

var letterNumbers = func() (t [26]uint32) {
	x := uint32(1)
	for i := range t {
		x = x*0x9E3779B1 + 0x7F4A7C15
		t[i] = bits.Reverse32(x) | 1
	}
	return t
}()

// shiftedKey is the same for all words that are moved by some places in the alphabet.
func shiftedKey(w []byte) (uint32, bool) {
	h := uint32(len(w))
	for i := 1; i < len(w); i++ {
		h = h*0x01000193 ^ uint32((int(w[i])-int(w[i-1])+26)%26+1)
	}
	return h, len(w) > 3
}

// bareKey is the same for all words that differ in their vowels only, but for the
// first letter.
func bareKey(w []byte) (uint32, bool) {
	h, n := uint32(0), 0
	for i, c := range w {
		if i == 0 || !vowel(c) {
			h = h*0x01000193 ^ uint32(c)
			n++
		}
	}
	return h, n > 0
}

// glue are words that stand in sentences and hardly in names or lists.
var glue = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields("the to and in of a an is are be was for it on from by this that these those your you with as all any every at has have not no me my our its their them now then before after without into onto next must should der die das und den von zu im mit ist le la les et de du des en el los las che para") {
		m[w] = true
	}
	return m
}()

func vowel(c byte) bool { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' }
func small(c byte) bool { return c >= 'a' && c <= 'z' }
