// Package admission judges a request: whether it may run, as far as the caller can see. The gate judges what it
// claimed by it, and every command that judges a request before a node has it. What a caller can't see it lists, so
// two callers differ in nothing else.
package admission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/intree"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/patchpolicy"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/approval"
)

// Rules that are about more than a document and its files.
const (
	RuleDuplicate = "request.duplicate"
	RuleConflict  = "request.conflict"
	RuleBackend   = "request.backend.unavailable"
	RuleTree      = "request.inputs.tree"
	RuleApprovers = "approval.approvers"
)

// approvalRules begin the ids of the rules that a person satisfies who approves.
const approvalRules = "approval."

// Case is a request as its judge sees it.
type Case struct {
	// Name is the name of its file, or "" if it will get the name of its id.
	Name string
	Raw  []byte
	// Policy judges the document. With Unapproved nobody approved it yet.
	Policy validate.Policy
	// Config is the node that it would run on, or nil.
	Config *config.Node
	// Signature is the signature file, or nil if there is none.
	Signature []byte
	// Unsigned says that the signature file is not at hand: it may be made later.
	Unsigned bool
	// MoreApprovers says that further persons may still sign.
	MoreApprovers bool
	// Files came along with the document; nil if they are not at hand.
	Files Files
	// Record is what the node knows of earlier requests; nil if it can't be read.
	Record Record
	// Job is the id of the job that the node claimed it as, or "".
	Job string
	// Past is how a node judged it, or nil. It is judged as of then, and what only that node could see stands.
	Past *Past
	// Identity asks the node's executor whether it can run a task, or is nil.
	Identity func(context.Context, executors.Task) (executors.Identity, error)
}

// Files are the input files of a request.
type Files interface {
	// Hashes are the SHA-256 of the files by their paths in the sandbox.
	Hashes() map[string]string
	// Open opens a file by its path below /in. What it gives must be what was hashed.
	Open(name string) (io.ReadCloser, error)
}

// Record knows the requests that a node decided about, as ledger.History does.
type Record interface {
	// Admitted is the job under which a request id was admitted.
	Admitted(requestID string) (ledger.Job, bool)
	// Cancelled says whether a person cancelled a request id.
	Cancelled(requestID string) bool
}

// Verdict is what is to be said of a request.
type Verdict struct {
	// Request is nil if the document can't be read as one.
	Request *schemas.Request
	// Findings are all that were found, sorted.
	Findings []schemas.Finding
	// NotLookedAt is what a node looks at and the caller can't see.
	NotLookedAt []Unseen
	// Approvers are those whose approval counts, the one that the request names first.
	Approvers []approval.Approver
	// SignedPlan is the plan that an approver signed with the request, if there is one.
	SignedPlan []byte
	// Task, Registry and Plan are what would run. Without a configuration they are not set.
	Task     executors.Task
	Registry []byte
	Plan     approval.Plan
}

// Refused says whether a finding blocks.
func (v *Verdict) Refused() bool { return schemas.VerdictOf(v.Findings) == schemas.VerdictReject }

// LacksApproval says whether rules about the approval alone refuse the request.
func (v *Verdict) LacksApproval() bool { return lacksApproval(v.Findings) }

func lacksApproval(found []schemas.Finding) bool {
	for _, f := range found {
		if f.Severity == schemas.SeverityBlocking && !strings.HasPrefix(f.Rule, approvalRules) {
			return false
		}
	}
	return schemas.VerdictOf(found) == schemas.VerdictReject
}

// Judge gives the verdict on a request. An error is one of reading files, and no verdict.
func Judge(ctx context.Context, c Case) (Verdict, error) {
	v := Verdict{NotLookedAt: c.unseen()}
	var stands []schemas.Finding
	if c.Past != nil {
		c.Name, c.Policy.Now, c.Policy.Released = c.Past.Claim.Origin.Name, c.Past.At, c.Past.Released
		stands = c.Past.stands()
	}
	v.Request, v.Findings = validate.Request(c.Name, c.Raw, c.Policy)
	v.Findings = append(v.Findings, stands...)
	approved := v.Request != nil && !c.Policy.Unapproved
	if v.Request == nil && lacksApproval(v.Findings) { // the rest is said at once
		p := c.Policy
		p.Unapproved = true
		v.Request, _ = validate.Request(c.Name, c.Raw, p)
	}
	if v.Request == nil {
		return v, nil
	}
	if err := errors.Join(c.files(&v), c.run(&v)); err != nil {
		return v, err
	}
	if approved && !c.Unsigned {
		c.approval(&v)
	}
	if c.Record != nil {
		v.Findings = append(v.Findings, c.repeated(v.Request)...)
		if c.Record.Cancelled(v.Request.RequestID) {
			v.Findings = append(v.Findings, Cancelled(v.Request.RequestID))
		}
	}
	err := c.available(ctx, &v)
	schemas.SortFindings(v.Findings)
	return v, err
}

