package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/intree"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/patchpolicy"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/approval"
)

// Rules that only the gate can judge.
const (
	ruleDuplicate = "request.duplicate"
	ruleConflict  = "request.conflict"
	ruleBackend   = "request.backend.unavailable"
	ruleTree      = "request.inputs.tree"
)

// admit gives the verdict on a claimed job: it is admitted, or refused.
func (g *Gate) admit(ctx context.Context, j *spool.Job) error {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	a, err := g.verdict(ctx, j, g.now().UTC())
	if a == nil || err != nil {
		return err
	}
	return g.record(ledger.Event{
		Type: ledger.DeliveryAttempted, Outcome: ledger.Delivered, Attempt: g.attempt(j),
		SubscriptionID: j.Origin.Inbox, DedupKey: dedupKey(a.Request.RequestID),
		RunID: j.ID, RequestID: a.Request.RequestID, RequestSHA256: j.SHA256, Backend: a.Request.Backend,
	})
}

// readmit gives an admitted job its verdict anew if a person cancelled it, or the node has other rules since.
// That time went by is no reason: it is judged as of when it was admitted.
func (g *Gate) readmit(ctx context.Context, j *spool.Job) (refused bool, err error) {
	a, err := readAdmission(j)
	if err != nil {
		return false, err
	}
	// Asked once: both can change at any time.
	cancelled, otherRules := g.journal.isCancelled(a.Request.RequestID), a.Rules != g.config().Rules()
	if !cancelled && !otherRules {
		return false, nil
	}
	// The sandbox of an earlier try goes first: once it is refused, the job may come back at once, and has a new one.
	if err := g.exec.Cleanup(ctx, j.ID); err != nil {
		return false, err
	}
	if cancelled {
		return true, g.refuse(j, &a.Request, g.cancelled(a.Request.RequestID))
	}
	again, err := g.verdict(ctx, j, a.AdmittedAt)
	return again == nil && err == nil, err
}

// verdict judges a job as of a time, and refuses it or writes down what was decided. It gives nil if it was
// refused.
func (g *Gate) verdict(ctx context.Context, j *spool.Job, at time.Time) (*admission, error) {
	rules := g.config().Rules() // before: should others come meanwhile, it is judged again
	req, findings, err := g.judge(ctx, j, at)
	if err != nil {
		return nil, err
	}
	if req == nil || schemas.VerdictOf(findings) == schemas.VerdictReject {
		return nil, g.refuse(j, req, findings)
	}
	approvers, err := g.approvers(j, req, at)
	if err != nil {
		return nil, err
	}
	a := &admission{
		Version:       recordVersion,
		Request:       *req,
		RequestSHA256: j.SHA256,
		Approvers:     approvers,
		Task:          g.task(j, req),
		Registry:      g.config().Registry(req),
		AdmittedAt:    at,
		Rules:         rules,
		Findings:      findings,
	}
	if err := writeRecord(j, ledger.FileAdmission, a); err != nil {
		return nil, err
	}
	return a, j.Sync()
}

// attempt counts the verdicts on a claimed job, this one included.
func (g *Gate) attempt(j *spool.Job) int { return 1 + len(g.journal.releasesOf(j)) }

// judge runs every rule over the document and all that came with it. What was
// wrong with the files themselves is enough to refuse: the document is not read
// then, as it may not be whole.
func (g *Gate) judge(ctx context.Context, j *spool.Job, at time.Time) (*schemas.Request, []schemas.Finding,
	error) {
	findings := j.Findings()
	if schemas.VerdictOf(findings) == schemas.VerdictReject {
		return nil, findings, nil
	}
	raw, err := j.Request()
	if errors.Is(err, spool.ErrDamaged) {
		return nil, append(findings, finding(spool.RuleDamaged, "the claimed bytes are not what was claimed")), nil
	}
	if err != nil {
		return nil, nil, err
	}
	sig, err := j.Signature()
	if err != nil {
		return nil, nil, err
	}
	p := g.policy(j, at)
	req, fs := validate.Request(j.Origin.Name, raw, p)
	findings = append(findings, fs...)
	if req == nil {
		return nil, schemas.SortFindings(findings), nil
	}
	findings = append(findings, validate.Inputs(req, j.InputHashes(), p)...)
	inTrees, err := trees(j, req)
	if err != nil {
		return nil, nil, err
	}
	findings = append(findings, inTrees...)
	registry, task := g.config().Registry(req), g.task(j, req)
	if registry != nil {
		findings = append(findings, patchpolicy.OfProfile(req)...)
	}
	names, err := toolsOf(j, &task, registry).OfPlan(&p)
	if err != nil {
		return nil, nil, err
	}
	findings = append(findings, names...)
	findings = append(findings, validate.Signature(raw, sig, req, p)...)
	findings = append(findings, validate.Plan(sig, g.plan(j, req, task), p)...)
	findings = append(findings, g.repeated(j, req)...)
	findings = append(findings, g.cancelled(req.RequestID)...)
	if _, err := g.exec.Identity(ctx, task); err != nil {
		if !errors.Is(err, executors.ErrUnavailable) {
			return nil, nil, err
		}
		findings = append(findings, finding(ruleBackend, fmt.Sprintf("this node can't run it: %v", err)))
	}
	return req, schemas.SortFindings(findings), nil
}

