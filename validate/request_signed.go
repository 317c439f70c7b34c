package validate

import (
	"fmt"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/approval"
	"github.com/threegate/tool-exec/validate/document"
)

// MinApprovers is how many persons approve a request, by its risk level.
type MinApprovers struct {
	Low    int `yaml:"low"`
	Medium int `yaml:"medium"`
	High   int `yaml:"high"`
}

// Of is the number for a risk level. One that is none has a finding of its own.
func (m MinApprovers) Of(level string) int {
	return map[string]int{"low": m.Low, "medium": m.Medium, "high": m.High}[level]
}

const signHint = "sign the file as it is: threegate approve --sign KEY, or ssh-keygen -Y sign -f KEY -n " +
	approval.Namespace + " FILE"

// Approved is what a signature file proves.
type Approved struct {
	// Approvers are those whose approval counts: the one that the request names, and all whose signature is with it.
	Approvers []approval.Approver
	// Plan is the signed plan, or nil. Whether its signature is right is among the findings.
	Plan []byte
}

// Signature reads the signature file sig of an approval, or nil: the signature over the exact bytes raw of req,
// the plan that may be with it, and the signatures of further approvers. It reports a missing one only if
// the policy requires it, and a wrong one whenever it can be checked. The key must be valid at p.Now.
func Signature(raw, sig []byte, req *schemas.Request, p Policy) (Approved, []schemas.Finding) {
	rep := document.NewReport(nil)
	const planHint = "sign its plan, too: threegate approve --plan --config NODE/threegate.yaml --sign KEY"
	by := Approved{Approvers: []approval.Approver{{Name: req.ApprovedBy, How: approval.Named}}}
	parts, err := approval.Split(sig)
	switch {
	case len(sig) == 0 && !p.RequireSignature:
	case len(sig) == 0:
		rep.Whole("approval.signature", "this node requires a signature of the approver, and there is none", signHint)
	case len(p.AllowedSigners) == 0 && !p.RequireSignature:
	case err != nil:
		rep.Whole("approval.signature", err.Error(), signHint)
	default:
		by.Approvers = p.cosigners(rep, raw, parts, req)
		if parts.Plan != nil {
			err := approval.VerifyPlan(p.AllowedSigners, req.ApprovedBy, parts.Plan, parts.PlanSignature, p.Now)
			if err != nil {
				rep.Whole("approval.plan",
					"the plan's signature is not valid for "+document.Quote(req.ApprovedBy)+": "+err.Error(), planHint)
			}
		}
	}
	if p.RequirePlan && parts.Plan == nil {
		rep.Whole("approval.plan", "this node requires a signed plan, and there is none", planHint)
	}
	by.Plan = parts.Plan
	return by, p.severities(rep.Findings())
}

// Plan compares a signed plan, if there is one, with what would run now.
func Plan(signed []byte, now approval.Plan, p Policy) []schemas.Finding {
	if signed == nil {
		return nil
	}
	rep := document.NewReport(nil)
	const hint = "look at what changed, and approve it as it is now: threegate approve --plan"
	plan, err := approval.ParsePlan(signed)
	if err != nil {
		rep.Whole("approval.plan", err.Error(), hint)
	} else if drift := plan.Drift(now); len(drift) > 0 {
		rep.Whole("approval.plan", "what would run is not what was planned: "+strings.Join(drift, "; "), hint)
	}
	return p.severities(rep.Findings())
}

// cosigners verifies the signatures of further approvers, and reports if fewer persons approved than the risk
// level asks for. It returns those whose signatures count. A person counts once, as does a key.
func (p Policy) cosigners(rep *document.Report, raw []byte, parts approval.Approval,
	req *schemas.Request) (who []approval.Approver) {
	const hint = "have one more person read it and sign the same bytes: threegate approve FILE --add-signature " +
		"--as NAME --sign KEY"
	var names, not []string
	keys := map[string]string{}
	all := append([]approval.Cosigner{{Name: req.ApprovedBy, Signature: parts.Signature}}, parts.Also...)
	for i, c := range all {
		name := document.Quote(c.Name)
		if err := approval.Verify(p.AllowedSigners, c.Name, raw, c.Signature, p.Now); err != nil {
			what, mend := "approval", signHint
			if i > 0 {
				what, mend = "further", "remove it, or have it made anew: threegate approve FILE --add-signature"
			}
			rep.Whole("approval.signature", "the "+what+" signature is not valid for "+name+": "+err.Error(), mend)
			continue
		}
		key, _ := approval.SignedBy(raw, c.Signature)
		_, why := p.Forbids(c.Name)
		if i > 0 { // of the first one there are rules of its own
			why = p.NotOneMore(req, names, c.Name)
		}
		switch {
		case why != "":
			not = append(not, name+" "+why)
		case keys[key] != "":
			not = append(not, name+" signed with the key of "+keys[key])
		default:
			names, keys[key] = append(names, c.Name), name
			who = append(who, approval.Approver{Name: c.Name, How: approval.Signed, Fingerprint: key})
		}
	}
	want := p.MinApprovers.Of(req.Risk.Level)
	if want <= 1 || len(who) >= want {
		return who
	}
	message := fmt.Sprintf("for the risk level %s this node wants %d approvers, and %d approved", req.Risk.Level, want,
		len(who))
	if len(not) > 0 {
		message += "; " + strings.Join(not, "; ")
	}
	rep.Whole("approval.approvers", message, hint)
	return who
}

// NotOneMore says why a further approval by name does not count beside those of others, as the end of a sentence;
// "" if it does.
func (p Policy) NotOneMore(req *schemas.Request, others []string, name string) string {
	_, why := p.Forbids(name)
	switch {
	case why != "":
		return why
	case !p.AllowSelfApproval && approval.Same(name, req.RequestedBy):
		return "asked for the run"
	case approval.Among(others, name):
		return "approved it already, by this or another spelling"
	}
	return ""
}
