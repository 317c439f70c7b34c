package encoded

import (
	"bytes"
	"html"
	"iter"
)

// Text with entities of HTML in it.

// entityMarks are the beginnings of entities for characters that need none, but for
// numbers of letters: names of what is invisible or nothing but a blank.
var entityMarks = []string{"&#", "&zwnj", "&zwj", "&shy", "&NoBreak", "&ThinSpace", "&ZeroWidth", "&Tab", "&NewLine", "&InvisibleTimes", "&period", "&lowbar", "&hairsp", "&Hacek"}

// findEntities reads lines that hold entities among other text.
func findEntities(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for from, end := range markedLines(b, minEscapes, '&') {
			line := b[from:end]
			n := 0
			for _, m := range entityMarks {
				if n += bytes.Count(line, []byte(m)); n >= minEscapes {
					break
				}
			}
			if n >= minEscapes && !yield(stretch{from, end, Entity, []byte(html.UnescapeString(string(line)))}) {
				return
			}
		}
	}
}
