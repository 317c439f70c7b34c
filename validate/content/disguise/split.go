package disguise

import "math"

// maxSplit is how many letters are split into words at once.
const maxSplit = 400

// The prices, in quarters of a bit: of a letter that belongs to no word, and of
// what text in words takes at most for each letter.
const (
	strayLetter = 44
	perLetter   = 12
)

// splitter finds the words in letters that stand without blanks.
type splitter struct {
	v    *vocabulary
	cost [maxSplit + 1]uint32
	from [maxSplit + 1]int16
	cuts []int16
	out  []byte
}

// prices are those of words, by their rank.
func prices(words int) []uint16 {
	out := make([]uint16, words+1)
	for rank := range out {
		out[rank] = uint16(4 * (4.5 + math.Log2(float64(max(rank, 1)))))
	}
	return out
}

// split returns letters with blanks between its words, or nil if it is not made of
// words. The result is good until the next call.
func (s *splitter) split(letters []byte) []byte {
	letters = letters[:min(len(letters), maxSplit)]
	n := len(letters)
	for i := range n + 1 {
		s.cost[i] = math.MaxUint32
	}
	s.cost[0] = 0
	for i := range n {
		if c := s.cost[i] + strayLetter; c < s.cost[i+1] {
			s.cost[i+1], s.from[i+1] = c, int16(i)
		}
		for k, at := i, uint16(0); k < n; k++ {
			if at = s.v.nodes[at].next[letters[k]-'a']; at == 0 {
				break
			}
			if rank := s.v.nodes[at].rank; rank > 0 {
				if c := s.cost[i] + uint32(s.v.price[rank]); c < s.cost[k+1] {
					s.cost[k+1], s.from[k+1] = c, int16(i)
				}
			}
		}
		if i == probe && s.cost[i] > probe*(perLetter+4) {
			return nil
		}
	}
	if s.cost[n] > uint32(n*perLetter) {
		return nil
	}
	s.cuts = s.cuts[:0]
	for k := int16(n); k > 0; k = s.from[k] {
		s.cuts = append(s.cuts, k)
	}
	s.out = s.out[:0]
	at := int16(0)
	for i := len(s.cuts) - 1; i >= 0; i-- {
		if at > 0 {
			s.out = append(s.out, ' ')
		}
		s.out = append(s.out, letters[at:s.cuts[i]]...)
		at = s.cuts[i]
	}
	return s.out
}

// probe is how many letters tell whether the others are worth a look.
const probe = 24
