package secrets

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// near is a cheap condition on the text behind a keyword. Most keywords ("key",
// "s.") are ordinary text, and the patterns of their rules are slow: where the
// condition does not hold, no match can begin at that keyword.
type near int

const (
	anything near = iota
	// assignedNear: an operator follows, as in "key = value", and then a value.
	assignedNear
	// tokenNear: the keyword begins a token.
	tokenNear
	// vaultNear: a token of Vault's follows, old (24 letters and digits) or new.
	vaultNear
	// genericNear: as assignedNear, with a value as gitleaks' broadest rule wants it.
	genericNear
	// valueNear: a long value follows within a few characters, with or without operator.
	valueNear
	// userNear: an "@" follows before the host of an address ends.
	userNear
	// wordsNear: an operator or "is" follows, and then small letters and blanks.
	wordsNear
	// elementNear: a ">" or quote follows, or the end of the line.
	elementNear
	// belowNear: a line ends in a colon.
	belowNear
	// labelNear: a colon or another operator follows within a few characters.
	labelNear
	// indexNear: a bracket follows.
	indexNear
	// uuidNear: a hyphen follows the eighth hexadecimal digit of a value.
	uuidNear
	// pairNear: a blank slash follows, or two colons.
	pairNear
	// flagNear: a flag follows on the line, or another sign of a command.
	flagNear
	// capitalNear: a capital follows.
	capitalNear
	// hexNear: a value of hexadecimal digits follows.
	hexNear
	// callNear: a bracket follows, and then a quote.
	callNear
	// declaredNear: a type and an operator follow, an expansion, a tag of YAML, a block of
	// lines or another argument.
	declaredNear
	// starNear: a "*" and a capital or a digit follow.
	starNear
)

const (
	assignReach = 80 // characters between a keyword and its operator, where no fewer are known
	assignRun   = 6  // least length of an assigned value
	tokenRun    = 12
	vaultRun    = 24
	valueReach  = 24
	valueRun    = 20
	userReach   = 260
	callReach   = 120
)

// assignment is a part that all of gitleaks' patterns of this shape share.
const assignment = `(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}`

// nearOf finds out which condition follows from a pattern, for every one of its keywords.
func nearOf(re *regexp.Regexp, keywords []string) near {
	s := re.String()
	if label, _, ok := strings.Cut(s, assignment); ok {
		if tree, err := syntax.Parse(s, syntax.Perl); err != nil || tree.Op == syntax.OpAlternate {
			return anything // one of the ways to match needs no operator
		}
		head, err := regexp.Compile(label)
		if err != nil || slices.ContainsFunc(keywords, func(k string) bool { return !head.MatchString(k) }) {
			return anything // a keyword of the value, not of its label
		}
		return assignedNear
	}
	rest, ok := strings.CutPrefix(strings.TrimPrefix(s, "(?i)"), `\b`)
	if !ok || len(keywords) != 1 {
		return anything
	}
	rest = strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(strings.TrimLeft(rest, "("), "?:")), `\.`, ".")
	rest, ok = strings.CutPrefix(rest, keywords[0])
	if !ok || strings.HasPrefix(rest, `\b`) { // a word, such as the name of a command
		return anything
	}
	return tokenNear
}

