package diag

import (
	"encoding/json"
	"io"

	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/schemas"
)

// JSONL writes one object a file.
type JSONL struct{ W io.Writer }

type jsonReport struct {
	File     string            `json:"file"`
	Kind     schemas.Kind      `json:"kind"`
	Verdict  schemas.Verdict   `json:"verdict"`
	Findings []schemas.Finding `json:"findings"`
	// NotLookedAt is what a node would look at, too.
	NotLookedAt []admission.Unseen `json:"not_looked_at,omitempty"`
}

// Report implements Writer. Excerpts are for people.
func (j *JSONL) Report(r Report) error {
	findings := append([]schemas.Finding{}, r.Findings...)
	for i := range findings {
		findings[i].Excerpt = ""
	}
	enc := json.NewEncoder(j.W)
	enc.SetEscapeHTML(false)
	return enc.Encode(jsonReport{r.File, r.Kind, r.Verdict, findings, r.NotLookedAt})
}

// Trouble implements Writer: a file without a verdict has no object; the caller
// reports it on stderr and by the exit code.
func (j *JSONL) Trouble(_, _ string) error { return nil }

// Close implements Writer.
func (j *JSONL) Close(Summary) error { return nil }
