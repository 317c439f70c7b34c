package term

import (
	"strconv"
	"strings"
)

// Wrap breaks text at spaces so that no line is longer than columns; line feeds stay.
func Wrap(text string, columns int) string {
	lines := strings.Split(strings.TrimRight(Block(text), "\n"), "\n")
	for i, l := range lines {
		lines[i] = Hang(strings.Join(strings.Fields(l), " "), 0, 0, min(columns, 88))
	}
	return strings.Join(lines, "\n")
}

// Hang breaks a visible text at spaces so that none of its rows is wider than columns, where it has
// spaces. Its first row begins at column first, each further one behind indent blanks. Without columns
// it stays as it is.
func Hang(text string, first, indent, columns int) string {
	if columns <= 0 {
		return text
	}
	var b strings.Builder
	at := first
	for i, word := range strings.Split(text, " ") {
		w := Width(word)
		switch {
		case i == 0:
		case at+1+w > columns && at > indent:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += w
	}
	return b.String()
}

// Indent puts by before every line that is not empty.
func Indent(text, by string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = by + l
		}
	}
	return strings.Join(lines, "\n")
}

// Plural is a number with its noun.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
