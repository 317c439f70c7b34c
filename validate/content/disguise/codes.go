package disguise

import (
	"bytes"
	"strings"
)

// Codes for letters that people know by heart.

var morse = func() map[string]byte {
	m := map[string]byte{}
	for i, s := range strings.Fields(".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --..") {
		m[s] = 'a' + byte(i)
	}
	return m
}()

// spelling are the words for the letters in speech.
var spelling = func() map[string]byte {
	m := map[string]byte{}
	for _, w := range strings.Fields("alfa alpha bravo charlie delta echo foxtrot golf hotel india juliett juliet kilo lima mike november oscar papa quebec romeo sierra tango uniform victor whiskey xray yankee zulu") {
		m[w] = w[0]
	}
	return m
}()

// The least letters of a text in code.
const leastCoded = 10

// signal reads a line in Morse code or in numbers of letters.
func (r *reader) signal(x Reading, line []byte) {
	if len(line) < 2*leastCoded {
		return
	}
	dots, digits := 0, 0
	for _, c := range line {
		switch {
		case c == '.' || c == '-' || c == '_':
			dots++
		case c >= '0' && c <= '9':
			digits++
		case c != ' ' && c != '/' && c != '|' && c != '\t' && c != ',':
			return
		}
	}
	switch {
	case digits == 0 && dots > 0:
		r.coded(x, line, "in Morse code", " \t", "/|", func(t []byte) byte {
			return morse[strings.ReplaceAll(string(t), "_", "-")]
		})
	case digits > dots:
		r.coded(x, line, "in numbers of letters", "-.,_", " /|\t", letterOf)
	}
}

// letterOf returns the letter whose place in the alphabet t tells, or 0.
func letterOf(t []byte) byte {
	n := 0
	for _, c := range t {
		n = min(10*n+int(c-'0'), 100)
	}
	if n < 1 || n > 26 || t[0] == '0' {
		return 0
	}
	return 'a' + byte(n-1)
}

// spoken reads a line in the words for letters.
func (r *reader) spoken(x Reading, line []byte) {
	r.coded(x, lowered(&r.plainWord, line), "in words for letters", " \t-", "/|,.;", func(t []byte) byte { return spelling[string(t)] })
}

// coded reads what stands for one letter each, with some signs between letters and
// others between words. Where no such word comes of it, words are looked for.
func (r *reader) coded(x Reading, line []byte, how, letters, words string, letter func([]byte) byte) {
	out, n, failed := r.out[:0], 0, 0
	flat := r.word[:0]
	for word := range bytes.FieldsFuncSeq(line, func(c rune) bool { return strings.ContainsRune(words, c) }) {
		for t := range bytes.FieldsFuncSeq(word, func(c rune) bool { return strings.ContainsRune(letters, c) }) {
			l := letter(t)
			if l == 0 {
				if failed++; failed > n/8+1 {
					return
				}
				continue
			}
			n++
			out, flat = append(out, l), append(flat, l)
		}
		out = append(out, ' ')
	}
	r.out, r.word = out, flat
	if n < leastCoded {
		return
	}
	if !r.sensible(out) {
		if out = r.together(flat); out == nil {
			return
		}
	}
	x.How, x.Text, x.Sure = how, out, true
	r.emit(x)
}
