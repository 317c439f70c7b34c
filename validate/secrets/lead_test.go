package secrets

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"
)

// TestUnled: a pattern without its leads finds what the pattern itself finds.
func TestUnled(t *testing.T) {
	v := viper.New()
	v.SetConfigType("toml")
	var vc config.ViperConfig
	if err := v.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		t.Fatal(err)
	}
	if err := v.Unmarshal(&vc); err != nil {
		t.Fatal(err)
	}
	cfg, err := vc.Translate()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	led, matched := 0, 0
	for _, id := range cfg.OrderedRules {
		re, leads := cfg.Rules[id].Regex, []lead(nil)
		bare := re
		if re != nil {
			bare, leads = unled(re)
		}
		if leads == nil {
			continue
		}
		led++
		parts := append([]string{"a", "key", "-x.", "_", " ", "=", "\"", "\n", "é", "ſ", "K", strings.Repeat("ab-", 20)}, cfg.Rules[id].Keywords...)
		for range 400 {
			var b []byte
			for range 1 + r.IntN(12) {
				b = append(b, parts[r.IntN(len(parts))]...)
				if r.IntN(3) == 0 {
					b = append(append(b, cfg.Rules[id].Keywords[0]...), []string{"=", "_key: '", " => "}[r.IntN(3)]...)
					b = append(b, madeUp(r)...)
				}
			}
			want, got := re.FindAllSubmatchIndex(b, -1), bare.FindAllSubmatchIndex(b, -1)
			last := 0
			for _, ix := range got {
				ix[0], last = widened(leads, b, ix[0], last), ix[1]
			}
			if !slices.EqualFunc(got, want, slices.Equal[[]int]) {
				t.Fatalf("%s in %q:\n%v, want\n%v", id, b, got, want)
			}
			matched += len(want)
		}
	}
	if led < 80 || matched < 500 {
		t.Errorf("%d patterns with leads, %d matches", led, matched)
	}
}

// TestGenericNear: where the condition of the generic rule does not hold, its
// pattern finds nothing.
func TestGenericNear(t *testing.T) {
	d := shared()
	i := slices.IndexFunc(d.rules, func(r rule) bool { return r.id == genericRule })
	generic := &d.rules[i]
	r := rand.New(rand.NewPCG(8, 8))
	parts := []string{"key", "_token", " secret ", "=", "==", ":", " : ", "=>", "'", "\"", " ", ";", ",", "\\n", "\\", "\n", ".", "-", "_", "+", "/", "é", "ſ", "abcdefghij", "0123456789ab", strings.Repeat("aB3", 40), strings.Repeat("x9=", 50), strings.Repeat("Qz7/", 60)}
	held, matched := 0, 0
	for range 100000 {
		var b []byte
		for range 2 + r.IntN(9) {
			b = append(b, parts[r.IntN(len(parts))]...)
		}
		holds := false
		for hit := range d.words.Walk(b) {
			holds = holds || slices.Contains(d.byWord[hit.Word], i) && generic.near(b, hit.End)
		}
		found := generic.re.Match(b)
		if found && !holds {
			t.Fatalf("%q holds %q", b, generic.re.Find(b))
		}
		if found {
			matched++
		}
		if holds {
			held++
		}
	}
	if matched < 2000 || held > 3*matched {
		t.Errorf("the condition holds in %d texts, the pattern in %d", held, matched)
	}
}

// madeUp is a text of the form that secrets have.
func madeUp(r *rand.Rand) string {
	set := "abcdef0123456789"
	if r.IntN(2) == 0 {
		set += "ghijkLMNOP_-"
	}
	b := make([]byte, []int{10, 15, 16, 20, 24, 25, 32, 39, 40, 64}[r.IntN(10)])
	for i := range b {
		b[i] = set[r.IntN(len(set))]
	}
	return string(b) + []string{" ", "'", "\n", ""}[r.IntN(4)]
}