// approvers are the persons who signed an admitted request; none where the node verifies no signatures.
func (g *Gate) approvers(j *spool.Job, req *schemas.Request, at time.Time) ([]string, error) {
	p := g.config().Policy(at)
	if len(p.AllowedSigners) == 0 {
		return nil, nil
	}
	raw, err := j.Request()
	if err != nil {
		return nil, err
	}
	sig, err := j.Signature()
	return validate.ApprovedBy(raw, sig, req, p), err
}

// trees looks into each input that is a folder tree, whether it can be unpacked.
func trees(j *spool.Job, req *schemas.Request) (fs []schemas.Finding, err error) {
	faults, err := intree.Verdict(req.Trees(), func(name string) (io.ReadCloser, error) {
		return os.OpenInRoot(j.Path(spool.DirInputs), name)
	})
	for _, text := range faults {
		fs = append(fs, finding(ruleTree, text))
	}
	return fs, err
}

// finding is a blocking finding of the gate's own about a whole document.
func finding(rule, message string) schemas.Finding {
	f := schemas.Finding{Rule: rule, Severity: schemas.SeverityBlocking, Message: message}
	if r, ok := schemas.RuleByID(rule); ok {
		f.Hint = r.Hint
	}
	return f
}

// repeated finds a request id that was admitted before under another job.
func (g *Gate) repeated(j *spool.Job, req *schemas.Request) []schemas.Finding {
	first, ok := g.journal.admittedAs(req.RequestID)
	switch {
	case !ok || first.job == j.ID:
		return nil
	case first.sha256 == j.SHA256:
		return []schemas.Finding{finding(ruleDuplicate, fmt.Sprintf(
			"request_id %s was taken in before, with the same bytes, as job %s", req.RequestID, first.job))}
	default:
		return []schemas.Finding{finding(ruleConflict, fmt.Sprintf(
			"request_id %s was taken in before with other bytes (sha256 %s), as job %s", req.RequestID, first.sha256,
			first.job))}
	}
}

func (g *Gate) task(j *spool.Job, req *schemas.Request) executors.Task {
	return executors.Task{
		ID:         j.ID,
		Backend:    req.Backend,
		Language:   g.config().ImageName(req.Language),
		Argv:       patchpolicy.Argv(req),
		Code:       req.Code,
		InputsJSON: req.InputsJSON,
		Trees:      req.Trees(),
		Work:       req.Work(),
		Network:    req.Network,
		Domains:    g.config().Network.AllowedDomains,
		Limits:     g.config().TaskLimits(req),
	}
}

// plan is what would run now as a task of a job.
func (g *Gate) plan(j *spool.Job, req *schemas.Request, t executors.Task) approval.Plan {
	return g.config().PlanOf(req, j.SHA256, j.InputHashes(), t.Limits, t.Domains)
}

// dedupKey is opaque, as OpenWOP asks: it shows nothing of the id.
func dedupKey(requestID string) string {
	sum := sha256.Sum256([]byte("threegate request " + requestID))
	return hex.EncodeToString(sum[:])
}

func codeDigest(code string) string {
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}

// blockingRules lists the rules that refused, sorted and once each.
func blockingRules(fs []schemas.Finding) []string {
	var ids []string
	for _, f := range fs {
		if f.Severity == schemas.SeverityBlocking {
			ids = append(ids, f.Rule)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
