package packages

import (
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

// TestRequestsNeedTheirWords makes texts that patterns match: none of ASCII is without the
// words that the pattern is said to need.
func TestRequestsNeedTheirWords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range requests {
		tree, err := syntax.Parse(p.re.String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		tree, matched := tree.Simplify(), 0
		for range 20_000 {
			var b strings.Builder
			write(&b, tree, r)
			s := b.String()
			if !p.re.MatchString(s) || !isASCII(s) {
				continue
			}
			matched++
			if lower := strings.ToLower(s); !slices.ContainsFunc(p.needs, func(w string) bool { return strings.Contains(lower, w) }) {
				t.Errorf("%q holds none of %q", s, p.needs)
			}
		}
		if matched < 100 {
			t.Errorf("%s: %d texts only", p.re, matched)
		}
	}
}

// write writes a text that an expression may match.
func write(b *strings.Builder, e *syntax.Regexp, r *rand.Rand) {
	switch e.Op {
	case syntax.OpLiteral:
		b.WriteString(strings.ToLower(string(e.Rune)))
	case syntax.OpCharClass:
		k := 2 * r.IntN(len(e.Rune)/2)
		from, to := e.Rune[k], min(e.Rune[k+1], 'z')
		b.WriteRune(from + r.Int32N(max(to-from, 0)+1))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpAlternate:
		write(b, e.Sub[r.IntN(len(e.Sub))], r)
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range e.Sub {
			write(b, sub, r)
		}
	case syntax.OpPlus:
		write(b, e.Sub[0], r)
	case syntax.OpStar, syntax.OpQuest:
		if r.IntN(2) == 0 {
			write(b, e.Sub[0], r)
		}
	}
}
