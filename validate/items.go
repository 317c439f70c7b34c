package validate

import (
	"strings"

	"github.com/threegate/tool-exec/validate/document"
)

// item is one statement of a section: a bullet, or a line without one.
type item struct {
	text   string // without bullet
	indent int
	bullet bool
	offset int
}

// items reads a section line by line. A line without bullet below a bullet goes
// on with that bullet's text unless it has a label of its own.
func items(s *document.Section) []item {
	var out []item
	var more []string // what goes on with the last item; joined once, for time's sake
	join := func() {
		if n := len(out); n > 0 && len(more) > 0 {
			out[n-1].text = strings.TrimSpace(strings.Join(append([]string{out[n-1].text}, more...), " "))
		}
		more = nil
	}
	fenced := false
	offset := s.BodyOffset
	for line := range strings.Lines(string(s.Body)) {
		at := offset
		offset += len(line)
		line = strings.TrimRight(line, "\n")
		if fenceLine(line) {
			fenced = !fenced
			continue
		}
		rest := strings.TrimLeft(line, blank)
		if rest == "" {
			continue
		}
		it := item{text: strings.TrimRight(rest, blank), indent: len(line) - len(rest), offset: at + len(line) - len(rest)}
		if text, ok := bulletLine(rest); ok && !fenced {
			it.text, it.bullet = strings.TrimRight(text, blank), true
		} else if n := len(out); n > 0 && (fenced || out[n-1].bullet || it.indent > 0) {
			if _, _, labelled := it.label(); !labelled || fenced {
				more = append(more, it.text)
				continue
			}
		}
		join()
		out = append(out, it)
	}
	join()
	return out
}

const blank = " \t"

// fenceLine says whether a line begins or ends a fence.
func fenceLine(line string) bool {
	line = strings.TrimLeft(line, blank)
	return strings.HasPrefix(line, "~~~") ||
		strings.HasPrefix(line, "```") && !strings.Contains(strings.TrimLeft(line, "`"), "`")
}

// maxOrdinal is how many digits the number of a bullet has at most, as in Markdown.
const maxOrdinal = 9

// bulletLine is what follows the bullet of a line without its indentation.
func bulletLine(line string) (text string, ok bool) {
	n := 0
	for n < len(line) && n <= maxOrdinal && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	marks := "-*+"
	if n > 0 {
		marks = ".)"
	}
	if n > maxOrdinal || n == len(line) || strings.IndexByte(marks, line[n]) < 0 {
		return "", false
	}
	return afterBlanks(line[n+1:])
}

// afterBlanks is what follows at least one blank, or nothing.
func afterBlanks(s string) (rest string, ok bool) {
	rest = strings.TrimLeft(s, blank)
	return rest, s == "" || len(rest) < len(s)
}

// maxLabel is how many bytes a label has at most.
const maxLabel = 61

// label splits "Label: value". It allows for what people put around a label:
// **Label:**, `Label:`.
func (it item) label() (label, value string, ok bool) {
	label, rest, ok := strings.Cut(it.text, ":")
	label = cutFirst(strings.CutPrefix, label, "**", "__", "`")
	label = cutFirst(strings.CutSuffix, label, "**", "__")
	rest = cutFirst(strings.CutPrefix, rest, "**", "__", "`")
	value, apart := afterBlanks(rest)
	if !ok || !apart || label == "" || len(label) > maxLabel || !letter(label[0]) || strings.ContainsFunc(label, noLabel) {
		return "", it.text, false
	}
	return label, value, true
}

// cutFirst cuts the first of some marks that is there.
func cutFirst(cut func(s, mark string) (string, bool), s string, marks ...string) string {
	for _, m := range marks {
		if rest, ok := cut(s, m); ok {
			return rest
		}
	}
	return s
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// noLabel says whether a label never holds a character.
func noLabel(r rune) bool {
	return r >= 0x80 || !letter(byte(r)) && (r < '0' || r > '9') && !strings.ContainsRune(" _()/-", r)
}
