package gate

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/patchpolicy"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate/approval"
)

// admit gives the verdict on a claimed job: it is admitted, or refused.
func (g *Gate) admit(ctx context.Context, j *spool.Job) error {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	a, err := g.verdict(ctx, j, g.now().UTC(), nil)
	if a == nil || err != nil {
		return err
	}
	return g.record(admittedEvent(j, a, g.attempt(j)))
}

// readmit gives an admitted job its verdict anew if a person cancelled it, or the node has other rules since.
// That time went by is no reason: it is judged as of when it was admitted. Who approved it is on record, and stays.
func (g *Gate) readmit(ctx context.Context, j *spool.Job) (refused bool, err error) {
	a, err := readAdmission(j)
	if err != nil {
		return false, err
	}
	// Asked once: both can change at any time.
	cancelled, otherRules := g.journal.Cancelled(a.Request.RequestID), a.Rules != g.config().Rules()
	if !cancelled && !otherRules {
		return false, nil
	}
	// The sandbox of an earlier try goes first: once it is refused, the job may come back at once, and has a new one.
	if err := g.exec.Cleanup(ctx, j.ID); err != nil {
		return false, err
	}
	if cancelled {
		return true, g.refuse(j, &a.Request, []schemas.Finding{admission.Cancelled(a.Request.RequestID)})
	}
	again, err := g.verdict(ctx, j, a.AdmittedAt, a)
	return again == nil && err == nil, err
}

// verdict judges a job as of a time, and refuses it or writes down what was decided; before is what was decided when it
// was admitted, if it was. It gives nil if it was refused.
func (g *Gate) verdict(ctx context.Context, j *spool.Job, at time.Time, before *admitted) (*admitted, error) {
	cfg := g.config()
	rules := cfg.Rules() // before: should others come meanwhile, it is judged again
	v, err := g.judge(ctx, j, cfg, at)
	if err != nil {
		return nil, err
	}
	if v.Refused() {
		return nil, g.refuse(j, v.Request, v.Findings)
	}
	a := &admitted{
		Version:       recordVersion,
		Request:       *v.Request,
		RequestSHA256: j.SHA256,
		Approved:      v.Approvers,
		Task:          v.Task,
		Registry:      v.Registry,
		AdmittedAt:    at,
		Rules:         rules,
		Released:      releasedBy(g.journal.Released(j.ID, j.SHA256)),
		Findings:      v.Findings,
	}
	if before != nil {
		a.Approved, a.Approvers, a.Plan = before.Approved, before.Approvers, before.Plan
	} else if v.SignedPlan != nil && slices.ContainsFunc(v.Approvers, approval.Approver.Verified) {
		a.Plan = schemas.SHA256(v.SignedPlan)
	}
	if err := writeRecord(j, ledger.FileAdmission, a); err != nil {
		return nil, err
	}
	return a, j.Sync()
}

// attempt counts the verdicts on a claimed job, this one included.
func (g *Gate) attempt(j *spool.Job) int { return 1 + len(g.journal.Released(j.ID, j.SHA256)) }

// judge gives the verdict on a job. What was wrong with the files themselves is enough to refuse: the document is not
// read then, as it may not be whole.
func (g *Gate) judge(ctx context.Context, j *spool.Job, cfg *config.Node, at time.Time) (admission.Verdict, error) {
	early := admission.Verdict{Findings: j.Findings()}
	if early.Refused() {
		return early, nil
	}
	raw, err := j.Request()
	if errors.Is(err, spool.ErrDamaged) {
		early.Findings = append(early.Findings,
			schemas.Refusal(spool.RuleDamaged, "the claimed bytes are not what was claimed"))
		return early, nil
	}
	if err != nil {
		return early, err
	}
	sig, err := j.Signature()
	if err != nil {
		return early, err
	}
	v, err := admission.Judge(ctx, admission.Case{Name: j.Origin.Name, Raw: raw, Policy: g.policy(cfg, j, at),
		Config: cfg, Signature: sig, Files: claimed{j}, Record: g.journal, Job: j.ID, Identity: g.exec.Identity})
	v.Findings = schemas.SortFindings(append(early.Findings, v.Findings...))
	return v, err
}

// claimed are the input files of a job.
type claimed struct{ *spool.Job }

// Hashes implements admission.Files.
func (c claimed) Hashes() map[string]string { return c.InputHashes() }

// Open implements admission.Files.
func (c claimed) Open(name string) (io.ReadCloser, error) {
	if _, ok := c.InputHashes()["/in/"+name]; !ok {
		return nil, fs.ErrNotExist
	}
	return patchpolicy.In(c.Path(spool.DirInputs))(name)
}

// dedupKey is opaque, as OpenWOP asks: it shows nothing of the id.
func dedupKey(requestID string) string {
	return schemas.SHA256([]byte("threegate request " + requestID))
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
