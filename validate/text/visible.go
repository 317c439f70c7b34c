package text

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Visible spells every hidden character of s as its code in brackets: U+001B
// becomes ⟦1B⟧, U+202E ⟦202E⟧, an undecodable byte 0xFF ⟦xFF⟧ and the opening
// bracket itself ⟦27E6⟧. Newline, tab and everything else stay as they are, so
// ordinary text is unchanged. The result is valid UTF-8, has the same lines as s
// and is the only text that Raw turns into s.
func Visible(s string) string { return respell(s, false) }

// VisibleLine is Visible for text that must stay on one line: newlines, tabs
// and blanks at either end are spelled visibly too, so that trimming the result
// changes nothing.
func VisibleLine(s string) string { return respell(s, true) }

func respell(s string, line bool) string {
	var b strings.Builder
	b.Grow(len(s))
	prev := rune(0)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		piece := spell(prev, r, s[i:i+n])
		if r == '⟦' || line && (r == '\n' || r == '\t' || r == ' ' && (i == 0 || i == len(s)-1)) {
			piece = code("", r)
		}
		b.WriteString(piece)
		if prev = r; len(piece) != n {
			prev = 0 // what follows stands behind a bracket now
		}
		i += n
	}
	return b.String()
}

// spell returns src, which is r behind prev, or its code if it is hidden.
func spell(prev, r rune, src string) string {
	if r == utf8.RuneError && len(src) == 1 {
		return code("x", rune(src[0]))
	}
	if _, hid := hiddenAfter(prev, r); hid {
		return code("", r)
	}
	return src
}

func code(mark string, r rune) string { return fmt.Sprintf("⟦%s%02X⟧", mark, r) }

var errSpelling = errors.New("hidden characters, and only they, are written as ⟦CODE⟧ with capital hex digits, " +
	"⟦ itself as ⟦27E6⟧")

// Raw is the inverse of Visible. It fails on any text that is not the one spelling that
// Visible gives.
func Raw(v string) (string, error) { return unspell(v, Visible) }

// RawLine is the inverse of VisibleLine, with the same errors as Raw.
func RawLine(v string) (string, error) { return unspell(v, VisibleLine) }

func unspell(v string, spell func(string) string) (string, error) {
	raw := string(Loose([]byte(v)).Text)
	if spell(raw) != v {
		return "", errSpelling
	}
	return raw, nil
}

var codes = regexp.MustCompile(`⟦(x[0-9A-Fa-f]{1,2}|[0-9A-Fa-f]{1,6})⟧`)

// Loose replaces every well-formed ⟦CODE⟧ of v by what it stands for, whether or
// not Visible would have written it, and leaves the rest alone. It is for
// looking at text, not for reading it back.
func Loose(v []byte) *Mapped {
	m := &Mapped{Text: make([]byte, 0, len(v))}
	at := 0
	for _, c := range codes.FindAllSubmatchIndex(v, -1) {
		m.Add(v[at:c[0]], at)
		m.mark(c[0])
		digits, isByte := strings.CutPrefix(string(v[c[2]:c[3]]), "x")
		n, _ := strconv.ParseUint(digits, 16, 32)
		if isByte {
			m.Text = append(m.Text, byte(n))
		} else {
			m.Text = utf8.AppendRune(m.Text, rune(n))
		}
		at = c[1]
	}
	m.Add(v[at:], at)
	return m
}
