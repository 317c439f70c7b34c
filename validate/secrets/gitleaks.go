package secrets

import (
	"slices"
	"strings"
	"sync"

	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"

	"github.com/threegate/tool-exec/validate/internal/keyword"
	"github.com/threegate/tool-exec/validate/internal/weight"
)

// detector holds the compiled rules. It is read-only after its making.
//
// Only gitleaks' configuration is used, not its engine: the engine finds lines
// in time quadratic in the document, lets a comment in the scanned text switch
// rules off ("gitleaks:allow"), gives lines instead of offsets and logs to the
// terminal.
type detector struct {
	rules []rule
	// words finds the keywords of all rules in one pass; byWord lists the rules
	// of each.
	words  *keyword.Finder
	byWord [][]int
}

var shared = sync.OnceValue(func() *detector {
	d := &detector{rules: slices.Concat(gitleaksRules(), ownRules(), kindRules(), tokenRules())}
	number := map[string]int{}
	var all []string
	for i := range d.rules {
		r := &d.rules[i]
		if r.re != nil {
			r.weight = weight.Of(r.re)
		}
		for _, k := range r.keywords {
			n, ok := number[k]
			if !ok {
				n = len(all)
				number[k] = n
				all = append(all, k)
				d.byWord = append(d.byWord, nil)
			}
			d.byWord[n] = append(d.byWord[n], i)
		}
	}
	d.words = keyword.New(all, true)
	return d
})

// Warm compiles the rules, which takes some 50 ms, ahead of the first Scan.
func Warm() { shared() }

// gitleaksRules translates gitleaks' embedded default configuration. That it
// can be translated is a property of the build, which a test proves.
func gitleaksRules() []rule {
	v := viper.New() // not the global one: that is its owner's
	v.SetConfigType("toml")
	var vc config.ViperConfig
	if err := v.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		panic("secrets: embedded rules: " + err.Error())
	}
	if err := v.Unmarshal(&vc); err != nil {
		panic("secrets: embedded rules: " + err.Error())
	}
	cfg, err := vc.Translate()
	if err != nil {
		panic("secrets: embedded rules: " + err.Error())
	}
	var rs []rule
	for _, id := range cfg.OrderedRules {
		r := cfg.Rules[id]
		if r.Regex == nil || len(r.Keywords) == 0 || r.SkipReport || replaced[id] {
			continue // a rule about file names, or one that we do better
		}
		out := rule{id: id, group: r.SecretGroup, entropy: r.Entropy, allow: gitleaksAllow(r.Allowlists)}
		for _, k := range r.Keywords {
			out.keywords = append(out.keywords, strings.ToLower(k))
		}
		out.near = nearOf(r.Regex, out.keywords)
		out.re, out.leads = unled(r.Regex)
		if id == "vault-service-token" {
			out.near = runNear(vaultRun) // its keyword "s." ends every other sentence
		}
		if id == genericRule {
			out.check = plausibleGeneric
			out.near = genericNear
		}
		rs = append(rs, out)
	}
	return rs
}

// gitleaksAllow turns a rule's allowlists into one function. gitleaks' global
// allowlist is left out: it lets any secret pass that merely contains "false";
// placeholder does its work.
func gitleaksAllow(lists []*config.Allowlist) func(m found) bool {
	return func(m found) bool {
		for _, a := range lists {
			if len(a.Paths) > 0 || len(a.Commits) > 0 {
				continue // true only of files with certain names: ours have none
			}
			target := m.secret
			switch a.RegexTarget {
			case "match":
				target = m.match
			case "line":
				target = m.line
			}
			re := a.RegexAllowed(target)
			stop, _ := a.ContainsStopWord(m.secret)
			if a.MatchCondition == config.AllowlistMatchAnd {
				if (len(a.Regexes) == 0 || re) && (len(a.StopWords) == 0 || stop) {
					return true
				}
			} else if re || stop {
				return true
			}
		}
		return false
	}
}
