package sentence

import (
	"bytes"
	"unicode/utf8"
)

// leet maps digits and signs to the letter that they are drawn for.
var leet = [256]byte{'0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '8': 'b', '9': 'g', '@': 'a', '$': 's', '+': 't'}

// maxLeet is the length of the longest word that is taken for one in disguise.
const maxLeet = 20

// leetKinds is what a byte is in a word in disguise: a letter, a digit that is drawn
// for one, or what only addresses hold. They are counted in ten bits each.
var leetKinds = func() (t [256]uint32) {
	for c := range t {
		switch b := byte(c); {
		case lowerByte(b):
			t[c] = 1
		case leet[b] != 0:
			t[c] = 1 << 10
		case b != '.' && b != ':' && b != '-' && b != '\'':
			t[c] = 1 << 20
		}
	}
	return t
}()

// unleet replaces digits that stand for letters ("3x3cu73"), or returns nil if
// no word of the lexicon comes of it. The result is good until the next call.
func (x *extractor) unleet(b []byte) []byte {
	known, out := false, x.plain[:0]
	for i := 0; i < len(b); {
		if separator[b[i]] {
			i++
			continue
		}
		j, made := i, uint32(0)
		for ; j < len(b) && !separator[b[j]]; j++ {
			made += leetKinds[b[j]]
		}
		letters, digits, other := made&0x3FF, made>>10&0x3FF, made>>20
		for j > i && (b[j-1] == '.' || b[j-1] == ':') {
			j--
		}
		if digits > 0 && other == 0 && j-i <= maxLeet && (letters > 0 || digits <= 3) {
			if len(out) == 0 {
				out = append(out, b...)
			}
			w := out[i:j]
			for k := range w {
				if l := leet[w[k]]; l != 0 {
					w[k] = l
				}
			}
			if letters > 0 || digits > 1 {
				known = x.knownLeet(w, b[i:j]) || known
			}
		}
		i = max(j, i+1)
	}
	x.plain = out
	if !known {
		return nil
	}
	return out
}

// knownLeet says whether w is a word of the lexicon, if need be with an l for a 1.
func (x *extractor) knownLeet(w, was []byte) bool {
	if len(w) < 3 {
		return false
	}
	if x.lex.lookup(w) != nil {
		return true
	}
	if k := bytes.IndexByte(was, '1'); k >= 0 {
		for ; k < len(was); k++ {
			if was[k] == '1' {
				w[k] = 'l'
				if x.lex.lookup(w) != nil {
					return true
				}
				w[k] = 'i'
			}
		}
	}
	return false
}

// The least that is taken for words whose letters are set apart: letters in
// one run, and letters in all runs of the sentence.
const (
	minRun   = 2
	minApart = 5
)

// unspace joins letters that are set apart ("r u n"), or returns nil if there
// are none. The result is good until the next call.
func (x *extractor) unspace(b []byte) []byte {
	out := x.plain[:0]
	total := 0
	for i := 0; i < len(b); {
		end, n := apart(b, i)
		if n < minRun {
			_, size := utf8.DecodeRune(b[i:])
			if k := len(out); b[i] != ' ' || k == 0 || out[k-1] != ' ' {
				out = append(out, b[i:i+size]...)
			}
			i += size
			continue
		}
		total += n
		for k := i; k < end; {
			_, size := utf8.DecodeRune(b[k:])
			out = append(out, b[k:k+size]...)
			k += size + 1
		}
		i = end
	}
	x.plain = out
	if total < minApart {
		return nil
	}
	return out
}

// between are the bytes that may stand between letters that are set apart.
var between = byteSet(" .-_*")

// apart returns where the run of single letters at i ends, and how many they are.
func apart(b []byte, i int) (end, n int) {
	if i > 0 && letterByte(b[i-1]) {
		return i, 0
	}
	for k := i; k < len(b) && letterByte(b[k]); {
		_, size := utf8.DecodeRune(b[k:])
		if k+size < len(b) && letterByte(b[k+size]) {
			break
		}
		n++
		end = k + size
		if end >= len(b) || !between[b[end]] {
			break
		}
		k = end + 1
	}
	return end, n
}

func letterByte(c byte) bool { return c >= 'a' && c <= 'z' || c >= utf8.RuneSelf }
