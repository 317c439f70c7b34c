//go:build real

package accuracy_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/schemas"
)

// kinds of rows as figures for a rule name them.
const (
	allOf     = "all: "
	mostNamed = 6
)

// figures are what the tests counted, by row.
var figures = struct{ harmless, injections map[string]*row }{map[string]*row{}, map[string]*row{}}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if *update && len(figures.harmless) > 0 && len(figures.injections) > 0 {
		b, err := json.MarshalIndent(byRule(), "", "  ")
		if err == nil {
			err = os.WriteFile(root+"/schemas/real.json", append(b, '\n'), 0o644)
		}
		if err != nil {
			panic(err)
		}
	}
	os.Exit(code)
}

// aboutText are the rules that judge what the text of a result says.
var aboutText = regexp.MustCompile(`^result\.(?:payload|claims|instruction)\.`)

// byRule turns the rows round: for each of these rules, in how many texts of a kind it names
// something.
func byRule() map[string]*schemas.Measured {
	out := map[string]*schemas.Measured{}
	for _, r := range schemas.Rules() {
		if r.ID == ruleSecrets || aboutText.MatchString(r.ID) {
			out[r.ID] = &schemas.Measured{}
		}
	}
	for rule, m := range out {
		m.Harmless = counts(figures.harmless, rule, allOf)
		m.Injections = slices.DeleteFunc(counts(figures.injections, rule, ""), func(c schemas.Count) bool { return c.Found == 0 })
		slices.SortStableFunc(m.Injections, func(a, b schemas.Count) int { return cmp.Compare(b.Found, a.Found) })
		m.Injections = m.Injections[:min(len(m.Injections), mostNamed)]
	}
	return out
}

func counts(rows map[string]*row, rule, prefix string) (out []schemas.Count) {
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		what, ok := strings.CutPrefix(name, prefix)
		if ok && !strings.Contains(what, ": ") {
			out = append(out, schemas.Count{What: what, Found: rows[name].byRule[rule], Of: rows[name].n})
		}
	}
	return out
}
