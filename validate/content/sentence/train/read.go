package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/threegate/tool-exec/validate/content/sentence"
)

// group is what was made of one line.
type group struct {
	number    uint32 // by the hash of the line
	file      bool   // a file of a module
	set       string // the author's, if it is of one
	disguised bool
	examples  []sentence.Example
	prepared  []sentence.Prepared // the same
}

func newGroup(line string) group {
	sum := sha256.Sum256([]byte(line))
	return group{number: binary.LittleEndian.Uint32(sum[4:8])}
}

// What a line that somebody wrote for itself counts, one that was made from a pattern,
// of which there are many, and one that a test asks for.
const (
	ownWeight     = 4
	patternWeight = 2
	testWeight    = 20
)

func (g *group) weigh(factor float64) {
	for i := range g.examples {
		if g.examples[i].Weight == 0 {
			g.examples[i].Weight = 1
		}
		g.examples[i].Weight *= factor
	}
}

// readAll reads all that weights are learned from. Of the corpus only retired parts are
// among it: the rest measures.
func readAll(root string) ([]group, error) {
	all, err := readOwn(root)
	if err != nil {
		return nil, err
	}
	modules, err := readModules(root)
	if err != nil {
		return nil, err
	}
	all = append(all, modules...)
	prepare(all)
	return all, nil
}

// readOwn reads what lies in the repository.
func readOwn(root string) ([]group, error) {
	training, err := readTraining(filepath.Join(root, "testdata/training"))
	if err != nil {
		return nil, err
	}
	cases, err := readCases(filepath.Join(root, "validate/content/testdata"))
	if err != nil {
		return nil, err
	}
	sets, err := readSets(filepath.Join(root, "testdata/sentences"))
	if err != nil {
		return nil, err
	}
	corpus, err := readRetired(filepath.Join(root, "testdata/corpus/result"))
	if err != nil {
		return nil, err
	}
	return slices.Concat(training, cases, sets, corpus), nil
}

func prepare(groups []group) {
	for i := range groups {
		for _, e := range groups[i].examples {
			e.Origin = uint32(i) + 1
			groups[i].prepared = append(groups[i].prepared, sentence.Prepare(e))
		}
	}
}

// readCases reads the cases of package content's tests that are sentences.
func readCases(dir string) ([]group, error) {
	var out []group
	for _, name := range []string{"harmless", "execute", "fetch", "policy", "mixed"} {
		b, err := os.ReadFile(filepath.Join(dir, name+".txt"))
		if err != nil {
			return nil, err
		}
		for _, line := range strings.Split(string(b), "\n") {
			if line == "" || strings.HasPrefix(line, "#!!") {
				continue
			}
			g := newGroup(line)
			g.examples = []sentence.Example{{Kind: kindOf[name], Text: unescape.Replace(line)}}
			g = finish(g, rand.New(rand.NewChaCha8(sha256.Sum256([]byte(line)))))
			g.weigh(testWeight)
			out = append(out, g)
		}
	}
	return out, nil
}

