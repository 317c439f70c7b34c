package mcpserver

import (
	"context"
	"strings"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/draft"
	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
)

// kinds are the kinds of document that have a schema.
var kinds = map[string]struct{ text, schema func() []byte }{
	"request": {schemas.RequestDoc, schemas.RequestJSONSchema},
	"result":  {schemas.ResultDoc, schemas.ResultJSONSchema},
	"notice":  {schemas.NoticeDoc, schemas.NoticeJSONSchema},
	"plan":    {draft.PlanDoc, draft.PlanJSONSchema},
}

// judge judges a document of a kind, or of the kind that it says. The files of a request may not be known.
func (d *desk) judge(ctx context.Context, kind schemas.Kind, raw []byte, files admission.Files) (lintOut, error) {
	if kind == "" {
		kind = bundle.KindOf("", raw)
	}
	var v admission.Verdict
	var err error
	if kind == schemas.KindResult {
		_, v.Findings = validate.Result("", raw, d.policy())
	} else {
		v, err = admission.Judge(ctx, admission.Case{Raw: raw, Policy: d.policy(), Config: d.Config, Unsigned: true,
			Files: files})
	}
	return lintOut{Verdict: schemas.VerdictOf(v.Findings), Approval: v.LacksApproval(),
		Findings:    append([]schemas.Finding{}, v.Findings...), // a list, also if it is empty
		NotLookedAt: append([]admission.Unseen{}, v.NotLookedAt...)}, err
}

// rulesBelow are the rules whose ids begin with prefix as whole words.
func rulesBelow(prefix string) []schemas.Rule {
	out := []schemas.Rule{}
	for _, r := range schemas.Rules() {
		if strings.HasPrefix(r.ID, strings.TrimSuffix(prefix, ".")+".") {
			out = append(out, r)
		}
	}
	return out
}
