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

// Signature checks the signature file sig of an approval: the signature over the exact bytes raw of req,
// the plan that may be with it, and the signatures of further approvers. It reports a missing one only if
// the policy requires it, and a wrong one whenever it can be checked. The key must be valid at p.Now.
func Signature(raw, sig []byte, req *schemas.Request, p Policy) []schemas.Finding {
	rep := document.NewReport(nil)
	const hint = "sign the file as it is: threegate approve --sign KEY, or ssh-keygen -Y sign -f KEY -n " +
		approval.Namespace + " FILE"
	const planHint = "sign its plan, too: threegate approve --plan --config NODE/threegate.yaml --sign KEY"
	parts, err := approval.Split(sig)
	switch {
	case len(sig) == 0 && !p.RequireSignature:
	case len(sig) == 0:
		rep.Whole("approval.signature", "this node wants a signature of the approver, and there is none", hint)
	case len(p.AllowedSigners) == 0 && !p.RequireSignature:
	case err != nil:
		rep.Whole("approval.signature", err.Error(), hint)
	case req == nil:
		rep.Whole("approval.signature", "the signature can't be checked: the request can't be read", hint)
	default:
		if err := approval.Verify(p.AllowedSigners, req.ApprovedBy, raw, parts.Signature, p.Now); err != nil {
			rep.Whole("approval.signature",
				"the approval signature is not valid for "+document.Quote(req.ApprovedBy)+": "+err.Error(), hint)
		}
		if parts.Plan != nil {
			err := approval.VerifyPlan(p.AllowedSigners, req.ApprovedBy, parts.Plan, parts.PlanSignature, p.Now)
			if err != nil {
				rep.Whole("approval.plan",
					"the plan's signature is not valid for "+document.Quote(req.ApprovedBy)+": "+err.Error(), planHint)
			}
		}
		p.cosigners(rep, raw, parts, req)
	}
	if p.RequirePlan && parts.Plan == nil {
		rep.Whole("approval.plan", "this node wants a signed plan, and there is none", planHint)
	}
	return p.severities(rep.Findings())
}

// Plan compares the plan in the signature file sig, if there is one, with what would run now.
func Plan(sig []byte, now approval.Plan, p Policy) []schemas.Finding {
	rep := document.NewReport(nil)
	const hint = "look at what changed, and approve it as it is now: threegate approve --plan"
	parts, err := approval.Split(sig)
	if err != nil || parts.Plan == nil {
		return nil // Signature says so
	}
	plan, err := approval.ParsePlan(parts.Plan)
	if err != nil {
		rep.Whole("approval.plan", err.Error(), hint)
	} else if drift := plan.Drift(now); len(drift) > 0 {
		rep.Whole("approval.plan", "what would run is not what was planned: "+strings.Join(drift, "; "), hint)
	}
	return p.severities(rep.Findings())
}

// cosigners verifies the signatures of further approvers, and reports if fewer persons approved than the risk
// level asks for.
func (p Policy) cosigners(rep *document.Report, raw []byte, parts approval.Approval, req *schemas.Request) {
	const hint = "have one more person read it and sign the same bytes: threegate approve FILE --add-signature " +
		"--as NAME --sign KEY"
	for _, c := range parts.Also {
		if err := approval.Verify(p.AllowedSigners, c.Name, raw, c.Signature, p.Now); err != nil {
			rep.Whole("approval.signature", "the further signature is not valid for "+document.Quote(c.Name)+": "+
				err.Error(), "remove it, or have it made anew: threegate approve FILE --add-signature")
		}
	}
	want := p.MinApprovers.Of(req.Risk.Level)
	who, not := p.approvedBy(raw, parts, req)
	if want <= 1 || len(who) >= want { // of the first one there are rules of its own
		return
	}
	message := fmt.Sprintf("for the risk level %s this node wants %d approvers, and %d approved", req.Risk.Level, want,
		len(who))
	if len(not) > 0 {
		message += "; " + strings.Join(not, "; ")
	}
	rep.Whole("approval.approvers", message, hint)
}

// ApprovedBy names the persons whose approval counts: the approver that the request names, and all whose
// signature is with it. It is empty where a node verifies no signatures.
func ApprovedBy(raw, sig []byte, req *schemas.Request, p Policy) []string {
	parts, err := approval.Split(sig)
	if err != nil || len(p.AllowedSigners) == 0 {
		return nil
	}
	who, _ := p.approvedBy(raw, parts, req)
	return who
}

// approvedBy also says who does not count, and why. A person counts once, as does a key.
func (p Policy) approvedBy(raw []byte, parts approval.Approval, req *schemas.Request) (who, not []string) {
	keys := map[string]string{}
	all := append([]approval.Cosigner{{Name: req.ApprovedBy, Signature: parts.Signature}}, parts.Also...)
	for i, c := range all {
		name := document.Quote(c.Name)
		if approval.Verify(p.AllowedSigners, c.Name, raw, c.Signature, p.Now) != nil {
			continue // that is a finding of its own
		}
		key, _ := approval.KeyOf(c.Signature)
		switch _, why := p.Forbids(c.Name); {
		case why != "":
			not = append(not, name+" "+why)
		case i > 0 && !p.AllowSelfApproval && approval.Same(c.Name, req.RequestedBy):
			not = append(not, name+" asked for the run")
		case approval.Among(who, c.Name):
			not = append(not, name+" approved it already, by this or another spelling")
		case keys[key] != "":
			not = append(not, name+" signed with the key of "+keys[key])
		default:
			who, keys[key] = append(who, c.Name), name
		}
	}
	return who, not
}
