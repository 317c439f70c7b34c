package encoded

import (
	"iter"
	"regexp"
)

// Text in which a few letters are written as escapes.

// minLetters is how many of them make a line worth decoding: nobody needs one.
const minLetters = 2

// letterMarks are the beginnings of escapes for letters, which need none.
var letterMarks = []string{`\u004`, `\u005`, `\u006`, `\u007`, `\x4`, `\x5`, `\x6`, `\x7`}

var letterEscape = regexp.MustCompile(`\\(?:u00|x)(?:[46][1-9A-Fa-f]|[57][0-9Aa])`)

// findLetters reads lines that hold escapes for letters among other text.
func findLetters(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for from, end := range markedLines(b, minLetters, '\\') {
			n := 0
			text := letterEscape.ReplaceAllFunc(b[from:end], func(e []byte) []byte {
				n++
				return []byte{unhex(e[len(e)-2])<<4 | unhex(e[len(e)-1])}
			})
			if n >= minLetters && !yield(stretch{from, end, Escape, text}) {
				return
			}
		}
	}
}
