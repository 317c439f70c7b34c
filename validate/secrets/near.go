package secrets

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// near is a cheap condition on the text behind a keyword, which ends at end. Most
// keywords ("key", "s.") are ordinary text, and the patterns of their rules are slow:
// where the condition does not hold, no match can begin or go on at that keyword. It
// must hold wherever the pattern matches; TestConditionsHold tries it.
type near func(b []byte, end int) bool

const (
	assignReach = 80 // bytes between a keyword and its operator, where no fewer are known
	assignRun   = 6  // least length of an assigned value
	tokenRun    = 12
	vaultRun    = 24 // letters and digits of a token of Vault's, old or new
	userReach   = 260
	belowReach  = 80  // characters between "password" and the colon that ends its line
	flagReach   = 310 // characters between a command and its flag
	callReach   = 120
)

// assignment is a part that all of gitleaks' patterns of this shape share.
const assignment = `(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}`

// nearOf finds out which condition follows from a pattern, for every one of its keywords.
func nearOf(re *regexp.Regexp, keywords []string) near {
	s := re.String()
	if label, _, ok := strings.Cut(s, assignment); ok {
		if tree, err := syntax.Parse(s, syntax.Perl); err != nil || tree.Op == syntax.OpAlternate {
			return nil // one of the ways to match needs no operator
		}
		head, err := regexp.Compile(label)
		if err != nil || slices.ContainsFunc(keywords, func(k string) bool { return !head.MatchString(k) }) {
			return nil // a keyword of the value, not of its label
		}
		return assignedNear(assignReach)
	}
	rest, ok := strings.CutPrefix(strings.TrimPrefix(s, "(?i)"), `\b`)
	if !ok || len(keywords) != 1 {
		return nil
	}
	rest = strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(strings.TrimLeft(rest, "("), "?:")), `\.`, ".")
	rest, ok = strings.CutPrefix(rest, keywords[0])
	if !ok || strings.HasPrefix(rest, `\b`) || strings.Contains(rest, `\r\n]`) { // a word, such as the name of a command, or text in lines
		return nil
	}
	return runNear(tokenRun)
}

// assignedNear: an operator follows within reach, as in "key = value", and then a value.
func assignedNear(reach int) near {
	return func(b []byte, end int) bool { return assigned(b, end, reach, valued) }
}

// operatorNear: an operator follows at once, but for a quote and blanks.
func operatorNear(b []byte, end int) bool {
	return assigned(b, end, 5, func([]byte, int) bool { return true })
}

// runNear: n characters without blanks follow.
func runNear(n int) near {
	return func(b []byte, end int) bool { return run(b, end, n) }
}

// spacedNear: blanks follow, and then n characters without any.
func spacedNear(n int) near {
	return func(b []byte, end int) bool {
		i := skipBlanks(b, end)
		return i > end && run(b, i, n)
	}
}

// valueNear: 20 characters without blanks follow within a few, with or without operator.
func valueNear(b []byte, end int) bool {
	const reach, least = 24, 20
	n := 0
	for i := end; i < min(len(b), end+reach+least); i++ {
		if n++; blank(b[i]) {
			n = 0
		}
		if n == least {
			return true
		}
	}
	return false
}

// userNear: an "@" follows before the host of an address ends.
func userNear(b []byte, end int) bool {
	for i := end; i < min(len(b), end+userReach); i++ {
		switch b[i] {
		case '@':
			return true
		case '/', ' ', '\n', '"', '\'', '<', '>', '?':
			return false
		}
	}
	return false
}

// saidNear: a colon, a "=" or "is" follows within reach.
func saidNear(reach int) near {
	return func(b []byte, end int) bool {
		for i := end; i < min(len(b), end+reach); i++ {
			if c := b[i]; c == ':' || c == '=' || c|0x20 == 'i' && i+1 < len(b) && b[i+1]|0x20 == 's' {
				return true
			}
		}
		return false
	}
}

// elementNear: behind the rest of a name follows a ">" or a quote, or "value" behind
// blanks or ends of lines.
func elementNear(b []byte, end int) bool {
	const name = 4 * 26 // bytes of the rest of a label and 20 characters
	i := end
	for i < min(len(b), end+name) && (wordByte(b[i]) || b[i] == '.' || b[i] == '-') {
		i++
	}
	if i == len(b) {
		return false
	}
	switch b[i] {
	case '>', '"', '\'':
		return true
	}
	from := i
	for i < len(b) && i-from <= 2*20 {
		if i+1 < len(b) && b[i] == '\\' && b[i+1]|0x20 == 'n' {
			i += 2
		} else if blank(b[i]) {
			i++
		} else {
			break
		}
	}
	return i > from && i < len(b) && b[i]|0x20 == 'v'
}

// belowNear: a line ends in a colon.
func belowNear(b []byte, end int) bool {
	line := b[end:min(len(b), end+4*belowReach+1)]
	i := bytes.IndexAny(line, ":\n")
	if i < 0 || line[i] == '\n' {
		return false
	}
	for i += end + 1; i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r'); i++ {
	}
	return i < len(b) && b[i] == '\n'
}

// columnNear: the line ends, but for blanks and the frame of a table.
func columnNear(b []byte, end int) bool {
	for ; end < len(b) && (b[end] == ' ' || b[end] == '\t' || b[end] == '|' || b[end] == '\r'); end++ {
	}
	return end < len(b) && b[end] == '\n'
}

// indexNear: the bracket of a call follows, or a quote and the end of an index.
func indexNear(b []byte, end int) bool {
	i := restOfLabel(b, end)
	return i < len(b) && (b[i] == '(' || (b[i] == '"' || b[i] == '\'') && bytes.IndexByte(b[i:min(len(b), i+3)], ']') > 0)
}

