package secrets

import (
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestConditionsHold: what a rule's pattern finds and its checks let pass is
// reported, too, with the conditions in front of the pattern: texts are made of the
// pattern itself, with the least and the most of whatever it repeats and each of
// its alternatives.
func TestConditionsHold(t *testing.T) {
	d := shared()
	r := rand.New(rand.NewPCG(9, 9))
	for i := range d.rules {
		rule := &d.rules[i]
		if rule.near == nil {
			continue
		}
		tree, err := syntax.Parse(rule.re.String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		found, missed, worst := 0, 0, ""
		for range 400 {
			b := []byte("some words: " + grown(r, tree) + []string{"", " ", "\n", "\"", "'", ";", " and more\n"}[r.IntN(7)])
			s := &Scanner{d: d, work: maxRegexWork, seen: map[Match]bool{}}
			s.apply(rule, b, 0, len(b), nil)
			if len(s.out) == 0 {
				continue
			}
			found++
			holds, seen := false, false // a keyword may stand in front of what the pattern matches
			for hit := range d.words.Walk(b) {
				seen = seen || slices.Contains(d.byWord[hit.Word], i)
				holds = holds || slices.Contains(d.byWord[hit.Word], i) && rule.near(b, hit.End)
			}
			if !holds && seen {
				missed++
				if worst == "" || len(b) < len(worst) {
					worst = string(b)
				}
			}
		}
		if missed > 0 {
			t.Errorf("%s (%q): %d of %d missed: %q", rule.id, rule.keywords[0], missed, found, worst)
		}
		if found < 5 {
			t.Errorf("%s (%q): %d texts only", rule.id, rule.keywords[0], found)
		}
	}
}

// grown is a text that a pattern matches, but for what it says of places.
func grown(r *rand.Rand, re *syntax.Regexp) string {
	var s strings.Builder
	switch re.Op {
	case syntax.OpLiteral:
		upper := re.Flags&syntax.FoldCase != 0 && r.IntN(3) == 0
		for _, c := range re.Rune {
			if upper {
				c = unicode.ToUpper(c)
			} else if re.Flags&syntax.FoldCase != 0 {
				c = unicode.ToLower(c)
			}
			s.WriteRune(c)
		}
	case syntax.OpCharClass:
		s.WriteRune(oneOf(r, re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		s.WriteByte('x')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			s.WriteString(grown(r, sub))
		}
	case syntax.OpAlternate:
		return grown(r, re.Sub[r.IntN(len(re.Sub))])
	case syntax.OpQuest, syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		least, most := re.Min, re.Max
		switch re.Op {
		case syntax.OpQuest:
			least, most = 0, 1
		case syntax.OpStar:
			least, most = 0, -1
		case syntax.OpPlus:
			least, most = 1, -1
		}
		if most < 0 {
			most = least + 30
		}
		n := []int{least, most, min(most, least+1+r.IntN(12))}[r.IntN(3)]
		for range n {
			s.WriteString(grown(r, re.Sub[0]))
		}
	}
	return s.String()
}

// oneOf is one character of a class, most often a plain one.
func oneOf(r *rand.Rand, class []rune) rune {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567890123456789_-.!#+/=$"
	in := func(c rune) bool {
		for i := 0; i < len(class); i += 2 {
			if class[i] <= c && c <= class[i+1] {
				return true
			}
		}
		return false
	}
	if in(' ') && in('\n') && !in('a') { // blanks
		for {
			if c := rune(" \t \n"[r.IntN(4)]); in(c) {
				return c
			}
		}
	}
	if r.IntN(20) > 0 {
		for range 40 {
			if c := rune(plain[r.IntN(len(plain))]); in(c) {
				return c
			}
		}
	}
	i := 2 * r.IntN(len(class)/2)
	if c := class[i] + r.Int32N(min(class[i+1]-class[i], 0x600)+1); utf8.ValidRune(c) {
		return c
	}
	return class[i]
}
