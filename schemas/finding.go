package schemas

import (
	"cmp"
	"slices"
)

// Severity is the level of a rule and of its findings.
type Severity string

// The levels of the SDK's rule catalogue. Only SeverityBlocking refuses.
const (
	SeverityBlocking   Severity = "blocking"
	SeverityWarning    Severity = "warning"
	SeveritySuggestion Severity = "suggestion"
)

// Kind is the kind of a document.
type Kind string

// The kinds.
const (
	KindRequest Kind = "request"
	KindResult  Kind = "result"
)

// Verdict is what all findings of a document come to.
type Verdict string

// The verdicts of the result schema.
const (
	VerdictAccept Verdict = "ACCEPT"
	VerdictReject Verdict = "REJECT"
)

// Finding is one statement of a rule about a document.
type Finding struct {
	// Rule is the id of a rule of the catalogue.
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	// Line and Column count from 1, Column in bytes of the line; 0 means the whole document.
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	// Hint says how to mend it.
	Hint string `json:"hint"`
	// Excerpt is the place, bounded, with invisible characters made visible and
	// secrets masked. It may be empty.
	Excerpt string `json:"excerpt,omitempty"`
}

// VerdictOf is VerdictReject if any finding blocks.
func VerdictOf(fs []Finding) Verdict {
	for _, f := range fs {
		if f.Severity == SeverityBlocking {
			return VerdictReject
		}
	}
	return VerdictAccept
}

// SortFindings puts findings in the order of their place in the document, then
// of their rule, and drops exact repetitions.
func SortFindings(fs []Finding) []Finding {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(fs)
}
