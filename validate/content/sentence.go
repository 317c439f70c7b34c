package content

import (
	"bytes"
	"unicode/utf8"
)

// span is a stretch of a text.
type span struct{ from, to int }

// The bounds of a sentence. A longer one is judged in parts that sentenceOverlap.
const (
	maxSentence     = 400
	sentenceOverlap = 120
)

// sentencesOf yields the sentences of folded text. small says whether the character at an
// offset is a small letter in the text as it was written: a line that goes on in the
// next one does so in small letters.
func sentencesOf(folded []byte, small func(int) bool) func(yield func(span) bool) {
	return func(yield func(span) bool) {
		next := 0
		for at := 0; at < len(folded); {
			next = max(next, at) // no part is searched twice for an end
			for most := min(len(folded), at+maxSentence); next < most && !ends(folded, next, small); {
				next++
			}
			if next > at && !yield(span{at, next}) {
				return
			}
			if next-at == maxSentence && next < len(folded) {
				at = next - sentenceOverlap
				for at < next && folded[at] != ' ' {
					at++
				}
				continue
			}
			for at = next + 1; at < len(folded) && !utf8.RuneStart(folded[at]); at++ { // of the full stop
			}
		}
	}
}

func letterByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c >= utf8.RuneSelf
}

// ends says whether a sentence ends at i.
func ends(b []byte, i int, small func(int) bool) bool {
	switch b[i] {
	case '!', '?':
		return i+1 == len(b) || !letterByte(b[i+1])
	case '.':
		if i+1 < len(b) {
			switch b[i+1] {
			case ' ', '\n', '"', '\'', ')', '<', '|', '*', '`':
			default:
				return false
			}
		}
		return !abbreviated(b, i)
	case '\n':
		return !goesOn(b, i, small)
	case 0xE3: // the ideographic full stop
		return i+2 < len(b) && b[i+1] == 0x80 && b[i+2] == 0x82
	}
	return false
}

// abbreviated says whether the full stop at i belongs to a number of a list or to
// a short form, and ends no sentence.
func abbreviated(b []byte, i int) bool {
	if i >= 1 && b[i-1] >= '0' && b[i-1] <= '9' && (i == 1 || b[i-2] == ' ' || b[i-2] == '\n') {
		return true
	}
	return i >= 3 && (string(b[i-3:i]) == "e.g" || string(b[i-3:i]) == "i.e")
}

// goesOn says whether the sentence goes on behind the line end at i.
func goesOn(b []byte, i int, small func(int) bool) bool {
	j := i + 1
	for j < len(b) && b[j] == ' ' {
		j++
	}
	if i == 0 || j >= len(b) || !letterByte(b[i-1]) && b[i-1] != ',' && b[i-1] != ' ' {
		return false
	}
	line := b[bytes.LastIndexByte(b[:i], '\n')+1:]
	mark := bytes.HasPrefix(line, []byte("=== ")) || bytes.HasPrefix(line, []byte("--- ")) // of a test's log
	return !mark && (b[j] == '`' || small(j))
}
