package sentence

import (
	_ "embed"
	mathbits "math/bits"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/threegate/tool-exec/validate/text"
)

//go:embed lexicon.txt
var lexiconText string

// class is what a word does in a sentence: the number of a line of the lexicon,
// or one of the kinds of token that no list can hold.
type class uint8

// The kinds of token that are told by their form.
const (
	noClass class = iota
	isURL
	isHost
	isEmail
	isPath
	isProgramFile
	isFile
	isNumber
	isFlag
	isRuleID
	isCode
	isColon
	isOther     // a word that no list holds
	firstListed // of the lexicon
)

const maxClasses = 96

// maxPhrase is how many words a phrase of the lexicon may have.
const maxPhrase = 5

// lexicon gives words and phrases their classes.
type lexicon struct {
	names []string // by class
	// grammar is the first class of words that only hold a sentence together; foreign
	// is the first behind them.
	grammar, foreign class
	sought           [maxClasses]bool
	exact            map[string][]class
	prefix           map[string][]class
	// phrase holds those of several words; opens the words with which they begin,
	// pairs the first two.
	phrase       map[string][]class
	opens, pairs map[string]bool
	// parts are the words of scripts without blanks between words.
	parts    map[string][]class
	partsLen int // of the longest, in bytes
	sift     *sift
	// numbers are the words of phrases that hold a digit, without signs around them.
	numbers map[string]bool
	// stems are the first bytes of the words with a star, and how long these are:
	// a bit for each length. stemBits holds their hashes.
	stems    map[[minPrefix]byte]uint32
	stemBits bits
	// entries is a hash table of the words of exact and opens and of openers.
	entries []entry
}

var words = sync.OnceValue(func() *lexicon { return readLexicon(lexiconText) })

func readLexicon(src string) *lexicon {
	l := &lexicon{names: make([]string, firstListed), exact: map[string][]class{}, prefix: map[string][]class{}, phrase: map[string][]class{}, opens: map[string]bool{}, pairs: map[string]bool{}, parts: map[string][]class{}, numbers: map[string]bool{}, stems: map[[minPrefix]byte]uint32{}}
	for line := range strings.Lines(src) {
		name, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		c := class(len(l.names))
		name, l.sought[c] = strings.CutPrefix(name, "+")
		switch {
		case name == "det":
			l.grammar = c
		case name[0] == 'x' && l.foreign == 0:
			l.foreign = c
		}
		l.names = append(l.names, name)
		for _, w := range strings.Split(list, ",") {
			l.add(strings.TrimSpace(w), c, name[0] == 'x')
		}
	}
	for w := range l.prefix {
		if len(w) >= minPrefix && len(w) <= maxPrefix {
			at := [minPrefix]byte([]byte(w))
			l.stems[at] |= 1 << len(w)
			l.stemBits.add(stemHash(at))
		}
	}
	l.table()
	l.sift = l.sifted()
	return l
}

// add enters one word. A word of another language that is an English one too
// keeps its English meaning. Some capitals look like Latin letters although the
// small ones do not: such words are entered as they read in either.
func (l *lexicon) add(w string, c class, foreign bool) {
	w, open := strings.CutSuffix(w, "*")
	w = strings.TrimSpace(w)
	if w == "" {
		return
	}
	first, n := utf8.DecodeRuneInString(w)
	for _, form := range []string{w, string(unicode.ToUpper(first)) + w[n:], strings.ToUpper(w)} {
		l.enter(string(text.Fold([]byte(form)).Text), c, open, foreign)
		if first < utf8.RuneSelf {
			break
		}
	}
}

func (l *lexicon) enter(w string, c class, open, foreign bool) {
	m := l.exact
	switch {
	case joinedScript(w):
		m = l.parts
		l.partsLen = max(l.partsLen, len(w))
	case strings.Contains(w, " "):
		m = l.phrase
		list := strings.SplitN(w, " ", 3)
		l.opens[list[0]] = true
		l.pairs[list[0]+" "+list[1]] = true
		for _, part := range strings.Fields(w) {
			if strings.ContainsAny(part, "0123456789") {
				l.numbers[string(alphanumeric([]byte(part)))] = true
			}
		}
	case open:
		m = l.prefix
	}
	for _, have := range m[w] {
		if have == c || foreign && l.names[have][0] != 'x' {
			return
		}
	}
	m[w] = append(m[w], c)
}

// joinedScript says whether w is of a script that sets no blanks between words,
// or sticks so much to words that parts must be looked for.
func joinedScript(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return isJoined(r)
}

func isJoined(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// minPrefix is how long the part of a word in front of a star is at least.
const minPrefix = 3

// maxPrefix is how long it is at most.
const maxPrefix = 24

// lookup returns the classes of a word.
func (l *lexicon) lookup(w []byte) []class { return l.classesOf(w, l.find(w, hashBytes(w))) }

// classesOf returns the classes of a word whose entry, if it has one, is e.
func (l *lexicon) classesOf(w []byte, e *entry) []class {
	if e != nil && e.classes != nil {
		return e.classes
	}
	if len(w) < minPrefix {
		return nil
	}
	at := [minPrefix]byte(w)
	if !l.stemBits.has(stemHash(at)) {
		return nil
	}
	for lengths := l.stems[at] & (2<<min(len(w), maxPrefix) - 1); lengths != 0; {
		n := mathbits.Len32(lengths) - 1
		if n == len(w) || utf8.RuneStart(w[n]) {
			if cs, ok := l.prefix[string(w[:n])]; ok {
				return cs
			}
		}
		lengths &^= 1 << n
	}
	return nil
}

func stemHash(b [minPrefix]byte) uint32 {
	return (uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])) * 0x9E3779B1
}

// entry is what is known of a word as it stands.
type entry struct {
	word    string
	hash    uint64
	classes []class
	// opener says that an order may begin behind it, opens that a phrase begins with it.
	opener, opens bool
}

// table makes the entries.
func (l *lexicon) table() {
	all := map[string]*entry{}
	get := func(w string) *entry {
		if all[w] == nil {
			all[w] = &entry{word: w, hash: hashBytes([]byte(w))}
		}
		return all[w]
	}
	for w, cs := range l.exact {
		get(w).classes = cs
	}
	for w := range openers {
		get(w).opener = true
	}
	for w := range l.opens {
		get(w).opens = true
	}
	l.entries = make([]entry, 1<<mathbits.Len(uint(4*len(all))))
	for _, e := range all {
		at := e.hash
		for l.entries[l.slot(at)].word != "" {
			at++
		}
		l.entries[l.slot(at)] = *e
	}
}

func (l *lexicon) slot(hash uint64) uint64 { return hash & uint64(len(l.entries)-1) }

// find returns the entry of a word, or nil; hash is that of its bytes.
func (l *lexicon) find(w []byte, hash uint64) *entry {
	for at := hash; ; at++ {
		e := &l.entries[l.slot(at)]
		switch {
		case e.word == "":
			return nil
		case e.hash == hash && e.word == string(w):
			return e
		}
	}
}

// holds says whether words of class c only hold a sentence together.
func (l *lexicon) holds(c class) bool { return c >= l.grammar && c < l.foreign }
