package admission

// Unseen is something that a node looks at and a judge of a request before it could not.
type Unseen string

// All that can be unseen, in the order in which it is told.
const (
	Configuration Unseen = "configuration"
	Approval      Unseen = "approval"
	Signature     Unseen = "signature"
	Approvers     Unseen = "approvers"
	Inputs        Unseen = "inputs"
	Earlier       Unseen = "earlier"
	Sandbox       Unseen = "sandbox"
	Claim         Unseen = "claim"
)

// Says is a sentence about it for people.
func (u Unseen) Says() string {
	switch u {
	case Configuration:
		return "the node's configuration: its languages, limits, network, approvers and profiles (--config)"
	case Approval:
		return "the approval: nobody has approved it yet"
	case Signature:
		return "the signatures and the signed plan: they are not here"
	case Approvers:
		return "how many persons signed: more may still do so"
	case Inputs:
		return "the input files: they are not here"
	case Earlier:
		return "earlier requests: whether the node has run this id before, or a person cancelled it"
	case Sandbox:
		return "the node's sandbox: whether its runtime can offer what is asked for"
	case Claim:
		return "the files as the node finds them in its inbox: their names, kinds, sizes and owners"
	}
	return string(u)
}

// unseen lists what the caller can't see.
func (c *Case) unseen() (list []Unseen) {
	for _, e := range []struct {
		unseen bool
		what   Unseen
	}{
		{c.Config == nil, Configuration},
		{c.Policy.Unapproved, Approval},
		{c.Unsigned && !c.Policy.Unapproved, Signature},
		{c.MoreApprovers, Approvers},
		{c.Files == nil, Inputs},
		{c.Record == nil && c.Past == nil, Earlier},
		{c.Identity == nil, Sandbox},
		{c.Job == "" && c.Past == nil, Claim},
	} {
		if e.unseen {
			list = append(list, e.what)
		}
	}
	return list
}
