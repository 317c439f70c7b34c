package content

import (
	"bytes"
	"regexp"
)

// wordKind is what a word is besides the letters that it is made of.
type wordKind uint16

// The kinds of words, as bits.
const (
	isAddress wordKind = 1 << iota // with a scheme, of mail, or a name of a host
	isFile                         // a path, or a name with a suffix
	isOption                       // -x
	isCode                         // the first word of a code span
	isQuoted                       // the first word of a quotation
	opens                          // nothing, or punctuation, stands before it
	closes                         // nothing, or punctuation, stands behind it
	isLink                         // the target of a link
	isTag                          // the first word of a tag
)

// word is a word of a sentence.
type word struct {
	span
	kind wordKind
}

// wordsOf appends the words of the sentence s of b to out.
func wordsOf(out []word, b []byte, s span) []word {
	kind, code := opens, false
	for i := s.from; i < s.to; {
		switch c := b[i]; {
		case begins(b, i, s.to):
			end, k := wordEnd(b, i, s.to)
			if k&isAddress != 0 && linked(b[s.from:i]) {
				k = isLink
			}
			if i > s.from && b[i-1] == '<' {
				k |= isTag
			}
			out = append(out, word{span{i, end}, kind | k})
			kind, i = 0, end
		case c == '-' && (i == s.from || b[i-1] <= ' ') && option(b[i:s.to]) > 0:
			end := i + option(b[i:s.to])
			out = append(out, word{span{i, end}, kind | isOption})
			kind, i = 0, end
		case c <= ' ':
			i++
		default:
			if n := len(out); n > 0 && out[n-1].to <= i && c != '`' && c != '*' && c != '_' {
				out[n-1].kind |= closes
			}
			kind |= mark(c)
			if c == '`' {
				if code = !code; code && command(b[i+1:s.to]) {
					kind |= isCode
				}
			}
			if c == '[' { // a terminal's sequence, whose first character text.Fold takes out
				i += max(1, len(sequence.Find(b[i:min(s.to, i+16)]))) - 1
			}
			i++
		}
	}
	if n := len(out); n > 0 {
		out[n-1].kind |= closes
	}
	return out
}

// begins says whether a word begins at i.
func begins(b []byte, i, to int) bool {
	c := b[i]
	return letterByte(c) || (c == '/' || c == '~' || c == '.') && i+1 < to && (letterByte(b[i+1]) || b[i+1] == '/')
}

// option is the length of the option that b begins with, or 0.
func option(b []byte) int {
	n := 1
	for n < len(b) && (letterByte(b[n]) || b[n] == '-') {
		n++
	}
	if n < 2 || b[n-1] == '-' {
		return 0
	}
	return n
}

// mark is what punctuation makes of the word behind it.
func mark(c byte) wordKind {
	switch c {
	case '/', '=', '%', '&', '+', '`':
		return 0
	case '"', '\'':
		return isQuoted | opens
	}
	return opens
}

// linked says whether what stands behind b is the target of a link.
func linked(b []byte) bool {
	b = bytes.TrimRight(b, "<\"' ")
	for _, mark := range []string{"](", "]:", "href=", "src=", "](mailto:", "href=\"mailto:"} {
		if bytes.HasSuffix(b, []byte(mark)) {
			return true
		}
	}
	return false
}

// command says whether the code span that begins with b could be a command with an
// argument. Some write `so' for what is no command.
func command(b []byte) bool {
	n := bytes.IndexByte(b, '`')
	blank := bytes.IndexByte(b, ' ')
	return blank > 0 && n > blank && b[blank-1] != '\'' && bytes.IndexByte(b[:n], '\n') < 0
}

var sequence = regexp.MustCompile(`^\[[0-9;]{0,12}m`)

// wordEnd returns the end of the word that begins at i, and its kind.
func wordEnd(b []byte, i, to int) (end int, k wordKind) {
	for end = i; end < to; end++ {
		more := end+1 < to
		switch c := b[end]; {
		case letterByte(c):
		case (c == '\'' || c == '-') && end > i && more && letterByte(b[end+1]) && letterByte(b[end-1]):
		case c == '.' && more && (letterByte(b[end+1]) || b[end+1] == '/' || b[end+1] == '.'), c == '/', c == '~':
			k |= isFile
		case c == '@' && end > i && more && letterByte(b[end+1]):
			k |= isAddress
		case bytes.HasPrefix(b[end:to], []byte("://")):
			return addressEnd(b, end+3, to), isAddress
		default:
			return end, k
		}
	}
	return end, k
}

// addressEnd is where the address ends whose scheme ends at i.
func addressEnd(b []byte, i, to int) int {
	for i < to && b[i] > ' ' && bytes.IndexByte([]byte("<>\"'`)|]}"), b[i]) < 0 {
		i++
	}
	for b[i-1] == '.' || b[i-1] == ',' {
		i--
	}
	return i
}
