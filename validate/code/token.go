package code

import (
	"strings"
	"unicode/utf8"
)

// Language is a language whose text can be read.
type Language string

// The languages: those that have an image.
const (
	Python     Language = "python"
	JavaScript Language = "javascript"
	Ruby       Language = "ruby"
	Perl       Language = "perl"
)

// Kind is the kind of a token.
type Kind int

// The kinds. Comments make no tokens.
const (
	Name Kind = iota
	Number
	String
	Shell // a literal that its language hands to a shell: backticks, %x, qx
	Regex
	Code // a literal that its language runs: the replacement of Perl's s///e
	Punct
)

// Token is one token with its place.
type Token struct {
	Kind        Kind
	Offset, End int
	// Text is the source of a name or punctuation, and the decoded value of a
	// literal; an interpolated expression in it reads "{}".
	Text string
}

// Bounds of lexing.
const (
	maxInterpolation = 8 // nested expressions in literals
	maxTokens        = 1 << 20
)

type lexer struct {
	src   string
	lang  Language
	pos   int
	out   []Token
	depth int
}

// Tokens splits src.
func Tokens(lang Language, src string) []Token {
	l := &lexer{src: src, lang: lang, out: make([]Token, 0, min(len(src)/5+8, maxTokens))}
	if strings.HasPrefix(src, "#!") {
		l.line()
	}
	l.run(0)
	return l.out
}

func (l *lexer) peek(n int) byte {
	if l.pos+n < len(l.src) {
		return l.src[l.pos+n]
	}
	return 0
}

func (l *lexer) has(prefix string) bool { return strings.HasPrefix(l.src[l.pos:], prefix) }

func (l *lexer) emit(kind Kind, start int, text string) {
	if len(l.out) < maxTokens {
		l.out = append(l.out, Token{kind, start, l.pos, text})
	}
}

// last is the previous token; its kind is Punct and text "" at the start.
func (l *lexer) last() Token {
	if len(l.out) == 0 {
		return Token{Kind: Punct}
	}
	return l.out[len(l.out)-1]
}

// line skips to the end of the line.
func (l *lexer) line() {
	if i := strings.IndexByte(l.src[l.pos:], '\n'); i >= 0 {
		l.pos += i
	} else {
		l.pos = len(l.src)
	}
}

// until skips behind the next end, or to the end of the source.
func (l *lexer) until(end string) {
	if i := strings.Index(l.src[l.pos:], end); i >= 0 {
		l.pos += i + len(end)
	} else {
		l.pos = len(l.src)
	}
}

// run makes tokens until the end, or, inside of a literal, until the brace that
// closes the expression.
func (l *lexer) run(closing byte) {
	level := 0
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		if closing != 0 {
			switch c {
			case '{':
				level++
			case closing:
				if level == 0 {
					return
				}
				level--
			}
		}
		if !l.blank() && !l.comment() && !l.literal() {
			l.token()
		}
	}
}

// blank skips a blank or the end of a line.
func (l *lexer) blank() bool {
	switch c := l.src[l.pos]; {
	case c == '\n' || c == ' ' || c == '\t' || c == '\r':
		l.pos++
	case c == '\\' && l.peek(1) == '\n' && (l.lang == Python || l.lang == Ruby):
		l.pos += 2 // the line goes on
	default:
		return false
	}
	return true
}

// token reads a name, a number or an operator.
func (l *lexer) token() {
	c, start, kind := l.src[l.pos], l.pos, Punct
	l.pos++
	switch {
	case isNameStart(c), l.lang != Python && c == '$', l.lang != Python && c == '@' && isNameStart(l.peek(0)):
		kind = Name
		if next := l.peek(0); c == '$' && l.lang != JavaScript && next > ' ' && strings.IndexByte("{$()", next) < 0 {
			l.pos++ // a name of punctuation: $/, or the beginning of $#list
		}
		for isNamePart(l.peek(0)) {
			l.pos++
		}
	case isDigit(c):
		kind = Number
		for isNamePart(l.peek(0)) || l.peek(0) == '.' && isDigit(l.peek(1)) {
			l.pos++
		}
	case l.pos < len(l.src) && operator(c, l.src[l.pos]):
		l.pos++
	}
	l.emit(kind, start, l.src[start:l.pos])
}

