package disguise

import (
	_ "embed"
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
	list  []string // the commonest first
	// set holds the hashes of words, for a first look.
	set [1 << setBits / 64]uint64
	// glue says of each rank whether the word is glue.
	glue []bool
	// price is what a word costs in a split, by its rank.
	price []uint16
}

const setBits = 17

// node is a beginning of words.
type node struct {
	next [26]uint16
	rank uint16 // of the word that ends here, from 1
}

var words = sync.OnceValue(func() *vocabulary {
	list := strings.Fields(wordsFile)
	v := &vocabulary{list: list, nodes: make([]node, 1, 3*len(list)), glue: make([]bool, len(list)+1), price: prices(len(list))}
	for i, w := range list {
		v.add(w, uint16(i+1))
		v.glue[i+1] = glue[w]
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
