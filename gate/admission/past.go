package admission

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// maxPast bounds a file of a job that says how it was judged.
const maxPast = 64 << 20

// Past is the last verdict that a node gave on a request, as the files in the job's folder have it.
type Past struct {
	Claim spool.Claim
	// At is the time as of which it was judged.
	At time.Time
	// Findings are those that blocked it; there are none if it was admitted.
	Findings []schemas.Finding
	// Released is what a person had taken back of an earlier verdict.
	Released []schemas.Release
}

// ReadPast reads how the request in a job's folder was judged. It gives an error that matches fs.ErrNotExist if it was
// not judged yet.
func ReadPast(dir string) (*Past, error) {
	p := &Past{}
	var admitted struct {
		At       time.Time         `json:"admitted_at"`
		Released []schemas.Release `json:"released"`
	}
	raw, err := durable.ReadRegular(filepath.Join(dir, ledger.FileAdmission), maxPast)
	was := err == nil
	if was {
		err = schemas.DecodeOpen(raw, &admitted)
		p.At, p.Released = admitted.At, admitted.Released
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", ledger.FileAdmission, err)
	}
	var reasons quarantine.Reasons
	raw, err = durable.ReadRegular(filepath.Join(dir, quarantine.FileJSON), maxPast)
	if err == nil {
		reasons, err = quarantine.Decode(raw)
	}
	if err != nil && !(was && errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	if reasons.Kind == schemas.KindRequest {
		for _, f := range reasons.Findings {
			if f.Severity == schemas.SeverityBlocking {
				p.Findings = append(p.Findings, f)
			}
		}
		if !was {
			p.At = reasons.RefusedAt
		}
	}
	p.Claim, err = spool.ReadClaim(dir)
	return p, err
}

// Verdict is that of the node.
func (p *Past) Verdict() schemas.Verdict { return schemas.VerdictOf(p.Findings) }

// stands are the findings about what only the node could see: its inbox, and its record of that time.
func (p *Past) stands() []schemas.Finding {
	return slices.DeleteFunc(slices.Clone(p.Findings), func(f schemas.Finding) bool {
		record := []string{RuleDuplicate, RuleConflict, ledger.RuleCancelled}
		return !strings.HasPrefix(f.Rule, "spool.") && !slices.Contains(record, f.Rule)
	})
}
