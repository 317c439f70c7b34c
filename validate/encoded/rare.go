package encoded

import (
	"bytes"
	"iter"
	"slices"
	"sync"

	"github.com/threegate/tool-exec/validate/internal/keyword"
)

// rare looks for spellings that hardly any text has. Each finder goes by marks, one
// of which each of its stretches holds, or by what costs next to nothing to look
// for; and each finds its own kind only.
var rare = []struct {
	find  func([]byte) iter.Seq[stretch]
	marks []string
}{
	{findQuery, nil}, {findTokenLines, nil}, {findCalls, callMarks()}, {findBytes, nil}, {findBits, nil}, {findDashes, nil}, {findArmour, []string{asciiMark, uuMark}},
	{findAskew, nil}, {findBackwards, slices.Concat(backwards, turned)}, {findConcatenated, nil}, {findLists, joiners}, {findEntities, entityMarks}, {findLetters, letterMarks},
}

// marks finds those of all rare finders in one pass; of says whose each is.
var marks = sync.OnceValues(func() (all *keyword.Finder, of []int) {
	var words []string
	for i, f := range rare {
		for _, m := range f.marks {
			words, of = append(words, m), append(of, i)
		}
	}
	return keyword.New(words, false), of
})

// findRare yields the stretches of all rare spellings, one after the other.
func findRare(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		all, of := marks()
		seen := make([]bool, len(rare))
		for hit := range all.Walk(b) {
			seen[of[hit.Word]] = true
		}
		for i, f := range rare {
			if f.marks != nil && !seen[i] {
				continue
			}
			for s := range f.find(b) {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// places yields the places where mark begins.
func places(b []byte, mark string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := 0; ; {
			k := bytes.Index(b[at:], []byte(mark))
			if k < 0 || !yield(at+k) {
				return
			}
			at += k + len(mark)
		}
	}
}

// findQuery reads the queries of addresses, in which a blank is a plus sign and
// nothing else is written in another way.
func findQuery(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for from := range places(b, "?") {
			to := runEnd(b, from, &urlClass)
			run := b[from:to]
			if bytes.IndexByte(run, '=') < 0 || bytes.IndexByte(run, '+') < 0 || bytes.IndexByte(run, '%') >= 0 {
				continue
			}
			if !yield(stretch{from, to, Percent, bytes.ReplaceAll(run, []byte("+"), []byte(" "))}) {
				return
			}
		}
	}
}

// The bounds of a value that goes on over lines.
const (
	minLine  = 8
	maxLine  = 100
	maxLines = 4096 // characters in all
)

// findTokenLines joins a value that is broken into lines: the end of one line and
// the next ones, which hold nothing else.
func findTokenLines(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for at := 0; at < len(b); {
			end := lineEnd(b, at)
			from, to := lastToken(b[at:end])
			next := end + 1
			if to-from < minLine || next >= len(b) {
				at = next
				continue
			}
			out := bytes.Clone(b[at+from : at+to])
			start, stop := at+from, at+to
			width := 0
			for next < len(b) {
				e := lineEnd(b, next)
				f, t := lastToken(b[next:e])
				if t == f || !onlyMarks(b[next:next+f]) || t-f > maxLine || width > 0 && t-f > width {
					break
				}
				if len(out) <= maxLines {
					out = append(out, b[next+f:next+t]...)
				}
				stop = next + t
				next = e + 1
				if width > 0 && t-f < width {
					break
				}
				width = t - f
			}
			if width > 0 && len(out) >= minSpelt && len(out) <= maxLines && bytes.ContainsAny(out, "0123456789") && !yield(stretch{start, stop, Spelt, out}) {
				return
			}
			at = max(end+1, min(next, len(b)))
		}
	}
}

func lineEnd(b []byte, i int) int {
	if k := bytes.IndexByte(b[i:], '\n'); k >= 0 {
		return i + k
	}
	return len(b)
}

// lastToken bounds the token that line ends with, but for what joins lines.
func lastToken(line []byte) (from, to int) {
	to = len(line)
	for to > 0 && mark(line[to-1]) {
		to--
	}
	from = to
	for from > 0 && to-from <= maxLine && tokenClass[line[from-1]] {
		from--
	}
	return from, to
}

func mark(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\\' || c == '"' || c == '\'' || c == '+' || c == ',' || c == '#' || c == '>' || c == '|'
}

func onlyMarks(b []byte) bool {
	for _, c := range b {
		if !mark(c) {
			return false
		}
	}
	return true
}
