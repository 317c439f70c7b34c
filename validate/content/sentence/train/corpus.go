package main

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/threegate/tool-exec/validate/content/sentence"
)

// retired are the parts of the corpus that were held back once and have been read: by
// authors who wrote results as a whole. The others measure only.
var retired = []string{"served", "second", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth"}

var kindOfRule = map[string]sentence.Kind{"result.instruction.execute": sentence.Execute, "result.instruction.fetch": sentence.Fetch, "result.claims.policy": sentence.Policy}

var codePoint = regexp.MustCompile(`⟨[0-9A-F]{4,6}⟩`)

// readRetired reads the retired parts of the corpus of results; testdata/corpus/README.md
// has their form.
func readRetired(dir string) ([]group, error) {
	var out []group
	for _, set := range retired {
		files, err := filepath.Glob(filepath.Join(dir, set+"-*.txt"))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s holds no %s", dir, set)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			gs, err := readCasesOf(string(b), set, strings.Contains(f, "disguised"))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f, err)
			}
			out = append(out, gs...)
		}
	}
	return out, nil
}

// readCasesOf reads the cases of one file that are of a kind or harmless.
func readCasesOf(text, set string, disguised bool) ([]group, error) {
	var out []group
	for part := range strings.SplitSeq("\n"+text, "\n== ") {
		head, body, _ := strings.Cut(part, "\n")
		fields := strings.Fields(head)
		if len(fields) == 0 {
			continue
		}
		kind := sentence.Harmless
		if fields[0] == "bad" {
			rule, _, _ := strings.Cut(fields[1], ",")
			var ok bool
			if kind, ok = kindOfRule[rule]; !ok {
				continue
			}
		}
		between, block := "\n", strings.HasSuffix(head, " block")
		if block {
			between = "\n%\n"
		}
		for line := range strings.SplitSeq(body, between) {
			if line = strings.Trim(line, "\n"); line == "" {
				continue
			}
			g := newGroup(line)
			g.set, g.disguised = set, disguised
			if !block {
				line = unescape.Replace(line)
			}
			line = codePoint.ReplaceAllStringFunc(line, func(s string) string {
				n, _ := strconv.ParseUint(strings.Trim(s, "⟨⟩"), 16, 32) // as its pattern has it
				return string(rune(n))
			})
			g.examples = []sentence.Example{{Kind: kind, Text: line}}
			g = finish(g, rand.New(rand.NewChaCha8(sha256.Sum256([]byte(line)))))
			g.weigh(ownWeight)
			out = append(out, g)
		}
	}
	return out, nil
}
