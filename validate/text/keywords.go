package text

import (
	"strings"

	ahocorasick "github.com/BobuSumisu/aho-corasick"
)

// Keywords finds the key words of many patterns in one pass over a text. It is read-only
// after its making.
type Keywords struct {
	trie   *ahocorasick.Trie
	byWord [][]keywordUse
}

// keywordUse is a pattern that a word belongs to.
type keywordUse struct {
	pattern int
	bound   bool // no small letter may stand in front
}

// NewKeywords takes the words of each pattern. In front of a word with "^" no letter may stand.
func NewKeywords(of [][]string) *Keywords {
	k := &Keywords{}
	number := map[string]int{}
	var words []string
	for i, list := range of {
		for _, w := range list {
			w, bound := strings.CutPrefix(w, "^")
			n, ok := number[w]
			if !ok {
				n = len(words)
				number[w], words = n, append(words, w)
				k.byWord = append(k.byWord, nil)
			}
			k.byWord[n] = append(k.byWord[n], keywordUse{i, bound})
		}
	}
	k.trie = ahocorasick.NewTrieBuilder().AddStrings(words).Build()
	return k
}

// Walk calls do with each place of a word and each pattern that it belongs to, in the order
// in which the places end, until do returns false.
func (k *Keywords) Walk(b []byte, do func(pattern, from, end int) bool) {
	k.trie.Walk(b, func(last, n, word int64) bool {
		from, end := int(last-n+1), int(last+1)
		inWord := from > 0 && b[from-1] >= 'a' && b[from-1] <= 'z'
		for _, u := range k.byWord[word] {
			if !(u.bound && inWord) && !do(u.pattern, from, end) {
				return false
			}
		}
		return true
	})
}
