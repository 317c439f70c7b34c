package code

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// chosen matches an operator of Perl or Ruby whose operand has a delimiter of the writer's choice.
var chosen = map[Language]*regexp.Regexp{
	Perl: regexp.MustCompile(`^(q[qwxr]?|m|s|tr|y)[ \n]*([^\w\s,;=)>]|=[^>=~ ])`),
	Ruby: regexp.MustCompile(`^%([qQwWiIxrs]?)([^\w\s=])`),
}

var closers = map[byte]byte{'(': ')', '[': ']', '{': '}', '<': '>'}

// chosen reads such an operator with its operand: q(..), qw{..}, s/../../, %w[..].
func (l *lexer) chosen() bool {
	op, length := l.operator()
	if length == 0 {
		return false
	}
	kind, twice := String, false
	switch {
	case strings.HasSuffix(op, "x"):
		kind = Shell
	case l.lang == Perl && (op == "s" || op == "tr" || op == "y"):
		kind, twice = Regex, true
	case strings.HasSuffix(op, "r"), op == "m":
		kind = Regex
	}
	start := l.pos
	l.pos += length
	if opener := l.operand(kind, start); twice {
		if closers[opener] == 0 {
			l.pos-- // the delimiter between both parts
		}
		for closers[opener] != 0 && (l.peek(0) == ' ' || l.peek(0) == '\n') {
			l.pos++
		}
		if l.pos < len(l.src) {
			l.operand(kind, start)
		}
	}
	flags := l.pos
	if kind == Regex {
		l.flags()
	}
	switch {
	case twice && op == "s" && strings.Contains(l.src[flags:l.pos], "e"):
		l.out[len(l.out)-1].Kind = Code // s///e runs its replacement
	case strings.ContainsAny(op, "wWiI"):
		l.words()
	}
	return true
}

// operator finds an operator here and its length up to the delimiter, or 0. What looks like one may be the remainder
// operator of Ruby, or in Perl a method, the key of a table, a test of a file (-s "/in/x") or a part of a name.
func (l *lexer) operator() (op string, length int) {
	re, before := chosen[l.lang], byte(' ')
	if l.pos > 0 {
		before = l.src[l.pos-1]
	}
	if re == nil || isNamePart(before) || strings.IndexByte("-$@&", before) >= 0 {
		return "", 0
	}
	m := re.FindStringSubmatch(l.src[l.pos:min(l.pos+40, len(l.src))])
	if m == nil || m[2][0] >= utf8.RuneSelf {
		return "", 0
	}
	last := l.last().Text
	if l.lang == Ruby && l.valueBefore() && (m[1] == "" || before != ' ') ||
		l.lang == Perl && (last == "->" || last == "{" && m[2] == "}") {
		return "", 0
	}
	return m[1], len(m[0]) - len(m[2])
}

// operand reads a literal from its delimiter on, and returns that.
func (l *lexer) operand(kind Kind, start int) (opener byte) {
	opener = l.peek(0)
	l.pos++
	if closer, ok := closers[opener]; ok {
		l.body(kind, start, string(closer), opener, interpolates[l.lang], kind == Regex)
	} else {
		l.body(kind, start, string(opener), 0, "", kind == Regex)
	}
	return opener
}

// words splits the last literal, a list of words, into one literal each.
func (l *lexer) words() {
	t := l.out[len(l.out)-1]
	l.out = l.out[:len(l.out)-1]
	for i, w := range strings.Fields(t.Text) {
		if i > 0 {
			l.out = append(l.out, Token{Punct, t.Offset, t.End, ","})
		}
		l.out = append(l.out, Token{t.Kind, t.Offset, t.End, w})
	}
}
