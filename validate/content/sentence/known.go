package sentence

import (
	"bytes"
	"hash/maphash"
	"unicode/utf8"
)

// Programs print the same sentences over and over, with other numbers in them.
// known remembers which were harmless, so that each is judged once a document.
type known struct {
	seed    maphash.Seed
	entries [knownSize]struct {
		of   uint32 // the document
		text []byte
	}
	document uint32
	key      []byte // of the sentence that was asked for last
}

// knownSize is how many sentences are remembered; one takes maxSentence bytes at most.
const knownSize = 1024

// forget begins another document.
func (k *known) forget() {
	if k.document++; k.document == 0 { // after four billion
		*k = known{seed: k.seed, document: 1}
	}
}

// has says whether a sentence that is judged like b was harmless. The place that
// it returns is for remember.
func (k *known) has(b []byte, l *lexicon) (place int, ok bool) {
	k.key = append(k.key[:0], b...)
	l.maskNumbers(k.key)
	place = int(maphash.Bytes(k.seed, k.key) % knownSize)
	e := &k.entries[place]
	return place, e.of == k.document && bytes.Equal(e.text, k.key)
}

// remember notes that what has was asked for last is harmless.
func (k *known) remember(place int) {
	e := &k.entries[place]
	e.of, e.text = k.document, append(e.text[:0], k.key...)
}

// masked stands for a digit that no judgement looks at. Text holds no such byte.
const masked = 0xFF

// maskNumbers masks the digits of chunks that are numbers whatever their digits
// are (see form). The numbers that phrases are made of ("stage 2") stay.
func (l *lexicon) maskNumbers(b []byte) {
	for i := 0; i < len(b); {
		if separator[b[i]] {
			i++
			continue
		}
		from, made, all := i, counts(0), byte(0)
		for ; i < len(b) && !separator[b[i]]; i++ {
			made += each[b[i]].count
			all |= b[i]
		}
		digits, letters := made.of(countDigits), made.of(countLetters)
		if digits == 0 || letters > 2 || letters > 0 && letters >= digits || made.of(countSlashes) > 0 || all >= utf8.RuneSelf || l.numbers[string(alphanumeric(b[from:i]))] {
			continue
		}
		for k := from; k < i; k++ {
			if b[k] >= '0' && b[k] <= '9' {
				b[k] = masked
			}
		}
	}
}

// alphanumeric is w without the signs around it.
func alphanumeric(w []byte) []byte {
	for len(w) > 0 && sign(w[0]) {
		w = w[1:]
	}
	for len(w) > 0 && sign(w[len(w)-1]) {
		w = w[:len(w)-1]
	}
	return w
}

func sign(c byte) bool { return c < utf8.RuneSelf && !lowerByte(c) && (c < '0' || c > '9') }
