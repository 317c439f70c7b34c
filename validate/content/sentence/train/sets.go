package main

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/validate/content/sentence"
)

// readSets reads the folders of sentences that one author each wrote without
// knowing the others or the rules: KIND.txt holds a case on each line, and
// disguised.txt the kind, a tab and a case.
func readSets(dir string) ([]group, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.txt"))
	if err != nil {
		return nil, err
	}
	var out []group
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(f), ".txt")
		for i, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
			kind := name
			if name == "disguised" {
				kind, line, _ = strings.Cut(line, "\t")
			}
			k, ok := kindOf[kind]
			if !ok {
				return nil, fmt.Errorf("%s:%d: there is no kind %q", f, i+1, kind)
			}
			g := newGroup(line)
			g.set, g.disguised = filepath.Base(filepath.Dir(f)), name == "disguised"
			g.examples = []sentence.Example{{Kind: k, Text: unescape.Replace(line)}}
			g = finish(g, rand.New(rand.NewChaCha8(sha256.Sum256([]byte(line)))))
			g.weigh(ownWeight)
			out = append(out, g)
		}
	}
	return out, nil
}

// apart learns from all but some sets (names with a plus between), and prints what
// that makes of them.
func apart(groups []group, sets string) {
	out := strings.Split(sets, "+")
	var learn []sentence.Prepared
	var test []group
	for _, g := range groups {
		switch {
		case !slices.Contains(out, g.set):
			learn = append(learn, g.prepared...)
		case !g.disguised:
			test = append(test, group{number: g.number, examples: g.examples[:1], prepared: g.prepared[:1]})
		}
	}
	m := sentence.Learn(learn, sentence.DefaultLearning)
	by, _ := scores(m, test)
	for _, part := range []float64{0.005, 0.01, 0.02} {
		*wrong = part
		t := thresholdOf(by[sentence.Harmless])
		fmt.Printf("%s, %.1f %% wrong: ", sets, 100*part)
		all, hit := 0.0, 0.0
		for k, name := range []string{"", "execute", "fetch", "policy"} {
			if k > 0 {
				list := by[sentence.Kind(k)]
				fmt.Printf("%s %.1f %%, ", name, 100*rate(list, t))
				all += float64(len(list))
				hit += rate(list, t) * float64(len(list))
			}
		}
		fmt.Printf("all %.1f %%, from %.2f\n", 100*hit/all, t)
	}
	if *verbose {
		list(by)
	}
}
