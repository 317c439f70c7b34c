package sentence

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Features are spread over buckets by hash. A bucket holds the weights of one
// feature, which is known by its mark: another one in the same bucket weighs nothing.
const (
	bucketBits = 19
	buckets    = 1 << bucketBits
	markBits   = 8
)

// hashed is a feature as a hash: its bucket and, in the low bits, its mark.
type hashed uint32

func (h hashed) bucket() uint32 { return uint32(h) >> markBits }
func (h hashed) mark() uint8    { return uint8(h) }

// feature is one property of a sentence, and the token that shows it.
type feature struct {
	hash  hashed
	token int16
	block uint8
}

// Features stand in blocks, each of which has the same say, however many there
// are in it.
const (
	blockClasses = iota
	blockOrder
	blockWords
	blockParts
	blockSigns
	blocks
)

var blockOf = [...]uint8{kindClass: blockClasses, kindPair: blockClasses, kindNext: blockOrder, kindSkip: blockOrder, kindStart: blockOrder, kindStartPair: blockOrder,
	kindLater: blockOrder, kindLast: blockOrder, kindWord: blockWords, kindWords: blockWords, kindStartWord: blockWords, kindPart: blockParts, kindChunk: blockParts, kindSign: blockSigns}

// The kinds of features, as salts of their hashes.
const (
	kindClass uint64 = iota + 1
	kindPair
	kindNext
	kindSkip
	kindStart
	kindStartWord
	kindWord
	kindWords
	kindLast
	kindSign
	kindStartPair
	kindLater
	kindPart
	kindChunk
)

func hash(kind, a, b uint64) hashed {
	h := (kind*0x9E3779B97F4A7C15 ^ a) * 0xBF58476D1CE4E5B9
	h = (h ^ h>>29 ^ b) * 0x94D049BB133111EB
	return hashed(h >> (64 - bucketBits - markBits))
}

// extractor makes the features of sentences; its buffers are used again.
type extractor struct {
	tokenizer
	features []feature
	seen     [buckets / 64]uint64 // a bit for each bucket of features
	classed  []int                // tokens that have a class
	part     []byte               // a word and its ends
	hashes   []hashed             // of its parts
	// model has the weights of parts, which then are no features but only summed up.
	model   *Model
	weighed *[weighedChunks]weighed
	count   int
	sum     [kinds]int32
	work    int // features that were made and half of the bytes, since the document began
}

func newExtractor() *extractor {
	return &extractor{tokenizer: tokenizer{lex: words()}}
}

// add enters a feature, once; it says whether it is new.
func (x *extractor) add(token int, kind, a, b uint64) bool {
	f := feature{hash(kind, a, b), int16(token), blockOf[kind]}
	k := f.hash.bucket()
	bit := uint64(1) << (k % 64)
	fresh := x.seen[k/64]&bit == 0
	if fresh {
		x.seen[k/64] |= bit
		x.features = append(x.features, f)
	}
	return fresh
}

// How much a sentence says at least that can order something: so many words, or so
// many characters of a script that sets no blanks between them.
const (
	least       = 2
	leastJoined = 4
)

// extract returns the features of a sentence, or nil if it is too short.
func (x *extractor) extract(b []byte) []feature {
	x.features = x.features[:0]
	x.work += len(b) / 2
	tokens := x.cut(b)
	if !speaks(b, tokens) {
		return nil
	}
	var has [maxClasses]int16 // number of the token + 1
	x.classed = x.classed[:0]
	for i := range tokens {
		for _, c := range tokens[i].classes {
			if has[c] == 0 {
				has[c] = int16(i) + 1
			}
		}
		if len(tokens[i].classes) > 0 && !x.lex.holds(tokens[i].classes[0]) {
			x.classed = append(x.classed, i)
		}
	}
	x.count, x.sum = 0, [kinds]int32{}
	x.bagged(&has)
	x.ordered(tokens)
	x.surface(b, tokens)
	x.signs(b, tokens)
	for _, f := range x.features {
		x.seen[f.hash.bucket()/64] = 0
	}
	x.work += len(x.features) + len(tokens)
	return x.features
}

