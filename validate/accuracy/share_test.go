//go:build real

package accuracy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"testing"
)

// leastNamed is how many texts there must be for a percentage of them.
const leastNamed = 50

// share says how many of n texts, as a percentage with its interval where there are enough.
func share(k, n int) string {
	if n < leastNamed {
		return fmt.Sprintf("%d of %d", k, n)
	}
	from, to := wilson(k, n)
	return fmt.Sprintf("%.2f %% (%.2f-%.2f)", 100*float64(k)/float64(n), 100*from, 100*to)
}

// wilson is the interval of 95 % of a share of k of n, after Wilson.
func wilson(k, n int) (from, to float64) {
	const z = 1.96
	p, m := float64(k)/float64(n), float64(n)
	middle, reach := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, (middle-reach)/(1+z*z/m)), (middle + reach) / (1 + z*z/m)
}

// countedFile are the committed figures of the sources that are only counted, below which none may fall.
const countedFile = "counted.json"

// tally is in how many texts of a row it went well.
type tally struct {
	N    int `json:"n"`
	Well int `json:"well"`
}

func readTallies(t *testing.T) map[string]map[string]tally {
	t.Helper()
	out := map[string]map[string]tally{}
	b, err := os.ReadFile(countedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return out
	}
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// worseThanBefore fails where a committed figure of rows fell: on as many texts as then by one, on others by more than
// chance. With -update it writes them.
func worseThanBefore(t *testing.T, what string, rows map[string]*row, well func(*row) int) {
	t.Helper()
	all := readTallies(t)
	now := map[string]tally{}
	for name, r := range rows {
		now[name] = tally{r.n, well(r)}
	}
	if *update {
		all[what] = now
		b, err := json.MarshalIndent(all, "", "  ")
		if err == nil {
			err = os.WriteFile(countedFile, append(b, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(all[what])) {
		before, after := all[what][name], now[name]
		least := before.Well
		if after.N != before.N {
			from, _ := wilson(before.Well, before.N)
			least = int(from * float64(after.N))
		}
		if after.Well < least {
			t.Errorf("%s, %s: %d of %d, before %d of %d", what, name, after.Well, after.N, before.Well, before.N)
		}
	}
}

// TestShare: no percentage of few texts, and each with its interval.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		k, n int
		want string
	}{{3, 49, "3 of 49"}, {25, 50, "50.00 % (36.64-63.36)"}, {0, 1000, "0.00 % (0.00-0.38)"}} {
		if got := share(c.k, c.n); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.k, c.n, got, c.want)
		}
	}
}
