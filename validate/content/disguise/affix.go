package disguise

import "bytes"

const howAffixed = "with something added to each word"

// leastAffixed is how many words something is added to at least.
const leastAffixed = 4

// affixed reads a line without the digits around its words, or without the letter
// with which all of them begin or end.
func (r *reader) affixed(x Reading, line []byte) {
	words := bytes.Fields(line)
	if len(words) < leastAffixed || len(words) > len(line)/2 {
		return
	}
	first, last := sharedEnds(words)
	out, n := r.out[:0], 0
	for _, w := range words {
		w = appendLower(r.word[:0], w)
		r.word = w
		bare := bytes.Trim(w, "0123456789")
		if len(bare) == len(w) && lettersOnly(w) && len(w) > 1 {
			if first {
				bare = bare[1:]
			}
			if last && len(bare) > 1 {
				bare = bare[:len(bare)-1]
			}
		}
		if len(bare) < len(w) && lettersOnly(bare) && len(bare) > 0 {
			n++
		} else {
			bare = w
		}
		out = append(append(out, bare...), ' ')
	}
	r.out = out
	if n >= leastAffixed && 4*n >= 3*len(words) && r.plainly(out) {
		x.How, x.Text, x.Sure = howAffixed, out, true
		r.emit(x)
	}
}

// sharedEnds says whether all words begin, and whether all end, with the same letter.
func sharedEnds(words [][]byte) (first, last bool) {
	a, b := words[0][0]|0x20, words[0][len(words[0])-1]|0x20
	first, last = small(a), small(b)
	for _, w := range words {
		first = first && w[0]|0x20 == a
		last = last && w[len(w)-1]|0x20 == b
	}
	return first, last
}