// speaks says whether a sentence has enough words to be judged: a word among signs
// tells nobody to do anything.
func speaks(b []byte, tokens []token) bool {
	words := 0
	for _, t := range tokens {
		if isWord(b[t.from:t.to]) {
			words++
		}
		if words >= least {
			return true
		}
	}
	joined := 0
	for len(b) > 0 && joined < leastJoined && len(tokens) > 0 {
		r, n := utf8.DecodeRune(b)
		if isJoined(r) {
			joined++
		}
		b = b[n:]
	}
	return joined >= leastJoined
}

// isWord says whether w has two letters, or one of another alphabet than ours.
func isWord(w []byte) bool {
	letters := 0
	for len(w) > 0 {
		r, n := utf8.DecodeRune(w)
		switch {
		case r >= utf8.RuneSelf && unicode.IsLetter(r):
			return true
		case 'a' <= r|0x20 && r|0x20 <= 'z':
			letters++
		}
		w = w[n:]
	}
	return letters >= 2
}

// bagged are the features that know no order.
func (x *extractor) bagged(has *[maxClasses]int16) {
	var list [maxClasses]class
	n := 0
	for c := range has {
		if has[c] > 0 {
			x.add(int(has[c])-1, kindClass, uint64(c), 0)
			list[n] = class(c)
			n++
		}
	}
	for i := range n {
		for j := i + 1; j < n; j++ {
			x.add(int(has[list[i]])-1, kindPair, uint64(list[i]), uint64(list[j]))
		}
	}
}

var formOther = []class{isOther}

// ordered are the features of neighbours and of the beginnings of clauses.
func (x *extractor) ordered(tokens []token) {
	for i := range tokens {
		if tokens[i].classes == nil {
			tokens[i].classes = formOther
		}
	}
	for i := range tokens {
		for _, c := range tokens[i].classes {
			if tokens[i].starts && c != isOther {
				x.add(i, kindStart, uint64(c), 0)
			}
			for d := 1; d <= 2 && i+d < len(tokens); d++ {
				kind := kindNext
				if d == 2 {
					kind = kindSkip
				}
				for _, e := range tokens[i+d].classes {
					x.add(i, kind, uint64(c), uint64(e))
					if tokens[i].starts {
						x.add(i, kindStartPair, uint64(kind)<<8|uint64(c), uint64(e))
					}
				}
			}
		}
	}
	for k, i := range x.classed {
		for _, c := range tokens[i].classes {
			for d := 1; d <= 2 && k+d < len(x.classed); d++ {
				for _, e := range tokens[x.classed[k+d]].classes {
					x.add(i, kindLater, uint64(c), uint64(e))
				}
			}
		}
	}
	if n := len(x.classed); n > 0 {
		for _, c := range tokens[x.classed[n-1]].classes {
			x.add(x.classed[n-1], kindLast, uint64(c), 0)
		}
	}
}

// signs are features of the sentence as a whole.
func (x *extractor) signs(b []byte, tokens []token) {
	sign := func(n uint64) { x.add(-1, kindSign, n, 0) }
	trimmed := bytes.TrimSpace(b)
	switch n := len(tokens); {
	case n <= 3:
		sign(1)
	case n <= 6:
		sign(2)
	case n >= 20:
		sign(3)
	}
	if len(trimmed) > 0 {
		switch trimmed[len(trimmed)-1] {
		case ':':
			sign(5)
		case ',', ';', '{', '(', '[', '=':
			sign(6)
		case ')', '}', ']':
			sign(7)
		}
		switch trimmed[0] {
		case '#', '/', '%':
			sign(8)
		case '-', '*', '+':
			sign(9)
		case '[', '{', '(', '<':
			sign(10)
		case '$':
			sign(11)
		}
	}
	digits, symbols := 0, 0
	for _, c := range trimmed {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '=' || c == '{' || c == '}' || c == '(' || c == ')' || c == ';' || c == '[' || c == ']' || c == '_' || c == '|' || c == '<' || c == '>' || c == '\\':
			symbols++
		}
	}
	if digits*6 > len(trimmed) {
		sign(12)
	}
	if symbols*12 > len(trimmed) {
		sign(13)
	}
	known := len(x.classed)
	switch {
	case known*4 < len(tokens):
		sign(14)
	case known*4 > len(tokens)*3:
		sign(15)
	}
}
