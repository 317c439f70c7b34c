package mcpserver

import (
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/cmd/threegate/internal/draft"
	"github.com/threegate/tool-exec/cmd/threegate/internal/frontmatter"
	"github.com/threegate/tool-exec/cmd/threegate/internal/source"
	"github.com/threegate/tool-exec/gate/patchpolicy"
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

// approvalRules begin the ids of rules that only a person can satisfy.
const approvalRules = "approval."

// judge runs the rules of kind, or of the kind that the document says, over a document.
func (d *desk) judge(kind schemas.Kind, raw []byte) lintOut {
	if kind == "" {
		kind = source.KindOf("", raw)
	}
	var out lintOut
	if kind == schemas.KindResult {
		_, out.Findings = validate.Result("", raw, d.policy())
	} else {
		_, out.Findings = validate.Request("", raw, d.policy())
		out.Findings = append(out.Findings, d.ofProfile(raw)...)
	}
	out.Verdict = schemas.VerdictOf(out.Findings)
	out.Approval = out.Verdict == schemas.VerdictReject
	for _, f := range out.Findings {
		if f.Severity == schemas.SeverityBlocking && !strings.HasPrefix(f.Rule, approvalRules) {
			out.Approval = false
		}
	}
	out.Findings = append([]schemas.Finding{}, out.Findings...) // a list, also if it is empty
	return out
}

// ofProfile says why a request can't run under a profile, as if somebody had approved it.
func (d *desk) ofProfile(raw []byte) []schemas.Finding {
	if len(d.Profiles) == 0 {
		return nil
	}
	doc, err := frontmatter.Parse(raw)
	if err != nil {
		return nil // the rules say so
	}
	p := d.policy()
	p.AllowSelfApproval = true
	doc.Set("approved_by", "somebody", "requested_by")
	doc.Set("approved_utc", p.Now.UTC().Format(time.RFC3339), "approved_by")
	req, _ := validate.Request("", doc.Bytes(), p)
	if req == nil || !slices.Contains(d.Profiles, req.Language) {
		return nil
	}
	return patchpolicy.OfProfile(req)
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
