// Package diag writes what was found in documents: for people as a compiler
// does, and as JSON Lines and SARIF for programs.
//
// It trusts neither file names nor documents: what it writes to a terminal is
// made visible first, and no line of a document in which a secret was found is
// ever repeated.
package diag

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/schemas"
)

// Report is the judgement of one document.
type Report struct {
	// File is the path as it is shown; "-" is standard input.
	File     string
	Kind     schemas.Kind
	Verdict  schemas.Verdict
	Findings []schemas.Finding
	// NotLookedAt is what a node would look at, too.
	NotLookedAt []admission.Unseen
	// OnRecord is the verdict of the node that keeps the request, or "".
	OnRecord schemas.Verdict
	// Source is the document, for showing lines of it. It may be cut or absent.
	Source []byte
	starts []int // where each line of Source begins
}

// New makes the report of findings and derives the verdict.
func New(file string, kind schemas.Kind, source []byte, findings []schemas.Finding) Report {
	// Places count from behind a byte order mark.
	source = bytes.TrimPrefix(source, []byte("\xef\xbb\xbf"))
	r := Report{File: file, Kind: kind, Verdict: schemas.VerdictOf(findings), Findings: findings, Source: source}
	if len(findings) > 0 && len(source) > 0 {
		r.starts = append(r.starts, 0)
		for i, c := range source {
			if c == '\n' {
				r.starts = append(r.starts, i+1)
			}
		}
	}
	return r
}

// Flipped reports whether the verdict is another one than that on record.
func (r Report) Flipped() bool { return r.OnRecord != "" && r.OnRecord != r.Verdict }

// HasSecret reports whether a finding says that the document holds a secret.
func (r Report) HasSecret() bool {
	return slices.ContainsFunc(r.Findings, func(f schemas.Finding) bool {
		return f.Rule == "secrets" || strings.HasPrefix(f.Rule, "secrets.")
	})
}

// line returns line n of the source, counted from 1, without its end.
func (r Report) line(n int) (string, bool) {
	if n < 1 || n > len(r.starts) {
		return "", false
	}
	end := len(r.Source)
	if n < len(r.starts) {
		end = r.starts[n] - 1
	}
	return string(r.Source[r.starts[n-1]:end]), true
}

// Summary counts what was judged.
type Summary struct {
	Files, Accepted, Rejected, Troubled int
	Blocking, Warnings, Suggestions     int
	// Flipped have another verdict than that on record.
	Flipped int
	// NotLookedAt is what was not looked at of some.
	NotLookedAt []admission.Unseen
}

// Add counts one report.
func (s *Summary) Add(r Report) {
	s.Files++
	if r.Flipped() {
		s.Flipped++
	}
	if r.Verdict == schemas.VerdictReject {
		s.Rejected++
	} else {
		s.Accepted++
	}
	for _, u := range r.NotLookedAt {
		if !slices.Contains(s.NotLookedAt, u) {
			s.NotLookedAt = append(s.NotLookedAt, u)
		}
	}
	for _, f := range r.Findings {
		switch f.Severity {
		case schemas.SeverityBlocking:
			s.Blocking++
		case schemas.SeverityWarning:
			s.Warnings++
		default:
			s.Suggestions++
		}
	}
}

// Writer writes reports in one format, one at a time in the order of the calls.
// Close ends the output; it is called exactly once, also when nothing was judged.
type Writer interface {
	Report(Report) error
	// Trouble is about a file that could not be judged at all.
	Trouble(file, message string) error
	Close(Summary) error
}

// JSONL writes one object a file.
type JSONL struct{ W io.Writer }

type jsonReport struct {
	File     string            `json:"file"`
	Kind     schemas.Kind      `json:"kind"`
	Verdict  schemas.Verdict   `json:"verdict"`
	Findings []schemas.Finding `json:"findings"`
	// NotLookedAt is what a node would look at, too.
	NotLookedAt []admission.Unseen `json:"not_looked_at,omitempty"`
	// OnRecord is the verdict of the node that keeps the request.
	OnRecord schemas.Verdict `json:"on_record,omitempty"`
}

// Report implements Writer. Excerpts are for people.
func (j *JSONL) Report(r Report) error {
	findings := append([]schemas.Finding{}, r.Findings...)
	for i := range findings {
		findings[i].Excerpt = ""
	}
	enc := json.NewEncoder(j.W)
	enc.SetEscapeHTML(false)
	return enc.Encode(jsonReport{r.File, r.Kind, r.Verdict, findings, r.NotLookedAt, r.OnRecord})
}

// Trouble implements Writer: a file without a verdict has no object; the caller
// reports it on stderr and by the exit code.
func (j *JSONL) Trouble(_, _ string) error { return nil }

// Close implements Writer.
func (j *JSONL) Close(Summary) error { return nil }
