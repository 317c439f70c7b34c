// Command train learns the weights of package sentence from the labelled
// sentences of testdata: `make train`. The same files give the same weights, on the
// same kind of processor. The weights name what they were learned from, and a test
// fails when that has changed.
package main

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/validate/content/sentence"
	"github.com/threegate/tool-exec/validate/text"
)

var (
	root    = flag.String("root", ".", "the repository")
	verbose = flag.Bool("v", false, "list what the development part gets wrong")
	ask     = flag.Bool("ask", false, "learn nothing: say what the weights make of each line of the input")
	without = flag.String("apart", "", "learn without these sets (names with plus between, several of that with commas), and say what that makes of them")
	judge   = flag.String("judge", "", "learn nothing: say what the weights make of the sets of this folder")
	// Half of those lines look like orders on purpose. With this part about one in a
	// hundred harmless cases is refused of authors that were not learned from (-apart).
	wrong = flag.Float64("wrong", 0.0245, "the part of the harmless lines of the development part that may be refused")
)

// devPart is one of how many groups of examples is for development.
const devPart = 6

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	if *ask {
		return answer()
	}
	if *judge != "" {
		return strangers(*judge)
	}
	groups, err := readAll(*root)
	if err != nil {
		return err
	}
	if *without != "" {
		for _, set := range strings.Split(*without, ",") {
			apart(groups, set)
		}
		return nil
	}
	var learn, all []sentence.Prepared
	var dev []group
	for _, g := range groups {
		all = append(all, g.prepared...)
		if g.number%devPart == 0 {
			dev = append(dev, g)
		} else {
			learn = append(learn, g.prepared...)
		}
	}
	fmt.Printf("%d groups, %d examples to learn from, %d lines for development\n", len(groups), len(learn), len(dev))
	m := sentence.Learn(learn, sentence.DefaultLearning)
	m.Threshold = measure(m, dev)
	final := sentence.Learn(all, sentence.DefaultLearning)
	final.Threshold, final.Of = m.Threshold, digest(groups)
	if err := os.WriteFile(*root+"/validate/content/sentence/sought.txt", []byte(strings.Join(sought(groups), "\n")+"\n"), 0o644); err != nil {
		return err
	}
	return os.WriteFile(*root+"/validate/content/sentence/weights.bin", final.Encode(), 0o644)
}

// answer judges the lines of the standard input with the weights of this build.
func answer() error {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		j := sentence.NewJudge() // a document each: what was harmless before has no score
		folded := text.Fold([]byte(unescape.Replace(in.Text())))
		for s := range sentence.Split(folded.Text, func(int) bool { return true }) {
			v := j.Look(folded.Text[s.From:s.To])
			fmt.Printf("%d %6.2f %q %q\n", v.Kind, v.Score, folded.Text[s.From:s.To], v.Words)
		}
		j.Done()
	}
	return nil
}

type scored struct {
	sentence.Example
	score float64
	part  float64 // of its line
}

// rate is the part of lines whose examples score at least t.
func rate(list []scored, t float64) float64 {
	hit, all := 0.0, 0.0
	for _, s := range list {
		all += s.part
		if s.score >= t {
			hit += s.part
		}
	}
	return hit / all
}

// scores are those of the examples of groups, by kind; those of files apart.
func scores(m *sentence.Model, groups []group) (by map[sentence.Kind][]scored, files []scored) {
	by = map[sentence.Kind][]scored{}
	for _, g := range groups {
		for i, e := range g.examples {
			_, z := m.Score(g.prepared[i])
			if g.file {
				files = append(files, scored{e, z, 1})
				continue
			}
			by[e.Kind] = append(by[e.Kind], scored{e, z, 1 / float64(len(g.examples))})
		}
	}
	return by, files
}

// thresholdOf is the least score at which no more harmless lines are refused than may be.
func thresholdOf(good []scored) float64 {
	slices.SortFunc(good, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	threshold := good[0].score
	for _, s := range good {
		if rate(good, s.score) > *wrong {
			break
		}
		threshold = s.score
	}
	return threshold
}

// measure chooses the threshold by the harmless lines of the development part,
// and prints what it makes of the others.
func measure(m *sentence.Model, dev []group) float64 {
	by, files := scores(m, dev)
	good := by[sentence.Harmless]
	threshold := thresholdOf(good)
	for _, t := range []float64{-2, -1.5, -1, -0.5, 0, 0.5, 1, threshold} {
		fmt.Printf("threshold %6.2f: refused %5.2f %% of harmless lines, %5.2f %% of %d files", t, 100*rate(good, t), 100*rate(files, t), len(files))
		for k, name := range []string{"", "execute", "fetch", "policy"} {
			if k > 0 {
				fmt.Printf(", %s found %.2f %%", name, 100*rate(by[sentence.Kind(k)], t))
			}
		}
		fmt.Println()
	}
	if *verbose {
		list(by)
	}
	return threshold
}

// list prints the examples that are furthest from what they should be.
func list(by map[sentence.Kind][]scored) {
	for k := range 4 {
		list := by[sentence.Kind(k)]
		slices.SortFunc(list, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
		if k == 0 {
			slices.Reverse(list)
		}
		for _, s := range list[:min(len(list), 120)] {
			fmt.Printf("%d %6.2f %q\n", k, s.score, clip(s.Text))
		}
	}
}

func clip(s string) string { return s[:min(len(s), 150)] }

// kindOf names the kinds in files.
var kindOf = map[string]sentence.Kind{"harmless": sentence.Harmless, "execute": sentence.Execute, "fetch": sentence.Fetch, "policy": sentence.Policy, "mixed": sentence.Execute}

var unescape = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t")

// digest is that of all that weights are learned from but the files of modules, whose
// versions go.mod pins.
func digest(groups []group) [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintln(h, sentence.DefaultLearning, maxFileText, filesPerModule, moduleWeight)
	for _, g := range groups {
		if !g.file {
			for _, p := range g.prepared {
				p.Hash(h)
			}
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}
