package secrets

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/threegate/tool-exec/validate/text"
)

var (
	// gitleaksTOML are the rules of gitleaks v8.30.1 as they are published; `make
	// gitleaks-rules` takes over those of another version. Their licence lies next to them.
	//go:embed gitleaks.toml
	gitleaksTOML string
	//go:embed rules.toml
	ownTOML string
)

// ruleFile is a set of rules in gitleaks' format.
type ruleFile struct {
	Allowlist allowlist
	Rules     []*rule
}

// rule is one kind of secret. The fields of the TOML files are those of gitleaks, but for
// the last group, which rules.toml explains.
type rule struct {
	ID          string
	Regex       string
	SecretGroup int // 0 means the first group that matched something
	Entropy     float64
	Keywords    []string
	Allowlists  []*allowlist

	Next, Holds     string
	Classes, Digits int
	Check           string

	re, next, holds *regexp.Regexp
	check           func(found) bool
	weight          int // what a byte that re looks at counts for
}

// allowlist says what is no secret although a rule matches it.
type allowlist struct {
	Condition   string // "AND": all of the list must hold; else one of it
	Paths       []string
	RegexTarget string // "match" or "line"; else the secret
	Regexes     []string
	StopWords   []string
	regexes     []*regexp.Regexp
}

// ruleSet holds the compiled rules. It is read-only after its making.
type ruleSet struct {
	rules []*rule
	words *text.Keywords
}

// own are our rules. Their global allowlist says what stands for a secret without being
// one; that of gitleaks would let any secret pass that holds "false".
var own = sync.OnceValue(func() ruleFile {
	f := readRules(ownTOML)
	f.Allowlist.compile()
	return f
})

// leadIn begins many of gitleaks' patterns: up to 50 characters before a keyword, or none.
// It changes which text is reported but not which secret is found, and takes most of the
// time. Only checks look at that text.
const leadIn = `[\w.-]{0,50}?`

// compiled reads and compiles the rules at the first scan. That they can be compiled is a
// property of the build, which every test of this package proves.
var compiled = sync.OnceValue(func() *ruleSet {
	set, byID := &ruleSet{}, map[string]*rule{}
	for _, r := range own().Rules {
		byID[r.ID] = r
	}
	for _, r := range readRules(gitleaksTOML).Rules {
		if r.Regex == "" || len(r.Keywords) == 0 {
			continue // a rule about names of files
		}
		if o := byID[r.ID]; o != nil {
			if o.Regex != "" {
				continue
			}
			r.Next, r.Check = o.Next, o.Check
		}
		if r.Check == "" {
			r.Regex = strings.ReplaceAll(r.Regex, leadIn, "")
		}
		set.rules = append(set.rules, r)
	}
	for _, r := range own().Rules {
		if r.Regex != "" {
			set.rules = append(set.rules, r)
		}
	}
	set.compile()
	return set
})

func readRules(file string) (f ruleFile) {
	if _, err := toml.Decode(file, &f); err != nil {
		panic("secrets: embedded rules: " + err.Error())
	}
	return f
}

func (set *ruleSet) compile() {
	var words [][]string
	for _, r := range set.rules {
		r.compile()
		var lower []string
		for _, k := range r.Keywords {
			lower = append(lower, string(asciiLower([]byte(k))))
		}
		words = append(words, lower)
	}
	set.words = text.NewKeywords(words)
}

func (r *rule) compile() {
	optional := func(pattern string) *regexp.Regexp {
		if pattern == "" {
			return nil
		}
		return regexp.MustCompile(pattern)
	}
	r.re, r.next, r.holds = regexp.MustCompile(r.Regex), optional(r.Next), optional(r.Holds)
	r.weight = text.Weight(r.re)
	if r.Check != "" {
		if r.check = checks[r.Check]; r.check == nil {
			panic(fmt.Sprintf("secrets: %s: there is no check %q", r.ID, r.Check))
		}
	}
	for _, a := range r.Allowlists {
		a.compile()
	}
}

func (a *allowlist) compile() {
	for _, pattern := range a.Regexes {
		a.regexes = append(a.regexes, regexp.MustCompile(pattern))
	}
}

// allows says whether the list lets m pass.
func (a *allowlist) allows(m found) bool {
	if len(a.Paths) > 0 {
		return false // it concerns files of certain names, and a text has none
	}
	target := m.secret
	switch a.RegexTarget {
	case "match":
		target = m.match
	case "line":
		target = m.line
	}
	re, stop := false, false
	for _, r := range a.regexes {
		re = re || r.MatchString(target)
	}
	lower := strings.ToLower(m.secret)
	for _, w := range a.StopWords {
		stop = stop || strings.Contains(lower, strings.ToLower(w))
	}
	if a.Condition == "AND" {
		return (len(a.regexes) == 0 || re) && (len(a.StopWords) == 0 || stop)
	}
	return re || stop
}

// finds says whether what matched the rule's pattern is a secret.
func (r *rule) finds(m found) bool {
	switch {
	case r.Entropy > 0 && entropy(m.secret) <= r.Entropy, classes(m.secret) < r.Classes,
		!hasDigits(m.secret, r.Digits), r.holds != nil && !r.holds.MatchString(m.secret), r.check != nil && !r.check(m):
		return false
	}
	for _, a := range r.Allowlists {
		if a.allows(m) {
			return false
		}
	}
	return true
}
