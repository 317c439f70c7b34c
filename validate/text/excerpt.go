package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxExcerpt is the length in bytes that callers use for excerpts unless they
// have a reason for another one.
const MaxExcerpt = 160

const ellipsis = "…"

// Excerpt returns at most about most bytes of line around column col (in bytes,
// from 1), with hidden characters spelled as by Visible and "…" where something
// was cut away. Only the first line of line counts. Unlike Visible it
// leaves ⟦ alone, so that a line that is spelled visibly already reads the same.
func Excerpt(line string, col, most int) string {
	line, _, _ = strings.Cut(line, "\n")
	line = strings.TrimSuffix(line, "\r")
	from := max(0, min(col-1-most/4, len(line)-most))
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString(ellipsis)
	}
	prev := rune(0)
	for i := from; i < len(line); {
		r, n := utf8.DecodeRuneInString(line[i:])
		piece := spell(prev, r, line[i:i+n])
		if b.Len()+len(piece) > most {
			b.WriteString(ellipsis)
			break
		}
		b.WriteString(piece)
		prev = r
		i += n
	}
	return b.String()
}

// maxMaskPrefix is how many characters of a secret's public prefix are shown.
const maxMaskPrefix = 4

// Mask describes secret without repeating it: the first four characters at most
// of prefix, if secret begins with it, and its length. prefix is the part that
// all secrets of a kind share ("ghp_", "AKIA"); pass "" if there is none.
func Mask(secret, prefix string) string {
	show := ""
	if strings.HasPrefix(secret, prefix) && len(secret) >= 4*maxMaskPrefix {
		show = prefix[:min(len(prefix), maxMaskPrefix)]
	}
	return fmt.Sprintf("[%s%s masked, %d characters]", show, ellipsis, utf8.RuneCountInString(secret))
}
