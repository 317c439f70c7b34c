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

// keywordElsewhere are rules whose keywords stand near the secret, or are among many words
// that the pattern allows.
var keywordElsewhere = map[string]bool{"discord-bot-token": true, "command-line-password": true}

// TestKeywordsAndNext: a rule finds no less for its keywords and for the pattern that must
// follow one. Texts are made of the rule's own pattern, with the least and the most of
// whatever it repeats and each of its alternatives.
func TestKeywordsAndNext(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	tried := 0
	for _, rule := range compiled().rules {
		if rule.next != nil {
			tried++
		} else if !slices.Contains(own().Rules, rule) {
			continue
		}
		tree, err := syntax.Parse(rule.re.String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		found, missed, withKeyword, worst := 0, 0, 0, ""
		for range 400 {
			b := []byte("some words: " + grown(r, tree) + []string{"", " ", "\n", "\"", "'", ";",
				" and more\n"}[r.IntN(7)])
			s := &scanner{set: compiled(), work: maxWork, seen: map[Match]bool{}}
			s.try(rule, b, [2]int{0, len(b)}, func(m Match) Match { return m })
			if len(s.out) == 0 {
				continue
			}
			found++
			holds, seen := false, false // a keyword may stand in front of what the pattern matches
			for _, k := range rule.Keywords {
				lower := string(asciiLower(b))
				for at := 0; ; at++ {
					i := strings.Index(lower[at:], string(asciiLower([]byte(k))))
					if i < 0 {
						break
					}
					at += i
					seen = true
					holds = holds || rule.next == nil || rule.next.Match(b[at+len(k):])
				}
			}
			if seen {
				withKeyword++
			}
			if !holds && seen {
				missed++
				if worst == "" || len(b) < len(worst) {
					worst = string(b)
				}
			}
		}
		if missed > 0 {
			t.Errorf("%s (%s): %d of %d missed: %q", rule.ID, rule.Regex, missed, found, worst)
		}
		if found > 0 && withKeyword == 0 && !keywordElsewhere[rule.ID] {
			t.Errorf("%s (%s): no keyword in what it finds", rule.ID, rule.Regex)
		}
		if rule.next != nil && found < 5 && rule.Check != "pair" && rule.Check != "wallet" { // what random text is not
			t.Errorf("%s (%s): only %d texts", rule.ID, rule.Regex, found)
		}
	}
	if tried < 30 {
		t.Errorf("only %d rules have such a pattern", tried)
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
