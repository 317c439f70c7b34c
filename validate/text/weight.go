package text

import (
	"regexp"
	"regexp/syntax"
)

// What patterns cost is bounded where they look at hostile text: perByte is how many states of a counted
// repetition count for one more byte, and perLoop how many loops do.
const (
	perByte = 25
	perLoop = 2
)

// Weight is what a byte that re looks at counts for: 1 for a plain pattern, more for one
// that keeps many states at once. Where the beginnings of matches stand close together,
// a machine for patterns keeps each of the states of the longest counted repetition for
// one of them, and all loops that have no end.
func Weight(re *regexp.Regexp) int {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return 1
	}
	return 1 + longestRepeat(tree)/perByte + loops(tree)/perLoop
}

// loops is how many loops without an end re holds, repetitions written out.
func loops(re *syntax.Regexp) (n int) {
	for _, sub := range re.Sub {
		n += loops(sub)
	}
	switch {
	case re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat && re.Max < 0:
		return n + 1
	case re.Op == syntax.OpRepeat:
		return n * max(re.Max, 1)
	}
	return n
}

func longestRepeat(re *syntax.Regexp) (n int) {
	for _, sub := range re.Sub {
		n = max(n, longestRepeat(sub))
	}
	if re.Op == syntax.OpRepeat {
		n = max(n, re.Min, re.Max)
	}
	return n
}
