package contract

import (
	"regexp"
	"slices"
	"strings"
)

// Near finds among names the one that somebody may have meant, or "". It looks at the words of names in any order and
// case, and at names that differ by a letter or two.
func Near(name string, among []string) string {
	best, least := "", max(2, len(name)/4)+1
	for _, other := range among {
		if d := min(distance(normal(name), normal(other)), distance(name, other)); d < least {
			best, least = other, d
		}
	}
	return best
}

// DidYouMean is what a message says of a near name, if there is one.
func DidYouMean(name string, among []string) string {
	if near := Near(name, among); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

var hump = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// normal is a name's words, sorted, in lower case.
func normal(name string) string {
	name = strings.ToLower(hump.ReplaceAllString(Shorten(name, 100), "${1}_$2"))
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-. /", r) })
	slices.Sort(words)
	return strings.Join(words, "_")
}

// distance is how many letters of short texts differ (Levenshtein's).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
