package documents

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/diag"
	"github.com/threegate/tool-exec/cmd/threegate/internal/draft"
	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
)

// judge gives the verdict on a case, with the findings of one that is refused on stderr. What is what would be done
// with it.
func (a *app) judge(ctx context.Context, file, what string, c admission.Case) (admission.Verdict, error) {
	v, err := admission.Judge(ctx, c)
	if err != nil {
		return v, inputFault(err)
	}
	i := slices.IndexFunc(v.Findings, func(f schemas.Finding) bool { return f.Severity == schemas.SeverityBlocking })
	if i < 0 {
		return v, nil
	}
	if !a.JSON {
		w := &diag.Text{W: a.UI.Err, Style: a.UI.ErrStyle, Columns: a.UI.Columns, Wrap: a.UI.ErrTTY}
		if err := w.Report(diag.New(file, schemas.KindRequest, c.Raw, v.Findings)); err != nil {
			return v, err
		}
	}
	first := v.Findings[i]
	hint := "mend what is blocking; threegate lint " + file + " shows it again"
	switch first.Rule {
	case admission.RuleDuplicate, admission.RuleConflict, ledger.RuleCancelled:
		hint = first.Hint // lint does not know
	}
	fault := cli.Rejectf(first.Rule, hint, "%s can't be %s: %s", file, what, first.Message)
	fault.Cause = byRules{v.Findings}
	return v, fault
}

// historyOf is what a node has on record of requests, with the details of those of a slug. It is nil if the record
// can't be read.
func historyOf(l *config.Node, slug string) *ledger.History {
	if l == nil {
		return nil
	}
	h := ledger.History{Whole: func(r *ledger.Request) bool { return slug != "" && draft.SlugOf(r.RequestID) == slug }}
	_, _, err := ledger.Read(filepath.Join(l.Dir, spool.DirLedger), func(e ledger.Event) error {
		h.Note(e)
		return nil
	})
	if err != nil {
		return nil
	}
	return &h
}

// nodeReads are the folders of a node that tell about earlier requests.
func nodeReads(l *config.Node) []string {
	if l == nil {
		return nil
	}
	return []string{filepath.Join(l.Dir, spool.DirArchive), filepath.Join(l.Dir, spool.DirLedger)}
}

// caseOf is a request as it lies in a file, with what lies next to it, and with the inputs of a folder.
func (f folders) caseOf(ctx context.Context, file, inputs string, raw []byte, p validate.Policy,
	node *config.Node) (c admission.Case, files []bundle.File, err error) {
	c = admission.Case{Raw: raw, Policy: p, Config: node}
	signed, err := f.signatures(file)
	if err == nil {
		c.Signature, err = joined(file, signed)
	}
	if job := bundle.JobOf(file); job != "" && c.Signature == nil && err == nil {
		c.Signature, err = bundle.ReadDocument(filepath.Join(job, spool.FileSignature), false, spool.MaxSignatureBytes)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		files, err = inputsIn(ctx, inputs, InputLimits(p))
		c.Files = bundle.Files{Context: ctx, List: files}
	}
	return c, files, err
}
