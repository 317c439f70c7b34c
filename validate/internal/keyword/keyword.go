// Package keyword finds many words in a text at once. It tells by the last three
// bytes at each place whether a word may end there, which is twice as fast as an
// automaton as long as few do.
package keyword

import (
	"cmp"
	"iter"
	"slices"
)

// Finder finds a set of words. It is read-only after its making.
type Finder struct {
	words []string
	fold  [256]byte
	// may has a bit for the hash of three bytes with which a word may end. at, by
	// eight hashes each, is the list of such words, long ones first.
	may   [1 << hashBits / 64]uint64
	at    [1 << hashBits / 8]uint16
	lists [][]ending
}

// ending is a word by its last bytes, four at most.
type ending struct {
	tail, mask uint32
	word       int32
}

const (
	hashBits = 16
	// tail is how many bytes are hashed, and shortest how long words are at least.
	tail     = 3
	shortest = 2
)

// hash looks at the lower three bytes.
func hash(three uint32) uint32 { return (three << 8) * 0x9E3779B1 >> (32 - hashBits) }

// New returns a finder of words, each of two bytes or more. One that folds takes
// ASCII capitals of the text for small letters; its words have none.
func New(words []string, folds bool) *Finder {
	f := &Finder{words: words, lists: make([][]ending, 1)}
	for c := range f.fold {
		f.fold[c] = byte(c)
		if folds && c >= 'A' && c <= 'Z' {
			f.fold[c] += 'a' - 'A'
		}
	}
	for i, w := range words {
		switch n := len(w); {
		case n < shortest:
			panic("keyword: too short: " + w)
		case n < tail: // whatever stands in front
			for c := range 256 {
				f.add(uint32(c)<<16|uint32(w[0])<<8|uint32(w[1]), int32(i))
			}
		default:
			f.add(uint32(w[n-3])<<16|uint32(w[n-2])<<8|uint32(w[n-1]), int32(i))
		}
	}
	for _, list := range f.lists {
		slices.SortStableFunc(list, func(a, b ending) int { return cmp.Compare(len(words[b.word]), len(words[a.word])) })
	}
	return f
}

func (f *Finder) add(three uint32, word int32) {
	h := hash(three)
	f.may[h/64] |= 1 << (h % 64)
	if f.at[h/8] == 0 {
		f.at[h/8] = uint16(len(f.lists))
		f.lists = append(f.lists, nil)
	}
	e := ending{word: word}
	w := f.words[word]
	for i := max(0, len(w)-4); i < len(w); i++ {
		e.tail, e.mask = e.tail<<8|uint32(w[i]), e.mask<<8|0xff
	}
	if list := &f.lists[f.at[h/8]]; !slices.Contains(*list, e) {
		*list = append(*list, e)
	}
}

// Hit is where a word stands, and its number.
type Hit struct{ From, End, Word int }

// Walk yields every occurrence of a word in b, in order
// of the ends and, where several end at one place, long ones first.
func (f *Finder) Walk(b []byte) iter.Seq[Hit] {
	return func(yield func(Hit) bool) {
		for end, last := f.next(b, 0, 0); end > 0; end, last = f.next(b, end, last) {
			for _, e := range f.lists[f.at[hash(last)/8]] {
				if last&e.mask != e.tail {
					continue
				}
				w := f.words[e.word]
				if from := end - len(w); from >= 0 && f.is(b[from:end], w) && !yield(Hit{from, end, int(e.word)}) {
					return
				}
			}
		}
	}
}

// next returns the first place behind i where a word may end, with the last four bytes
// in front of it, or 0; last are those in front of i.
func (f *Finder) next(b []byte, i int, last uint32) (end int, four uint32) {
	fold, may := &f.fold, &f.may
	for ; i < len(b); i++ {
		last = last<<8 | uint32(fold[b[i]])
		if h := hash(last); may[h/64]>>(h%64)&1 != 0 {
			return i + 1, last
		}
	}
	return 0, 0
}

// is says whether b, of the same length, reads as w.
func (f *Finder) is(b []byte, w string) bool {
	for i := len(b) - 1; i >= 0; i-- {
		if f.fold[b[i]] != w[i] {
			return false
		}
	}
	return true
}
