package sentence

// The lengths of the parts of a word, its ends counted, in bytes.
const (
	shortPart = 3
	longPart  = 5
	longWord  = 30
)

// partsOf returns the buckets of what a word is made of, by which one that was
// never seen is known by its stem and its endings. They are good until the next call.
func (x *extractor) partsOf(w []byte) []uint32 {
	x.part = append(append(append(x.part[:0], '^'), w[:min(len(w), longWord)]...), '$')
	x.buckets = x.buckets[:0]
	for from := range x.part {
		h := uint64(14695981039346656037)
		for n, c := range x.part[from:min(from+longPart, len(x.part))] {
			h = (h ^ uint64(c)) * 1099511628211
			if n+1 >= shortPart {
				x.buckets = append(x.buckets, bucket(kindPart, h, 0))
			}
		}
	}
	return x.buckets
}

// weighed is what the parts of a word weigh together: the sum of each kind.
type weighed struct {
	word [longWord]byte
	size uint8
	n    uint16 // parts
	sum  [kinds]int32
}

const weighedWords = 1 << 11

// weigh returns what the parts of a word weigh. Words come again and again, so
// those that were weighed last are remembered, whole: nobody can make one word
// pass for another.
func (x *extractor) weigh(w []byte, hash uint64) *weighed {
	w = w[:min(len(w), longWord)]
	at := &x.weighed[hash*0x9E3779B97F4A7C15>>(64-11)]
	if at.n > 0 && string(at.word[:at.size]) == string(w) {
		return at
	}
	*at = weighed{size: uint8(copy(at.word[:], w))}
	parts := x.partsOf(w)
	at.n = uint16(len(parts))
	at.sum = x.model.sum(parts)
	return at
}