// holds says whether the rule's condition holds for the text behind a keyword that
// ends at end.
func (r *rule) holds(b []byte, end int) bool {
	switch r.near {
	case assignedNear:
		reach := r.reach
		if reach == 0 {
			reach = assignReach
		}
		return assigned(b, end, reach, valued)
	case genericNear:
		return assigned(b, end, genericReach, genericValue)
	case tokenNear:
		return run(b, end, tokenRun)
	case vaultNear:
		return run(b, end, vaultRun)
	case valueNear:
		for i := end; i < min(len(b), end+valueReach); i++ {
			if wordByte(b[i]) && run(b, i, valueRun) {
				return true
			}
		}
		return false
	case userNear:
		for i := end; i < min(len(b), end+userReach); i++ {
			switch b[i] {
			case '@':
				return true
			case '/', ' ', '\n', '"', '\'', '<', '>', '?':
				return false
			}
		}
		return false
	case wordsNear:
		for i := end; i < min(len(b), end+valueReach); i++ {
			if c := b[i]; c == ':' || c == '=' || c == 'i' && i+1 < len(b) && b[i+1] == 's' {
				return true
			}
		}
		return false
	case elementNear:
		for i := end; i < min(len(b), end+valueReach); i++ {
			switch b[i] {
			case '>', '"', '\'', '\n', '\\':
				return true
			case ' ', '=', ':', '(', ',', ';', '/':
				return false
			}
		}
		return false
	case belowNear:
		for i := end; i < min(len(b), end+assignReach); i++ {
			if b[i] == '\n' {
				return false
			}
			if b[i] == ':' {
				for i++; i < len(b) && (b[i] == ' ' || b[i] == '\r'); i++ {
				}
				return i < len(b) && b[i] == '\n'
			}
		}
		return false
	case labelNear:
		behind := b[end:min(len(b), end+max(r.reach, valueReach))]
		return bytes.ContainsAny(behind, ":=") || bytes.IndexByte(behind, 0xef) >= 0 || bytes.Contains(behind, []byte(" is"))
	case indexNear:
		return bytes.ContainsAny(b[end:min(len(b), end+4)], "](")
	case uuidNear:
		for i := end; i < min(len(b), end+valueReach); i++ {
			if hexadecimal[b[i]] && i+36 <= len(b) && b[i+8] == '-' && b[i+13] == '-' && b[i+18] == '-' && b[i+23] == '-' {
				return true
			}
		}
		return false
	case pairNear:
		line := lineBehind(b, end)
		return bytes.Contains(line, []byte(" / ")) || bytes.Contains(line, []byte("+/+")) || bytes.Count(line, []byte{':'}) > 1
	case flagNear:
		line := lineBehind(b, end)
		return bytes.ContainsAny(line, "%@+") || bytes.Contains(line, []byte(" -")) || bytes.Contains(line, []byte(" /")) || bytes.Contains(line, []byte("pass:")) || run(b, end, assignRun)
	case capitalNear:
		return end < len(b) && b[end] >= 'A' && b[end] <= 'Z'
	case hexNear:
		for i := end; i < min(len(b), end+valueReach); i++ {
			if hexadecimal[b[i]] && hexRun(b, i) {
				return true
			}
		}
		return false
	case callNear:
		behind := b[max(0, end-1):min(len(b), end+callReach)]
		open := bytes.IndexByte(behind, '(')
		return open >= 0 && bytes.ContainsAny(behind[open:], `"'`)
	case declaredNear:
		behind := bytes.TrimLeft(b[end:min(len(b), end+valueReach)], `"'`)
		if len(behind) < 3 || behind[0] != ':' && behind[0] != ',' && behind[0] != '=' && behind[0] != ' ' {
			return false
		}
		return behind[0] == ',' || bytes.ContainsAny(behind, "$!>|") || behind[0] == ':' && bytes.IndexByte(behind, '=') > 0
	case starNear:
		around := b[max(0, end-lookBehind):min(len(b), end+lookBehind)]
		for i := bytes.IndexByte(around, '*'); i >= 0 && i+40 < len(around); i++ {
			if around[i] == '*' && hexRun(around, i+1) {
				return true
			}
		}
		return false
	}
	return true
}

// lineBehind is the rest of the line, bounded.
func lineBehind(b []byte, i int) []byte {
	line := b[i:min(len(b), i+lookBehind)]
	if n := bytes.IndexByte(line, '\n'); n >= 0 {
		return line[:n]
	}
	return line
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
		case ' ', '\t', '\r', '\n', '\'', '"', '.', '-', '\\':
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
		case '=', '>', ':', '|', '`', ' ', '\t', '\r', '\n', '\\', '(', '{', '[', '!':
		default:
			return run(b, i, assignRun)
		}
	}
	return i < len(b)
}

// The generic rule: how far behind a keyword, which are all of its labels, its
// operator may stand (20 characters of a name, three blanks or quotes and the end of
// a longer label in which the keyword stands), how far behind the first character of
// the operator its value begins, and how long that is at least.
const (
	genericReach = 20 + 3 + len("credential")
	genericSkip  = 3 + 5
	genericRun   = 10
	genericMost  = 150 // how long it is at most if it does not read as base64
)

// genericClass are the bytes that such a value is made of, genericEnds those that
// may stand behind it.
var genericClass, genericEnds = func() (class, ends charset) {
	for c := range 256 {
		class[c] = wordByte(byte(c)) || strings.IndexByte(".=-+/", byte(c)) >= 0
	}
	return class, *charsetOf("`'\";\\ \t\n\f\r")
}()

// genericValue says whether a value follows behind the first character of an operator.
func genericValue(b []byte, i int) bool {
	equals := 0 // which may be part of the value, too
	for end := min(len(b), i+genericSkip+1); i < end; i++ {
		switch c := b[i]; c {
		case '=':
			equals++
		case '>', ':', '|', '?', ',', '`', '\'', '"', ' ', '\t', '\n', '\v', '\f', '\r':
			equals = 0
		default:
			to := i
			for to < len(b) && to-i <= genericMost && genericClass[b[to]] {
				to++
			}
			if to-i > genericMost { // no value, but of digits of base64 or with letters of several bytes
				return !bytes.ContainsAny(b[i:to], "._-=") || slices.ContainsFunc(b[i:to], func(c byte) bool { return c >= 0x80 })
			}
			return to-i+equals >= genericRun && (to == len(b) || genericEnds[b[to]])
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
		if c <= ' ' {
			return false
		}
	}
	return true
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}