// operator says whether two characters make one operator.
func operator(a, b byte) bool {
	switch a {
	case '=':
		return b == '>' || b == '~' || b == '='
	case '-':
		return b == '>'
	case '!':
		return b == '~'
	case ':', '*', '/', '&', '|':
		return a == b
	}
	return false
}

func isNameStart(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= utf8.RuneSelf
}

func isNamePart(c byte) bool { return isNameStart(c) || isDigit(c) }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// comment skips a comment, if one starts here.
func (l *lexer) comment() bool {
	switch {
	case l.lang == JavaScript && l.has("//"), l.lang != JavaScript && l.peek(0) == '#':
		l.line()
	case l.lang == JavaScript && l.has("/*"):
		l.pos += 2
		l.until("*/")
	default:
		return false
	}
	return true
}

// interpolates begins an expression inside of a literal.
var interpolates = map[Language]string{Ruby: "#{", JavaScript: "${"}

// literal reads a string or regular expression, if one starts here. Perl, Ruby and JavaScript have text in quotes,
// commands in backticks, expressions between slashes, and delimiters of the writer's choice in common.
func (l *lexer) literal() bool {
	if l.lang == Python {
		return l.python()
	}
	c, inner := l.peek(0), interpolates[l.lang]
	switch {
	case c == '\'' || c == '"' && l.lang == JavaScript:
		l.quoted(String, c, "")
	case c == '`' && l.lang != JavaScript:
		l.quoted(Shell, c, inner)
	case c == '"', c == '`':
		l.quoted(String, c, inner)
	case c == '/' && l.regexAllowed():
		l.regex()
	default:
		return l.chosen()
	}
	return true
}

// valueBefore says whether the previous token ends a value, so that an operator
// and no literal follows.
func (l *lexer) valueBefore() bool {
	t := l.last()
	switch t.Kind {
	case Punct:
		return t.Text == ")" || t.Text == "]" || t.Text == "}"
	case Name:
		return !keywords[t.Text]
	}
	return true
}

// regexAllowed says whether a slash here starts a regular expression.
func (l *lexer) regexAllowed() bool {
	t := l.last()
	if t.Kind == Punct && t.Text == "}" {
		return l.lang != Perl
	}
	if !l.valueBefore() {
		return true
	}
	// "puts /x/" in Ruby: a blank before and none behind.
	blankBefore := l.pos > 0 && l.src[l.pos-1] == ' '
	return l.lang == Ruby && t.Kind == Name && blankBefore && l.peek(1) != ' ' && l.peek(1) != '='
}

// keywords are names that end no value: a literal or another name may follow.
var keywords = set(`return typeof case in of delete void instanceof new do else throw yield await and or not if
	elsif unless while until when then split grep map join print puts p x lt gt le ge eq ne cmp push unshift raise
	import from as lambda assert del with elif foreach for`)

// join makes one token of literals that the language joins: "a" "b" in Python and
// Ruby, "a" + "b", "a" . "b" in Perl.
func join(lang Language, ts []Token) []Token {
	operator := "+"
	if lang == Perl {
		operator = "."
	}
	out := ts[:0] // which never overtakes what is read
	for i := 0; i < len(ts); i++ {
		t := ts[i]
		var b strings.Builder // appending to the text one by one would be quadratic
		for t.Kind == String {
			next := i + 1
			if next < len(ts) && ts[next].Kind == Punct && ts[next].Text == operator {
				next++
			} else if lang != Python && lang != Ruby {
				break
			}
			if next >= len(ts) || ts[next].Kind != String || ts[next].Offset < t.End {
				break
			}
			if b.Len() == 0 {
				b.WriteString(t.Text)
			}
			b.WriteString(ts[next].Text)
			t.End, i = ts[next].End, next
		}
		if b.Len() > 0 {
			t.Text = b.String()
		}
		out = append(out, t)
	}
	return out
}
