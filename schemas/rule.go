package schemas

import "slices"

// Rule is one entry of the catalogue: what `threegate explain` prints and what
// a finding refers to.
type Rule struct {
	// ID is dotted and stable.
	ID string
	// Level is the default severity.
	Level Severity
	// Must says that a normative text demands it: config can't lower the level.
	Must bool
	// Applies lists the kinds of document that the rule looks at.
	Applies []Kind
	// Title is one short line.
	Title string
	// Why says what the rule protects.
	Why string
	// Bad and Good are short example texts.
	Bad, Good string
	// Fix says how to mend a document that breaks the rule.
	Fix string
	// Source names the normative sentence or design decision.
	Source string
}

// Rules returns the whole catalogue, sorted by id.
func Rules() []Rule {
	rs := slices.Concat(documentRules, requestRules, securityRules, resultRules, spoolRules)
	slices.SortFunc(rs, func(a, b Rule) int {
		switch {
		case a.ID < b.ID:
			return -1
		case a.ID > b.ID:
			return 1
		}
		return 0
	})
	return rs
}

// RuleByID finds a rule of the catalogue.
func RuleByID(id string) (Rule, bool) {
	for _, r := range Rules() {
		if r.ID == id {
			return r, true
		}
	}
	return Rule{}, false
}
