package reach

import (
	"regexp"
	"strings"
)

// patternSet holds the regular expressions of a file by name.
type patternSet map[string][]string

// readPatterns reads a file: a line is a name and an expression, and lines of one name are
// alternatives. "#" begins a comment.
func readPatterns(text string) patternSet {
	out := patternSet{}
	for line := range strings.Lines(text) {
		name, expression, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if ok && name != "#" {
			out[name] = append(out[name], expression)
		}
	}
	return out
}

// compile returns the expression of a name, in which capitals and small letters are
// the same. It panics if there is none: the file belongs to the program.
func (s patternSet) compile(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + s.join(name))
}

// compileWithin is compile, with the alternatives as a group behind begin, and each word
// of them that replace names replaced.
func (s patternSet) compileWithin(name, begin string, replace *strings.Replacer) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + begin + `(` + replace.Replace(s.join(name)) + `)`)
}

func (s patternSet) join(name string) string {
	if len(s[name]) == 0 {
		panic("no expression has the name " + name)
	}
	return strings.Join(s[name], "|")
}
