package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/validate/content/sentence"
	"github.com/threegate/tool-exec/validate/text"
)

// sought returns the words of orders and claims, of whatever language, that stand in
// two lines at least and in few harmless ones: with them a sentence is worth judging.
func sought(groups []group) []string {
	type count struct{ asking, harmless int }
	counts := map[string]*count{}
	for _, g := range groups {
		if len(g.examples) == 0 {
			continue
		}
		harmless := g.examples[0].Kind == sentence.Harmless
		if !harmless && g.set == "" { // a pattern: others have its words
			continue
		}
		seen := map[string]bool{}
		folded := string(text.Fold([]byte(g.examples[0].Text)).Text)
		for _, w := range strings.FieldsFunc(folded, func(r rune) bool { return r < 'a' || r > 'z' }) {
			if len(w) < 3 || seen[w] {
				continue
			}
			seen[w] = true
			c := counts[w]
			if c == nil {
				c = &count{}
				counts[w] = c
			}
			if harmless {
				c.harmless++
			} else {
				c.asking++
			}
		}
	}
	maps.DeleteFunc(counts, func(_ string, c *count) bool { return c.asking < 2 || 2*c.asking < 5*c.harmless+2 })
	return slices.Sorted(maps.Keys(counts))
}
