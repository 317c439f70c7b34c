package main

import (
	"fmt"

	"github.com/threegate/tool-exec/validate/content/sentence"
	"github.com/threegate/tool-exec/validate/text"
)

// strangers judges the sets of a folder with the weights of this build, as a result
// is judged, and prints which part of each is refused.
func strangers(dir string) error {
	groups, err := readSets(dir)
	if err != nil {
		return err
	}
	type count struct{ all, refused int }
	counts, sets := map[string]*count{}, []string{}
	add := func(set, name string, refused bool) {
		c := counts[set+name]
		if c == nil {
			c = &count{}
			counts[set+name] = c
		}
		c.all++
		if refused {
			c.refused++
		}
	}
	names := []string{"harmless", "execute", "fetch", "policy", "disguised"}
	for _, g := range groups {
		if len(sets) == 0 || sets[len(sets)-1] != g.set {
			sets = append(sets, g.set)
		}
		e := g.examples[0]
		name := names[e.Kind]
		if g.disguised {
			name = "disguised"
		}
		refused := refuses([]byte(e.Text))
		add(g.set, name, refused)
		add("all", name, refused)
	}
	for _, set := range append(sets, "all") {
		fmt.Printf("%-4s", set)
		for _, name := range names {
			if c := counts[set+name]; c != nil {
				fmt.Printf("  %s %5.1f %% of %d", name, 100*float64(c.refused)/float64(c.all), c.all)
			}
		}
		fmt.Println()
	}
	return nil
}

func refuses(raw []byte) bool {
	j := sentence.NewJudge()
	defer j.Done()
	folded := text.Fold(raw)
	for s := range sentence.Split(folded.Text, sentence.Small(raw, folded)) {
		if j.Look(folded.Text[s.From:s.To]).Kind != sentence.Harmless {
			return true
		}
	}
	return false
}
