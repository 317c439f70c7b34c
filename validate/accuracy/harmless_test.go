//go:build real

package accuracy_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	look = flag.String("look", "", "list what is found in the sources and sets for learning that match")
	keep = flag.String("keep", "", "a file to keep the harvest in: read if it is there, else written")
)

const root = "../.."

// minDocuments is how many harmless documents there must be, so that a machine that lacks
// them can't pass.
const minDocuments = 5000

// bars are the greatest parts of the counted sources that may be refused, and refused or
// withheld.
var bars = map[textKind]struct{ refused, either float64 }{
	output:        {0.001, 0.01},
	documentation: {0.002, 0.03},
}

// clean are sources of which nothing may be refused or withheld.
var clean = []string{"HumanEval", "Go tests", "Python tests", "builds", "logs"}

// TestHarmless judges the harvest and prints what came of it, by source.
func TestHarmless(t *testing.T) {
	docs := documents(t)
	if len(docs) < minDocuments {
		t.Errorf("only %d harmless documents were found, %d are wanted: apt-get install man-db groff info manpages "+
			"manpages-dev python3 gcc git perl, in an image that keeps %s", len(docs), minDocuments, "/usr/share/doc and /usr/share/man")
	}
	t.Logf("%d harmless documents", len(docs))
	vs := judgeTexts(docs, func(d *harvested) []byte { return d.Text })
	learning, counts := map[string]*row{}, figures.harmless
	for i, d := range docs {
		list := counts
		if !d.Counted {
			list = learning
			if *look != "" && regexp.MustCompile(*look).MatchString(d.Source) {
				printFound(d.Source+": "+d.Name, d.Text, vs[i])
			}
		}
		at(list, d.Source).add(d.Kind, vs[i])
		at(list, allOf+string(d.Kind)).add("", vs[i])
	}
	printRows("harmless, for learning", learning)
	printRows("harmless, only counted", counts)
	for _, kind := range slices.Sorted(maps.Keys(bars)) {
		r, bar := at(counts, allOf+string(kind)), bars[kind]
		reach(t, string(kind)+", refused", r.part(refused) <= bar.refused, "%.2f %%, at most %.2f %% may be",
			100*r.part(refused), 100*bar.refused)
		either := r.part(refused) + r.part(withheld)
		reach(t, string(kind)+", refused or withheld", either <= bar.either, "%.2f %%, at most %.2f %% may be",
			100*either, 100*bar.either)
	}
	worseThanBefore(t, "harmless", counts, func(r *row) int { return r.n - r.fates[refused] - r.fates[withheld] })
	for _, name := range clean {
		r := at(learning, name)
		n := r.fates[refused] + r.fates[withheld]
		reach(t, name, n == 0, "%d of %d are refused or withheld, none may be", n, r.n)
	}
}

// notReached are the bars that are not reached: they are only printed.
var notReached = []string{"output, refused or withheld", "documentation, refused or withheld"}

// reach fails, or prints that it is known, where a bar is not reached.
func reach(t *testing.T, bar string, ok bool, format string, args ...any) {
	t.Helper()
	text := bar + ": " + fmt.Sprintf(format, args...)
	switch {
	case ok && slices.Contains(notReached, bar):
		fmt.Println("REACHED, and listed as not: " + text)
	case ok:
	case slices.Contains(notReached, bar):
		fmt.Println("NOT REACHED: " + text)
	default:
		t.Error(text)
	}
}

// row is what came of the texts of one source.
type row struct {
	kind   textKind
	n      int
	fates  [3]int
	byRule map[string]int // texts in which a rule named something
}

func at(m map[string]*row, name string) *row {
	if m[name] == nil {
		m[name] = &row{byRule: map[string]int{}}
	}
	return m[name]
}

func (r *row) add(kind textKind, v textVerdict) {
	r.kind = kind
	r.n++
	r.fates[v.fate]++
	seen := map[string]bool{}
	for _, f := range v.found {
		if !seen[f.rule] {
			seen[f.rule] = true
			r.byRule[f.rule]++
		}
	}
}

// printRows prints what came of the texts of a list, by source.
func printRows(title string, rows map[string]*row) {
	fmt.Printf("\n%-50s %-14s %6s %22s %22s   %s\n", title, "", "n", "refused", "refused or withheld", "by rule")
	for _, name := range slices.SortedFunc(maps.Keys(rows), func(a, b string) int {
		return cmp.Or(cmp.Compare(rows[a].kind, rows[b].kind), cmp.Compare(a, b))
	}) {
		r := rows[name]
		fmt.Printf("%-50s %-14s %6d %22s %22s   %s\n", name, r.kind, r.n, share(r.fates[refused], r.n),
			share(r.fates[refused]+r.fates[withheld], r.n), r.rules())
	}
}

func (r *row) part(f fate) float64 { return float64(r.fates[f]) / float64(max(r.n, 1)) }

func (r *row) rules() string {
	var out []string
	for _, rule := range slices.SortedFunc(maps.Keys(r.byRule), func(a, b string) int { return r.byRule[b] - r.byRule[a] }) {
		out = append(out, fmt.Sprintf("%s %d", strings.TrimPrefix(rule, "result."), r.byRule[rule]))
	}
	return strings.Join(out, ", ")
}

// printFound lists what rules name in a text, with the lines.
func printFound(name string, text []byte, v textVerdict) {
	for _, f := range v.found {
		from, to := f.offset, min(f.end, len(text))
		for from > 0 && text[from-1] != '\n' && f.offset-from < 80 {
			from--
		}
		for to < len(text) && text[to] != '\n' && to-f.end < 80 {
			to++
		}
		fmt.Printf("%s %s:%d %s %s: %s: %.400q\n", v.fate, name, 1+lineOf(text, f.offset), f.rule, f.fate, f.what,
			text[from:to])
	}
}

// documents are the harvest, and what tests of HumanEval print if that is there.
func documents(t *testing.T) []*harvested {
	t.Helper()
	docs, err := harvest(t.Context(), root, *keep)
	if err != nil {
		t.Fatal(err)
	}
	return append(docs, humanEval(t)...)
}
