package secrets

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// lead is what most of gitleaks' patterns begin with: as few as possible of up to
// max characters, of a name that ends in the word that they look for. A machine for
// patterns bears max states more for it at every character of a text, and it only
// says how far in front of that word a match begins.
type lead struct {
	class []rune // pairs, the ends of ranges
	max   int
}

// unled takes the leads off a pattern. What is left matches where the pattern does,
// but for them: widened gives the match of the pattern.
func unled(re *regexp.Regexp) (*regexp.Regexp, []lead) {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil || tree.Op != syntax.OpConcat {
		return re, nil
	}
	var leads []lead
	for _, first := range tree.Sub {
		if first.Op != syntax.OpRepeat || first.Flags&syntax.NonGreedy == 0 || first.Min != 0 || first.Max < 1 || first.Sub[0].Op != syntax.OpCharClass {
			break
		}
		leads = append(leads, lead{first.Sub[0].Rune, first.Max})
	}
	if len(leads) == 0 {
		return re, nil
	}
	tree.Sub = tree.Sub[len(leads):]
	return regexp.MustCompile(tree.String()), leads
}

// widened returns where a match that begins at i begins with its leads, which do
// not reach back beyond floor.
func widened(leads []lead, b []byte, i, floor int) int {
	for _, l := range slices.Backward(leads) {
		for range l.max {
			r, n := utf8.DecodeLastRune(b[floor:i])
			if n == 0 || r == utf8.RuneError || !l.has(r) {
				break
			}
			i -= n
		}
	}
	return i
}

func (l *lead) has(r rune) bool {
	for i := 0; i < len(l.class); i += 2 {
		if l.class[i] <= r && r <= l.class[i+1] {
			return true
		}
	}
	return false
}
