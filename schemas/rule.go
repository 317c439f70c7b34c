package schemas

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"
)

// Rule is one entry of the catalogue: what `threegate explain` prints and what
// a finding refers to.
type Rule struct {
	// ID is dotted and stable.
	ID string `json:"rule" yaml:"-"`
	// Level is the default severity.
	Level Severity `json:"level"`
	// Must says that a normative text demands it: config can't lower the level.
	Must bool `json:"must"`
	// Applies lists the kinds of document that the rule looks at.
	Applies []Kind `json:"applies"`
	// Tier says of a rule about the text of results what becomes of the text: "refuse" (the
	// whole result), "withhold" (the place), "mask" (it, wherever else it stands) or "note". It is empty for other
	// rules.
	Tier string `json:"tier,omitempty"`
	// Marker says of such a rule in a marker what the text does, in plain words.
	Marker string `json:"marker,omitempty"`
	// Release says where a person may release a finding of the rule: ReleaseText, ReleaseProse, or
	// nowhere.
	Release string `json:"release,omitempty"`
	// Title is one short line. That of a rule with a tier says what the text does.
	Title string `json:"title"`
	// Why says what the rule protects.
	Why string `json:"why"`
	// Bad and Good are short example texts.
	Bad  string `json:"bad"`
	Good string `json:"good"`
	// Hint says how to mend a document that breaks the rule.
	Hint string `json:"fix"`
	// Source names the normative sentence or design decision.
	Source string `json:"source"`
}

// Where a finding is a judgement about text, which a person may take back. A rule about a
// structure, an approval, a digest, or what the sandbox is given has none.
const (
	ReleaseText  = "text"  // wherever it stands
	ReleaseProse = "prose" // in text for people, never in a command, in code or in inputs
)

// The tiers of rules about text.
const (
	TierRefuse   = "refuse"
	TierWithhold = "withhold"
	TierMask     = "mask"
	TierNote     = "note"
)

// ruleFiles hold the rules, one file a group. A file lists sets of rules: what stands below "all" holds for each
// rule of the set that does not say otherwise.
//
//go:embed rules/*.yaml
var ruleFiles embed.FS

// catalogue is read and sorted by id once: every finding looks its rule up.
var catalogue = sync.OnceValue(func() []Rule {
	var rs []Rule
	files, err := fs.Glob(ruleFiles, "rules/*.yaml")
	for _, file := range files {
		err = errors.Join(err, readRules(file, &rs))
	}
	if err != nil {
		panic(err) // embedded and tested
	}
	slices.SortFunc(rs, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return rs
})

func readRules(file string, rs *[]Rule) error {
	data, err := ruleFiles.ReadFile(file)
	if err != nil {
		return err
	}
	var sets []struct {
		All   yaml.Node
		Rules map[string]yaml.Node
	}
	if err := yaml.Load(data, &sets, yaml.WithKnownFields()); err != nil {
		return fmt.Errorf("schemas: %s: %w", file, err)
	}
	for _, set := range sets {
		for id, node := range set.Rules {
			r := Rule{ID: id}
			for _, n := range []yaml.Node{set.All, node} {
				if err := n.Load(&r, yaml.WithKnownFields()); err != nil {
					return fmt.Errorf("schemas: %s: %s: %w", file, id, err)
				}
			}
			*rs = append(*rs, r)
		}
	}
	return nil
}

// RulesVersion tells one catalogue from another: the beginning of its digest.
var RulesVersion = sync.OnceValue(func() string {
	h := sha256.New()
	for _, r := range catalogue() {
		fmt.Fprintf(h, "%+v\n", r)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
})

// Rules returns the whole catalogue, sorted by id.
func Rules() []Rule { return slices.Clone(catalogue()) }

// RulesBelow returns the rules whose ids begin with prefix as whole words.
func RulesBelow(prefix string) []Rule {
	prefix = strings.TrimSuffix(prefix, ".") + "."
	return slices.DeleteFunc(Rules(), func(r Rule) bool { return !strings.HasPrefix(r.ID, prefix) })
}

// RuleByID finds a rule of the catalogue.
func RuleByID(id string) (Rule, bool) {
	rs := catalogue()
	i, ok := slices.BinarySearchFunc(rs, id, func(r Rule, id string) int { return strings.Compare(r.ID, id) })
	if !ok {
		return Rule{}, false
	}
	return rs[i], true
}
