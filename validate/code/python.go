package code

import "strings"

// pythonPrefix are the letters that may stand before a string of Python.
var pythonPrefix = func() (t [256]bool) {
	for _, c := range []byte("rRbBuUfFtT") {
		t[c] = true
	}
	return t
}()

// python reads a Python string with its prefix.
func (l *lexer) python() bool {
	start := l.pos
	i := 0
	for i < 3 && pythonPrefix[l.peek(i)] {
		i++
	}
	q := l.peek(i)
	if q != '"' && q != '\'' || i > 0 && l.pos > 0 && isNamePart(l.src[l.pos-1]) {
		return false
	}
	prefix := strings.ToLower(l.src[l.pos : l.pos+i])
	l.pos += i
	end := l.src[l.pos : l.pos+1]
	if rest := l.src[l.pos:]; len(rest) >= 3 && rest[1] == q && rest[2] == q {
		end = rest[:3]
	}
	l.pos += len(end)
	open := ""
	if strings.ContainsAny(prefix, "ft") {
		open = "{"
	}
	l.body(String, start, end, 0, open, strings.Contains(prefix, "r"))
	return true
}
