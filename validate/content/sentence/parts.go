package sentence

import "unicode/utf8"

// The lengths of the parts of a chunk, its ends counted, in characters.
const (
	shortPart   = 3
	longPart    = 5
	shortSymbol = 2 // in scripts where a character says more
	longSymbol  = 4
	longChunk   = 30 // bytes; a longer one is cut
)

// surface enters what stands between blanks: its words and, with the signs that are
// stuck to it, its parts. So a word that was never seen is known by its stem, and a
// quoted one from one that is not. A chunk counts once, however often it stands there.
func (x *extractor) surface(b []byte, tokens []token) {
	before, t := uint64(1), 0
	word := func(h uint64) {
		x.add(t, kindWord, h, 0)
		x.add(t, kindWords, before, h)
		before = h
	}
	for i := 0; i < len(b); {
		if blank(b[i]) {
			i++
			continue
		}
		from := i
		for i < len(b) && !blank(b[i]) && i-from < longChunk {
			i++
		}
		for i < len(b) && i-from > longChunk-utf8.UTFMax && !utf8.RuneStart(b[i]) {
			i--
		}
		for t < len(tokens)-1 && tokens[t].to <= from {
			t++
		}
		alone := tokens[t].from < i && (t+1 == len(tokens) || tokens[t+1].from >= i)
		if c := tokens[t].classes[0]; alone && c < isOther { // an address, a number: its kind counts
			word(uint64(c))
			continue
		}
		w := b[from:i]
		for k := 0; k < len(w); {
			start := k
			for k < len(w) && wordByte(w[k]) {
				k++
			}
			if k > start {
				word(hashBytes(w[start:k]))
			} else {
				k++
			}
		}
		if x.add(t, kindChunk, hashBytes(w), 0) {
			x.parts(t, w)
		}
	}
}

func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// parts enters the parts of a chunk: each by itself, or what they weigh together if
// the weights are known.
func (x *extractor) parts(token int, w []byte) {
	if x.model == nil {
		for _, h := range x.partsOf(w) {
			x.features = append(x.features, feature{h, int16(token), blockParts})
		}
		return
	}
	p := x.weigh(w)
	x.count += int(p.n)
	for k := range x.sum {
		x.sum[k] += p.sum[k]
	}
}

// partsOf returns what a chunk is made of. They are good until the next call.
func (x *extractor) partsOf(w []byte) []hashed {
	x.part, x.hashes = append(x.part[:0], ' '), x.hashes[:0]
	ascii := true
	for _, c := range w {
		x.part = append(x.part, byte(each[c].as))
		ascii = ascii && c < utf8.RuneSelf
	}
	x.part = append(x.part, ' ')
	short, long := shortPart, longPart
	if !ascii {
		short, long = shortSymbol, longSymbol
	}
	for from := range x.part {
		if !utf8.RuneStart(x.part[from]) {
			continue
		}
		h, n := uint64(14695981039346656037), 0
		for k := from; k < len(x.part); k++ {
			h = (h ^ uint64(x.part[k])) * 1099511628211
			if k+1 < len(x.part) && !utf8.RuneStart(x.part[k+1]) {
				continue
			}
			if n++; n >= short {
				x.hashes = append(x.hashes, hash(kindPart, h, 0))
			}
			if n == long {
				break
			}
		}
	}
	return x.hashes
}

// weighed is what the parts of a chunk weigh together: the sum of each kind.
type weighed struct {
	chunk [longChunk]byte
	size  uint8
	n     uint16 // parts
	sum   [kinds]int32
}

const weighedChunks = 1 << 11

// weigh returns what the parts of a chunk weigh. Words come again and again, so
// those that were weighed last are remembered, whole: nobody can make one pass for
// another.
func (x *extractor) weigh(w []byte) *weighed {
	at := &x.weighed[hashBytes(w)*0x9E3779B97F4A7C15>>(64-11)]
	if at.n > 0 && string(at.chunk[:at.size]) == string(w) {
		return at
	}
	*at = weighed{size: uint8(copy(at.chunk[:], w))}
	parts := x.partsOf(w)
	at.n = uint16(len(parts))
	at.sum = x.model.sum(parts)
	return at
}
