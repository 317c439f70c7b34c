package schemas

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
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
	// File is the file that Line counts in, if it is not the document: of a run, below its job's folder.
	File string `json:"file,omitempty"`
	// Line and Column count from 1, Column in bytes of the line; 0 means the whole document.
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	// Hint says how to mend it.
	Hint string `json:"hint"`
	// Excerpt is the place, bounded, with invisible characters made visible and
	// secrets masked. It may be empty.
	Excerpt string `json:"excerpt,omitempty"`
	// Span is the SHA-256 of each text that the finding is about, with blanks between, if a person may
	// release it. It is not written out with findings: the digest of a short secret betrays it.
	Span string `json:"-"`
}

// Refusal is a blocking finding about a whole document or file, with the hint of its rule.
func Refusal(rule, format string, args ...any) Finding {
	r, _ := RuleByID(rule)
	return Finding{Rule: rule, Severity: SeverityBlocking, Message: fmt.Sprintf(format, args...), Hint: r.Hint}
}

// Releases are what a person releases who says that the finding is a false alarm.
func (f *Finding) Releases() (all []Release) {
	for _, span := range strings.Fields(f.Span) {
		all = append(all, Release{f.Rule, span})
	}
	return all
}

// AlsoOf makes the finding one about the text of another of the same rule, too.
func (f *Finding) AlsoOf(o Finding) {
	switch {
	case f.Span == "" || o.Span == "": // one of them can't be released
		f.Span = ""
	case !strings.Contains(f.Span, o.Span):
		f.Span += " " + o.Span
	}
}

// Release is a judgement that a person took back: that a rule breaks on bytes of this SHA-256, in
// hex, is a false alarm.
type Release struct {
	Rule   string `json:"rule"`
	SHA256 string `json:"sha256"`
}

// SpanOf is the Span of a finding of a rule about b: empty if no such finding can be released. Blanks
// and marks around b don't count: where a sentence ends depends on what stands next to it.
func SpanOf(rule string, b []byte) string {
	b = bytes.Trim(b, " \t\r\n.,;:!?`")
	if r, ok := RuleByID(rule); !ok || r.Release == "" || len(b) == 0 {
		return ""
	}
	return SHA256(b)
}

// SHA256 is the lower-case hex SHA-256 of data.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
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

// SortFindings puts findings in the order of their file and place, then
// of their rule, and drops exact repetitions.
func SortFindings(fs []Finding) []Finding {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(fs)
}
