package secrets

import (
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
	// valueNear: a long value follows within a few characters, with or without operator.
	valueNear
)

const (
	assignReach = 80 // characters between a keyword and its operator
	assignRun   = 6  // least length of an assigned value
	tokenRun    = 12
	vaultRun    = 24
	valueReach  = 24
	valueRun    = 20
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

// holds says whether the condition holds for the text behind a keyword that ends at end.
func (n near) holds(b []byte, end int) bool {
	switch n {
	case assignedNear:
		return assigned(b, end)
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
	}
	return true
}

func assigned(b []byte, end int) bool {
	for i := end; i < min(len(b), end+assignReach); i++ {
		switch c := b[i]; c {
		case '=', '>', ':', '|', '?', ',':
			return valued(b, i+1)
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
		case '=', '>', ':', '|', '`', ' ', '\t', '\r', '\n', '\\', '(', '{', '[':
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
		if c <= ' ' {
			return false
		}
	}
	return true
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}
