package diag

import (
	"encoding/json"
	"io"

	"github.com/threegate/tool-exec/schemas"
)

// JSONL writes one object a file.
type JSONL struct{ W io.Writer }

type jsonFinding struct {
	Rule     string           `json:"rule"`
	Severity schemas.Severity `json:"severity"`
	Line     int              `json:"line"`
	Column   int              `json:"column"`
	Message  string           `json:"message"`
	Hint     string           `json:"hint"`
}

type jsonReport struct {
	File     string          `json:"file"`
	Kind     schemas.Kind    `json:"kind"`
	Verdict  schemas.Verdict `json:"verdict"`
	Findings []jsonFinding   `json:"findings"`
}

// Report implements Writer.
func (j *JSONL) Report(r Report) error {
	out := jsonReport{r.File, r.Kind, r.Verdict, []jsonFinding{}}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, jsonFinding{f.Rule, f.Severity, f.Line, f.Column, f.Message, f.Hint})
	}
	enc := json.NewEncoder(j.W)
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// Trouble implements Writer: a file without a verdict has no object; the caller
// reports it on stderr and by the exit code.
func (j *JSONL) Trouble(Trouble) error { return nil }

// Close implements Writer.
func (j *JSONL) Close(Summary) error { return nil }