// uuidNear: a UUID follows behind up to 12 blanks on either side of an operator.
func uuidNear(b []byte, end int) bool {
	const reach = len("-id") + 1 + 12 + 2 + 12 + 1
	for i := end; i <= end+reach && i+36 <= len(b); i++ {
		if hexadecimal[b[i]] && b[i+8] == '-' && b[i+13] == '-' && b[i+18] == '-' && b[i+23] == '-' {
			return true
		}
	}
	return false
}

// pairNear: a slash between blanks follows, or a colon behind an operator, which comes at
// once but for the rest of "credentials", a quote and blanks.
func pairNear(b []byte, end int) bool {
	const operator = len("entials\"   ")
	behind := b[end:min(len(b), end+100)]
	if i := bytes.IndexAny(behind, ":="); i >= 0 && i <= operator && bytes.IndexByte(behind[i+1:], ':') >= 0 {
		return true
	}
	for i := 1; i+1 < len(behind); i++ {
		if behind[i] == '/' && blank(behind[i-1]) && blank(behind[i+1]) {
			return true
		}
	}
	return false
}

// flagNear: a flag follows, or another sign of a command, or its only word.
func flagNear(b []byte, end int) bool {
	behind := b[end:min(len(b), end+4*flagReach)]
	for i, c := range behind {
		switch c {
		case '%', '@', '+':
			return true
		case '-', '/':
			if i > 0 && blank(behind[i-1]) {
				return true
			}
		}
	}
	return run(b, end, assignRun) || bytes.Contains(behind, []byte("pass:"))
}

// envNear: the keyword is in capitals, and a blank follows, or the "+" that stands for one.
func envNear(b []byte, end int) bool {
	return end < len(b) && (blank(b[end]) || b[end] == '+') && bytes.HasSuffix(b[:end], []byte("ENV"))
}

// hexNear: a value of hexadecimal digits follows.
func hexNear(b []byte, end int) bool {
	for i := end; i < min(len(b), end+24); i++ {
		if hexRun(b, i) {
			return true
		}
	}
	return false
}

// callNear: a bracket follows, and then a quote.
func callNear(b []byte, end int) bool {
	behind := b[max(0, end-1):min(len(b), end+callReach)]
	open := bytes.IndexByte(behind, '(')
	return open >= 0 && bytes.ContainsAny(behind[open:], `"'`)
}

// declaredNear: a type and an operator follow, an expansion, a tag of YAML, a block of
// lines or another argument.
func declaredNear(b []byte, end int) bool {
	i := restOfLabel(b, end)
	for n := 0; n < 2 && i < len(b) && (b[i] == '"' || b[i] == '\''); n++ {
		i++
	}
	i = skipBlanks(b, i)
	if i == len(b) || b[i] != ':' && b[i] != '=' {
		return i < len(b) && b[i] == ','
	}
	colon := b[i] == ':'
	i = skipBlanks(b, i+1)
	behind := b[i:min(len(b), i+3*24+3)] // a type, and blanks
	if len(behind) == 0 {
		return false
	}
	if behind[0] == '$' || len(behind) > 1 && behind[1] == '$' {
		return true
	}
	return colon && (behind[0] == '!' || behind[0] == '>' || behind[0] == '|' || bytes.IndexByte(behind, '=') > 0)
}

// starNear: a "*" and hexadecimal digits stand near.
func starNear(b []byte, end int) bool {
	around := b[max(0, end-lookBehind):min(len(b), end+lookBehind)]
	for i := bytes.IndexByte(around, '*'); i >= 0 && i+40 < len(around); i++ {
		if around[i] == '*' && hexRun(around, i+1) {
			return true
		}
	}
	return false
}

// restOfLabel returns where the letters end that a label may have behind its keyword:
// "word" behind "pass".
func restOfLabel(b []byte, i int) int {
	for n := 0; n < len("phrase") && i < len(b) && b[i]|0x20 >= 'a' && b[i]|0x20 <= 'z'; n++ {
		i++
	}
	return i
}

// hexRun says whether 30 hexadecimal digits follow.
func hexRun(b []byte, i int) bool {
	if len(b) < i+30 {
		return false
	}
	for _, c := range b[i : i+30] {
		if !hexadecimal[c] || c == '-' {
			return false
		}
	}
	return true
}

func assigned(b []byte, end, reach int, value func(b []byte, i int) bool) bool {
	for i := end; i <= min(len(b)-1, end+reach); i++ {
		switch c := b[i]; c {
		case '=', '>', ':', '|', '?', ',':
			return value(b, i+1)
		case ' ', '\t', '\r', '\n', '\f', '\'', '"', '.', '-', '\\':
		default:
			if !wordByte(c) {
				return false
			}
		}
	}
	return false
}

// valued says whether a value follows behind an operator.
func valued(b []byte, i int) bool {
	for end := min(len(b), i+12); i < end; i++ {
		switch b[i] {
		case '\'', '"':
			return true // what is quoted may hold blanks
		case '=', '>', ':', '|', '`', ' ', '\t', '\r', '\n', '\f', '\\', '(', '{', '[', '!':
			if run(b, i, assignRun) {
				return true // it may begin like this
			}
		default:
			return run(b, i, assignRun)
		}
	}
	return i < len(b)
}

// run says whether n characters without blanks follow.
func run(b []byte, i, n int) bool {
	if len(b) < i+n {
		return false
	}
	for _, c := range b[i : i+n] {
		if blank(c) {
			return false
		}
	}
	return true
}

// skipBlanks returns where the blanks end that begin at i.
func skipBlanks(b []byte, i int) int {
	for i < len(b) && blank(b[i]) {
		i++
	}
	return i
}

// blank says whether c is a \s of a pattern.
func blank(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}
