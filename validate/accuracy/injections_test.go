//go:build real

package accuracy_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestInjections judges the texts of the public sets and prints, by class, which part of
// them is refused or withheld.
func TestInjections(t *testing.T) {
	samples := append(readSets(t), programs(t)...)
	vs := judgeTexts(samples, func(s sample) []byte { return []byte(s.text) })
	learning, counts := map[string]*row{}, figures.injections
	for i, s := range samples {
		list := counts
		if !s.counted {
			list = learning
			if *look != "" && regexp.MustCompile(*look).MatchString(s.set+": "+string(s.class)) {
				printVerdict(s, vs[i])
			}
		}
		at(list, string(s.class)).add("", vs[i])
		at(list, string(s.class)+": "+s.set).add("", vs[i])
	}
	printRows("public sets, for learning", learning)
	printRows("public sets, only counted", counts)
	for _, c := range slices.Sorted(maps.Keys(recallBars)) {
		if r := at(counts, string(c)); r.n >= leastNamed {
			either := r.part(refused) + r.part(withheld)
			reach(t, string(c), either >= recallBars[c], "%.1f %% of %d texts are refused or withheld, at least %.0f %% must be",
				100*either, r.n, 100*recallBars[c])
		}
	}
	worseThanBefore(t, "injections", counts, func(r *row) int { return r.fates[refused] + r.fates[withheld] })
}

func printVerdict(s sample, v textVerdict) {
	fmt.Printf("%s %s: %s: %.600q\n", v.fate, s.set, s.class, s.text)
	printFound(s.set, []byte(s.text), v)
}

// programs are small programs of the machine as a result could hold them.
func programs(t *testing.T) (out []sample) {
	t.Helper()
	paths, err := filepath.Glob("/usr/bin/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil || len(b) > 40<<10 || !bytes.HasPrefix(b, []byte("\x7fELF")) {
			continue
		}
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		_, _ = w.Write(b) // into memory
		_ = w.Close()
		std := base64.StdEncoding.EncodeToString
		for _, text := range []string{std(b), folded(std(b)), hex.EncodeToString(b), std(z.Bytes()), folded(std(z.Bytes())),
			fmt.Sprintf("%q", string(b)), hex.Dump(b)} {
			out = append(out, sample{"programs of the machine", payload, "output:\n" + text + "\nend\n", true})
		}
		if len(out) >= 400 {
			break
		}
	}
	return out
}

func folded(s string) string {
	var out strings.Builder
	for len(s) > 76 {
		out.WriteString(s[:76] + "\n")
		s = s[76:]
	}
	return out.String() + s
}

// TestLiterals: Python's strings are read as Python reads them.
func TestLiterals(t *testing.T) {
	src := `x = {"text": "a \"b\" " 'c\n' f"{d}", "other": "no", "text": """e
"f" \u0041""", "text": (
    "g"
    "h"
)}`
	want := []string{"a \"b\" c\n{d}", "e\n\"f\" A", "gh"}
	if got := literals(src, `"text": `); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
