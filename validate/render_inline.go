package validate

import (
	"regexp"
	"strings"

	"github.com/threegate/tool-exec/validate/text"
)

// active are the characters that make Markdown or HTML do something.
const active = "`*_[]<>~\\&|"

// starter matches what makes a block at the start of a list item's text.
var starter = regexp.MustCompile(`^(?:[-+#=]|\d{1,9}[.)]|` + "```" + `|~~~)`)

// inline writes s, any bytes, as part of one line of Markdown: as it is where
// nothing in it could act, otherwise as a code span. parseInline is its inverse.
func inline(s string) string {
	v := text.VisibleLine(s)
	if v == "" || !strings.ContainsAny(v, active) && !strings.Contains(v, "://") && !strings.Contains(v, "www.") && !starter.MatchString(v) {
		return v
	}
	return codeSpan(s)
}

// codeSpan writes s, any bytes, as a code span on one line.
func codeSpan(s string) string {
	v := text.VisibleLine(s)
	if v == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(v, '`')+1)
	if v[0] == '`' || v[len(v)-1] == '`' {
		v = " " + v + " "
	}
	return ticks + v + ticks
}

// parseInline reads what inline or codeSpan wrote, or a plain text of someone
// else's.
func parseInline(s string) (string, error) {
	v := strings.Trim(s, " \t") // not TrimSpace: wider spaces belong to the value
	if in, ok := cutSpan(v); ok {
		v = in
	}
	return text.RawLine(v)
}

// cutSpan returns the content of v if all of v is one code span.
func cutSpan(v string) (string, bool) {
	n := 0
	for n < len(v) && v[n] == '`' {
		n++
	}
	if n == 0 || len(v) < 2*n+1 || v[len(v)-n:] != v[:n] || v[len(v)-n-1] == '`' {
		return "", false
	}
	in := v[n : len(v)-n]
	for i := 0; i < len(in); i++ { // a run of the same length would end the span early
		if in[i] != '`' {
			continue
		}
		j := i
		for j < len(in) && in[j] == '`' {
			j++
		}
		if j-i == n {
			return "", false
		}
		i = j - 1
	}
	if len(in) > 2 && in[0] == ' ' && in[len(in)-1] == ' ' && strings.TrimSpace(in) != "" {
		in = in[1 : len(in)-1]
	}
	return in, true
}
