package encoded

import (
	"bytes"
	"iter"
)

// Text in pieces that code puts together: joined literals and lists of them.

// findConcatenated joins literals that hold more than one word each: "ab " + "cd".
func findConcatenated(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for i := nextQuote(b, 0); i < len(b); i = nextQuote(b, i+1) {
			k := glued(b, i)
			if k == 0 || i == 0 {
				continue
			}
			from := i
			for from > 0 && i-from < maxJoinedPart && b[from-1] != b[i] && b[from-1] != '\n' {
				from--
			}
			out := bytes.Clone(b[from:i])
			end, plain := i, runEnd(b[:i], from, &tokenClass) == i
			for k > 0 {
				to := k + 1
				for to < len(b) && to-k < maxJoinedPart && b[to] != b[k] && b[to] != '\n' {
					to++
				}
				plain = plain && runEnd(b[:to], k+1, &tokenClass) == to
				out, end = append(out, b[k+1:to]...), to
				if to >= len(b) || b[to] != b[k] {
					break
				}
				k = glued(b, to)
			}
			if len(out) >= minSpelt && !plain && !yield(stretch{from, end, Spelt, out}) {
				return
			}
			i = max(i, end)
		}
	}
}

// glued returns where the literal begins that is joined to the one whose closing
// quote stands at i, or 0.
func glued(b []byte, i int) int {
	for k := i + 1; k < len(b) && k-i < 12; k++ {
		switch b[k] {
		case ' ', '+', '.', '\n', '\\', '&', '\t':
		case b[i]:
			if k == i+1 {
				return 0
			}
			return k
		default:
			return 0
		}
	}
	return 0
}

// joiners are the names of what joins a list.
var joiners = []string{"join", "implode(", "concat("}

// findLists joins the literals of a list that code joins: ["ab", "cd"].join("").
func findLists(b []byte) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		for _, m := range joiners {
			for at := range places(b, m) {
				from, to := at, min(len(b), at+maxTurned)
				if n := len(bytes.TrimRight(b[max(0, at-4):at], ". \n")); n > 0 && b[max(0, at-4)+n-1] == ']' {
					to = at
					if from = bytes.LastIndexByte(b[max(0, at-maxTurned):at], '['); from < 0 {
						continue
					}
					from += max(0, at-maxTurned)
				} else if n := bytes.IndexByte(b[at:to], ')'); n >= 0 {
					to = at + n
				}
				if out := literals(b[from:to]); len(out) >= minSpelt && !yield(stretch{from, to, Spelt, out}) {
					return
				}
			}
		}
	}
}

// literals returns what stands in quotes in b, without anything between.
func literals(b []byte) (out []byte) {
	for i := nextQuote(b, 0); i < len(b); i = nextQuote(b, i+1) {
		n := bytes.IndexByte(b[i+1:], b[i])
		if n < 0 {
			return out
		}
		out = append(out, b[i+1:i+1+n]...)
		i += n + 1
	}
	return out
}