// files judges what came along.
func (c *Case) files(v *Verdict) error {
	if c.Files == nil {
		return nil
	}
	v.Findings = append(v.Findings, validate.Inputs(v.Request, c.Files.Hashes(), c.Policy)...)
	faults, err := intree.Verdict(v.Request.Trees(), c.Files.Open)
	for _, text := range faults {
		v.Findings = append(v.Findings, schemas.Refusal(RuleTree, "%s", text))
	}
	return err
}

// run works out what would run, and judges that.
func (c *Case) run(v *Verdict) error {
	req, hashes := v.Request, map[string]string{}
	if c.Files != nil {
		hashes = c.Files.Hashes()
	}
	if c.Config != nil {
		v.Registry, v.Task = c.Config.Registry(req), c.task(req)
		v.Plan = c.Config.PlanOf(req, schemas.SHA256(c.Raw), hashes, v.Task.Limits, v.Task.Domains)
	}
	if v.Registry != nil {
		v.Findings = append(v.Findings, patchpolicy.OfProfile(req)...)
	}
	if c.Files == nil {
		return nil
	}
	tools := patchpolicy.Run{Argv: patchpolicy.Argv(req), Given: v.Registry, Trees: req.Trees(), Work: req.Work(),
		Open: c.Files.Open, Hashes: hashes}
	found, err := tools.OfPlan(&c.Policy)
	v.Findings = append(v.Findings, found...)
	return err
}

func (c *Case) task(req *schemas.Request) executors.Task {
	return executors.Task{
		ID:         c.Job,
		Backend:    req.Backend,
		Language:   c.Config.ImageName(req.Language),
		Argv:       patchpolicy.Argv(req),
		Code:       req.Code,
		InputsJSON: req.InputsJSON,
		Trees:      req.Trees(),
		Work:       req.Work(),
		Network:    req.Network,
		Domains:    c.Config.Network.AllowedDomains,
		Limits:     c.Config.TaskLimits(req),
	}
}

// approval judges the signatures, and the plan that may be signed with them.
func (c *Case) approval(v *Verdict) {
	p := c.Policy
	if c.MoreApprovers {
		p.MinApprovers = validate.MinApprovers{}
	}
	by, found := validate.Signature(c.Raw, c.Signature, v.Request, p)
	v.Approvers, v.Findings = by.Approvers, append(v.Findings, found...)
	v.SignedPlan = by.Plan
	if c.Config != nil {
		v.Findings = append(v.Findings, validate.Plan(by.Plan, v.Plan, p)...)
	}
}

// repeated finds a request id that was admitted before under another job.
func (c *Case) repeated(req *schemas.Request) []schemas.Finding {
	first, ok := c.Record.Admitted(req.RequestID)
	own := sha256.Sum256(c.Raw)
	switch {
	case !ok || first.ID == c.Job:
		return nil
	case first.SHA256 == hex.EncodeToString(own[:]):
		return []schemas.Finding{schemas.Refusal(RuleDuplicate,
			"request_id %s was taken in before, with the same bytes, as job %s", req.RequestID, first.ID)}
	}
	return []schemas.Finding{schemas.Refusal(RuleConflict,
		"request_id %s was taken in before with other bytes (sha256 %s), as job %s", req.RequestID, first.SHA256,
		first.ID)}
}

// Cancelled is the finding about a request that a person cancelled.
func Cancelled(requestID string) schemas.Finding {
	return schemas.Refusal(ledger.RuleCancelled, "a person cancelled the request %s", requestID)
}

// available says why the node can't run it.
func (c *Case) available(ctx context.Context, v *Verdict) error {
	if c.Config == nil {
		return nil
	}
	var err error
	switch {
	case v.Plan.Image == "":
		err = fmt.Errorf("the configuration names no image for %s, language %s: it is %w", v.Request.Backend,
			v.Request.Language, executors.ErrUnavailable)
	case c.Identity != nil:
		_, err = c.Identity(ctx, v.Task)
	}
	if errors.Is(err, executors.ErrUnavailable) {
		v.Findings = append(v.Findings, schemas.Refusal(RuleBackend, "this node can't run it: %v", err))
		return nil
	}
	return err
}
