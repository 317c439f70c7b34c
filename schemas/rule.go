package schemas

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Rule is one entry of the catalogue: what `threegate explain` prints and what
// a finding refers to.
type Rule struct {
	// ID is dotted and stable.
	ID string `json:"rule"`
	// Level is the default severity.
	Level Severity `json:"level"`
	// Must says that a normative text demands it: config can't lower the level.
	Must bool `json:"must"`
	// Applies lists the kinds of document that the rule looks at.
	Applies []Kind `json:"applies"`
	// Tier says of a rule about the text of results what becomes of the text: "refuse" (the
	// whole result), "withhold" (the place) or "note". It is empty for other rules.
	Tier string `json:"tier,omitempty"`
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

// catalogue is sorted by id once: every finding looks its rule up.
var catalogue = sync.OnceValue(func() []Rule {
	rs := slices.Concat(documentRules, requestRules, securityRules, resultRules, toolRules, textRules(), spoolRules)
	slices.SortFunc(rs, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return rs
})

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

// RuleByID finds a rule of the catalogue.
func RuleByID(id string) (Rule, bool) {
	rs := catalogue()
	i, ok := slices.BinarySearchFunc(rs, id, func(r Rule, id string) int { return strings.Compare(r.ID, id) })
	if !ok {
		return Rule{}, false
	}
	return rs[i], true
}
