package fsck

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/validate/approval"
)

const mendSignature = "ask the person whether they signed this; if not, somebody else made it up. If the key was " +
	"changed since, the list of signers must still have the old one, with valid-before"

// maxSigners bounds a text of allowed signers.
const maxSigners = 4 << 20

// Signatures counts what was looked at of approvals, plans and orders.
type Signatures struct {
	// Checked are signatures that were verified again, as of their event.
	Checked int `json:"checked"`
	// NamedOnly are requests that the node admitted without wanting a signature.
	NamedOnly int `json:"named_only"`
	// Gone are requests whose folder was pruned with its signature file.
	Gone int `json:"pruned"`
}

// inForce are the texts of allowed signers that counted at an event, the newest first: what was judged just before a
// reload may come on record just after it. One that is "" is a node that wanted no signatures.
type inForce []string

// required says whether the node wanted signatures, whichever of the texts counted.
func (f inForce) required() bool { return len(f) > 0 && !slices.Contains(f, "") }

// decidesBy takes in what the node goes by from an event on.
func (n *node) decidesBy(e ledger.Event) {
	n.keptSigners(e.Node.Signers)
	n.format = max(n.format, e.Node.Format)
	text := ""
	if len(e.Node.Signers) > 0 {
		text = e.Node.Signers[0]
	}
	if len(n.force) > 0 && n.force[0] != text {
		what := "from event %d on, other allowed signers count than before: " + text
		if text == "" {
			what = "from event %d on, the node wanted no signatures any longer"
		}
		n.remark(CheckSignature, e.Seq, n.path(spool.DirSigners), what)
	}
	n.force = append(inForce{text}, n.force[:min(len(n.force), 1)]...)
}

// unproven says why a signature is not of an allowed signer as of an event, or "".
func (n *node) unproven(f inForce, namespace, who string, message, sig []byte, at time.Time) string {
	if len(sig) == 0 {
		return "it has no signature of " + spool.Quote(who)
	}
	n.report.Signatures.Checked++
	why := ""
	for _, name := range f {
		text, err := durable.ReadRegular(n.path(spool.DirSigners, name), maxSigners)
		if err != nil || schemas.SHA256(text) != name {
			continue // the node wanted no signatures; else that is a finding already
		}
		if err = approval.VerifyFor(namespace, text, who, message, sig, at); err == nil {
			why = ""
			break
		}
		why = "by the signers that the node had then, " + spool.Quote(who) + " did not sign it: " + err.Error()
	}
	if why == "" && n.signers != nil {
		if err := approval.VerifyFor(namespace, n.signers, who, message, sig, at); err != nil {
			why = "by the signers that you gave, " + spool.Quote(who) + " did not sign it: " + err.Error()
		}
	}
	return why
}

// signatures wants what a job's event calls signed to be signed, by a key that counted then.
func (n *node) signatures(j *job, dir string, raw []byte, parts approval.Approval) {
	e, path := j.admitted, filepath.Join(dir, spool.FileSignature)
	force := e.force
	wrong := func(why string) {
		if why != "" {
			n.found(CheckSignature, j.id, path, mendSignature, "%s", why)
		}
	}
	verified := slices.ContainsFunc(e.Approvers, approval.Approver.Verified)
	if !verified && force.required() {
		wrong("the ledger names approvers without a signature, and the node wanted one then")
	}
	if verified && len(force) > 0 && !slices.ContainsFunc(force, func(text string) bool { return text != "" }) {
		wrong("the ledger names approvers with a signature, and the node knew no signers then")
	}
	if !verified && !force.required() {
		n.report.Signatures.NamedOnly++
	}
	for i, who := range e.Approvers {
		if !who.Verified() {
			continue
		}
		sig, named := parts.Signature, func(c approval.Cosigner) bool { return c.Name == who.Name }
		if at := slices.IndexFunc(parts.Also, named); i > 0 && at >= 0 {
			sig = parts.Also[at].Signature
		}
		wrong(n.unproven(force, approval.Namespace, who.Name, raw, sig, e.Time))
	}
	if e.Plan != "" && verified {
		wrong(n.unproven(force, approval.PlanNamespace, e.Approvers[0].Name, parts.Plan, parts.PlanSignature, e.Time))
	}
}

// orderSignature wants an order that a person gave to be signed, if the node wanted that then.
func (n *node) orderSignature(path string, o *orders.Order, raw, sig []byte, by *ordered) {
	wanted := by.force.required() || n.signers != nil && len(sig) > 0
	if by.event.Type == ledger.OrderRefused || !o.ByPerson() || !wanted {
		return
	}
	if why := n.unproven(by.force, orders.Namespace, o.By, raw, sig, by.event.Time); why != "" {
		n.found(CheckSignature, "", path, mendSignature, "%s", why)
	}
}

// ordered is what an order led to.
type ordered struct {
	event  ledger.Event
	force  inForce
	pruned bool
}