// readTraining reads files of "$name = a | b" and of groups "== KIND COUNT",
// whose lines are patterns in which {name} stands for one of a or b.
func readTraining(dir string) ([]group, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	slots := map[string][]string{}
	type pattern struct {
		line  string
		kind  sentence.Kind
		count int
	}
	var patterns []pattern
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		var kind sentence.Kind
		count := 0
		for i, line := range strings.Split(string(b), "\n") {
			switch {
			case line == "" || strings.HasPrefix(line, "#!"):
			case strings.HasPrefix(line, "== "):
				fields := strings.Fields(line)
				k, ok := kindOf[fields[1]]
				if !ok {
					return nil, fmt.Errorf("%s:%d: there is no kind %q", f, i+1, fields[1])
				}
				kind, count = k, 1
				if len(fields) > 2 {
					if count, err = strconv.Atoi(fields[2]); err != nil {
						return nil, fmt.Errorf("%s:%d: %w", f, i+1, err)
					}
				}
			case strings.HasPrefix(line, "$") && strings.Contains(line, " = "):
				name, list, _ := strings.Cut(line[1:], " = ")
				for _, a := range strings.Split(list, "|") {
					slots[name] = append(slots[name], strings.TrimSpace(a))
				}
			case count == 0:
				return nil, fmt.Errorf("%s:%d: a sentence before the first group", f, i+1)
			default:
				patterns = append(patterns, pattern{line, kind, count})
			}
		}
	}
	var out []group
	for _, p := range patterns {
		g := newGroup(p.line)
		r := rand.New(rand.NewChaCha8(sha256.Sum256([]byte(p.line))))
		n := p.count
		if !strings.Contains(p.line, "{") {
			n = 1
		}
		seen := map[string]bool{}
		for range n {
			s, err := fill(p.line, slots, r, 0)
			if err != nil {
				return nil, err
			}
			if s = unescape.Replace(s); !seen[s] {
				seen[s] = true
				g.examples = append(g.examples, sentence.Example{Kind: p.kind, Text: s})
			}
		}
		g = finish(g, r)
		g.weigh(patternWeight)
		out = append(out, g)
	}
	return out, nil
}

// wrappers are what sentences of all kinds stand in.
var wrappers = []string{"**%s**", "<!-- %s -->", "- %s", "> %s", "# %s", "// %s", `17,"%s",0.5`, `{"note": "%s"}`, "note: %s", "System: %s", "* %s", "1. %s", "message: %s", `"%s"`, "[INFO] %s", "2026-02-09 16:05:01 INFO %s", "(%s)", "title,%s,3", "<p>%s</p>", "comment: %s", "_%s_", "=> %s", "user: %s", "text=%s", "row 12: %s", "%s (2)", "%s :-)", "Hi! %s Thanks.", "Result: 42\n%s\nDone"}

// finish gives the examples of a line their weight, so that a pattern does not
// outweigh all single sentences, and puts some of them into wrappers.
func finish(g group, r *rand.Rand) group {
	n := len(g.examples)
	for i := range g.examples {
		g.examples[i].Weight = 1 / float64(1+n/6)
	}
	for i := range n {
		if e := g.examples[i]; r.IntN(3) == 0 || n < 3 {
			e.Weight *= 0.7
			e.Text = strings.Replace(wrappers[r.IntN(len(wrappers))], "%s", e.Text, 1)
			g.examples = append(g.examples, e)
		}
		if e := g.examples[i]; r.IntN(6) == 0 && !strings.Contains(e.Text, "\n") {
			e.Weight *= 0.7
			words := strings.Split(e.Text, " ")
			for k := 3; k < len(words); k += 4 {
				words[k] = "\n" + words[k]
			}
			e.Text = strings.ReplaceAll(strings.Join(words, " "), " \n", "\n")
			g.examples = append(g.examples, e)
		}
	}
	return g
}

var slot = regexp.MustCompile(`\{[a-z0-9_]+\}`)

// fill replaces the slots of a pattern. A blank in front of one that is empty goes too.
func fill(line string, slots map[string][]string, r *rand.Rand, depth int) (string, error) {
	var bad error
	s := slot.ReplaceAllStringFunc(line, func(name string) string {
		list := slots[name[1:len(name)-1]]
		if len(list) == 0 {
			return name // braces of a text
		}
		one := list[r.IntN(len(list))]
		if depth > 6 {
			bad = fmt.Errorf("%s stands for itself", name)
			return one
		}
		one, err := fill(one, slots, r, depth+1)
		if err != nil {
			bad = err
		}
		return one
	})
	s = strings.TrimSpace(strings.ReplaceAll(s, "  ", " "))
	if depth == 0 && s != "" && r.IntN(3) > 0 {
		first, n := utf8.DecodeRuneInString(s)
		s = string(unicode.ToUpper(first)) + s[n:]
	}
	return s, bad
}
