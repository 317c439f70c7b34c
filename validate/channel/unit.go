package channel

import (
	"bytes"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// What is withheld with a hit is the unit of text that holds it: a paragraph, an item of a list, a row of a table, a
// comment, a record of a log. Of a longer one it is the whole sentences around the hit.
const (
	unitLines = 10
	unitBytes = 2 << 10
	// reach is how far in front of a hit and behind it a unit or a sentence is searched for.
	reach = 1 << 10
)

// unit is the place that is withheld for a hit in text.
func unit(raw []byte, from, to int) (lo, hi int) {
	lo, hi = lineStart(raw, from), lineStop(raw, max(from, to-1))
	if end := tagEnd(raw, from); end > hi {
		hi = lineStop(raw, end)
	}
	step := stepMark.Match(raw[lo:hi])
	for lo > 0 && from-lo < reach {
		above, line := lineStart(raw, lo-1), raw[lo:lineStop(raw, lo)]
		before := raw[above : lo-1]
		earlier := step && stepMark.Match(line) && (stepMark.Match(before) || bytes.HasSuffix(before, []byte(":")))
		if !earlier && !continues(before, line) {
			break
		}
		lo = above
	}
	for hi < len(raw) && hi-to < reach {
		below := lineStop(raw, hi+1)
		if !continues(raw[lineStart(raw, hi):hi], raw[hi+1:below]) && !(step && stepMark.Match(raw[hi+1:below])) {
			break
		}
		hi = below
	}
	if bytes.Count(raw[lo:hi], []byte("\n")) < unitLines && hi-lo <= unitBytes {
		return lo, hi
	}
	return sentences(raw, max(lo, from-reach), from, to, min(hi, to+reach))
}

var sentenceEnd = regexp.MustCompile(`[.!?]["')\]]?\s`)

// sentences are those that hold raw[from:to], within lo and hi. A line that goes on in no other ends one, too.
func sentences(raw []byte, lo, from, to, hi int) (int, int) {
	first, last := from, to
	if lo == lineStart(raw, lo) {
		first = lo
	}
	if hi == lineStop(raw, hi) {
		last = hi
	}
	for _, end := range sentenceEnd.FindAllIndex(raw[lo:from], -1) {
		first = lo + end[1]
	}
	if line := lineStart(raw, from); line > first && line > 0 {
		before := raw[lineStart(raw, line-1) : line-1]
		if !continues(before, raw[line:lineStop(raw, line)]) {
			first = line
		}
	}
	if end := sentenceEnd.FindIndex(raw[max(from, to-1):hi]); end != nil {
		last = max(from, to-1) + end[1] - 1
	}
	return first, last
}

// maxTag is how long the content of a tag may be that is withheld with its hit.
const maxTag = unitBytes

var tagStart = regexp.MustCompile(`^<([A-Za-z][\w-]{1,30})(?:\s[^>\n]{0,200})?>`)

// tagEnd is where the element ends that begins at from, or -1.
func tagEnd(raw []byte, from int) int {
	m := tagStart.FindSubmatch(raw[from:min(len(raw), from+300)])
	if m == nil {
		return -1
	}
	closing := "</" + string(m[1]) + ">"
	if i := bytes.Index(raw[from:min(len(raw), from+maxTag)], []byte(closing)); i >= 0 {
		return from + i + len(closing)
	}
	return -1
}

var (
	// recordStart begins an item, a row, a heading, a fence, a tag or a record of a log.
	recordStart = regexp.MustCompile("^\\s*(?:[-*+•]\\s|\\d{1,3}[.)]\\s|\\||#{1,6}\\s|```|~~~|</?[A-Za-z!]|\\[|[{}]|" +
		`\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d:\d\d|(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b)`)
	// standsAlone is a heading, a row or a fence.
	standsAlone = regexp.MustCompile("^\\s*(?:#|\\||```)")
	// stepMark begins a step of a numbered procedure, which is one order.
	stepMark    = regexp.MustCompile(`^\s*(?:>\s*)?\d{1,3}[.)]\s`)
	commentMark = regexp.MustCompile(`^\s*(?:#+|//+|--|;+|%|>+|\*)\s`)
)

// wrapped is from which length on a line is one that goes on in the next.
const wrapped = 40

// continues says whether a line goes on in the next one.
func continues(line, next []byte) bool {
	a, b := commentMark.Find(line), commentMark.Find(next)
	if len(a) > 0 && bytes.Equal(bytes.TrimSpace(a), bytes.TrimSpace(b)) && !bytes.ContainsAny(a, "-*") {
		line, next = line[len(a):], next[len(b):]
	} else if recordStart.Match(next) || len(bytes.TrimSpace(b)) > 0 || standsAlone.Match(line) {
		return false
	}
	line, text := bytes.TrimRight(line, blanks), bytes.TrimLeft(next, blanks)
	if len(bytes.TrimSpace(line)) == 0 || len(text) == 0 {
		return false
	}
	first, _ := utf8.DecodeRune(text)
	if bytes.ContainsAny(line[len(line)-1:], ".!?") {
		return false
	}
	return len(line) >= wrapped || unicode.IsLower(first) || bytes.ContainsAny(line[len(line)-1:], ",:") ||
		len(next)-len(text) > len(line)-len(bytes.TrimLeft(line, blanks)) && len(next)-len(text) > 1
}
