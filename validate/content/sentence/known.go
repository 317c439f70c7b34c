package sentence

import (
	"bytes"
	"hash/maphash"
	"unicode/utf8"
)

// Programs print the same sentences over and over, with other numbers in them, and
// every result has those that the node writes. known remembers which were harmless, so
// that each is judged once. What judging it took counts once in each document that has
// it: so a bound of work never depends on the documents before.
type known struct {
	seed     maphash.Seed
	entries  [knownSize]memory
	document uint32 // the one at hand, from 1 on
	since    uint32 // the first one that counts
	key      []byte // of the sentence that was asked for last
}

type memory struct {
	of   uint32 // the document that had it last
	work int    // what judging it took
	text []byte
}

// knownSize is how many sentences are remembered; one takes maxSentence bytes at most.
const knownSize = 1024

// next begins another document.
func (k *known) next() {
	if k.document++; k.document == 0 { // after four billion
		*k = known{seed: k.seed, document: 1, since: 1}
	}
}

// forget begins a document as if there had been none before.
func (k *known) forget() {
	k.next()
	k.since = k.document
}

// has says whether a sentence that is judged like b was harmless, and how much work of
// this document that is. The place that it returns is for remember.
func (k *known) has(b []byte, l *lexicon) (place, work int, ok bool) {
	k.key = append(k.key[:0], b...)
	l.maskNumbers(k.key)
	place = int(maphash.Bytes(k.seed, k.key) % knownSize)
	e := &k.entries[place]
	if e.of == 0 || e.of < k.since || !bytes.Equal(e.text, k.key) {
		return place, 0, false
	}
	if e.of != k.document {
		e.of, work = k.document, e.work
	}
	return place, work, true
}

// remember notes that what has was asked for last is harmless, and took so much work.
func (k *known) remember(place, work int) {
	e := &k.entries[place]
	e.of, e.work, e.text = k.document, work, append(e.text[:0], k.key...)
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
