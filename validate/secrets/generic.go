package secrets

import (
	"bytes"
	"slices"
	"strings"
)

// genericNear is assignedNear for gitleaks' broadest rule, whose values have a
// grammar of their own.
func genericNear(b []byte, end int) bool {
	return assigned(b, end, genericReach, genericValue)
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
