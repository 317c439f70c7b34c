package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
)

// Rules that only the gate can judge.
const (
	ruleDuplicate = "request.duplicate"
	ruleConflict  = "request.conflict"
	ruleBackend   = "request.backend.unavailable"
)

// admit gives the verdict on a claimed job: it ends in quarantine (done is
// true) or is admitted.
func (g *Gate) admit(ctx context.Context, j *spool.Job) (done bool, err error) {
	switch g.book.marks(j.ID).verdict {
	case ledger.Delivered: // recorded by a gate that died before the rename
		return false, j.Advance(spool.Admitted)
	case ledger.DeadLettered:
		return true, g.shelve(j)
	}
	raw, sum, findings, err := j.Request()
	if err != nil {
		return false, err
	}
	var req *schemas.Request
	if schemas.VerdictOf(findings) == schemas.VerdictAccept {
		req, findings = g.judge(ctx, j, raw, sum, findings)
	}
	if req == nil || schemas.VerdictOf(findings) == schemas.VerdictReject {
		return true, g.refuse(j, req, raw, sum, findings)
	}
	a := &admission{
		Version:       recordVersion,
		Request:       *req,
		RequestSHA256: sum,
		Task:          g.task(j, req),
		AdmittedAt:    g.now().UTC(),
		Findings:      findings,
	}
	if err := writeRecord(j, admissionFile, a); err != nil {
		return false, err
	}
	err = g.record(ledger.Event{
		Type: ledger.DeliveryAttempted, Outcome: ledger.Delivered, Attempt: 1,
		SubscriptionID: j.Origin.Inbox, DedupKey: dedupKey(req.RequestID),
		RunID: j.ID, RequestID: req.RequestID, RequestSHA256: sum, Backend: req.Backend,
	})
	if err != nil {
		return false, err
	}
	return false, j.Advance(spool.Admitted)
}

// judge runs every rule over the document and all that came with it.
func (g *Gate) judge(ctx context.Context, j *spool.Job, raw []byte, sum string, findings []schemas.Finding) (*schemas.Request, []schemas.Finding) {
	p := g.cfg.Policy(g.now())
	req, fs := validate.Request(j.Origin.Name, raw, p)
	findings = append(findings, fs...)
	if req == nil {
		return nil, schemas.SortFindings(findings)
	}
	inputs, fs := j.Inputs()
	findings = append(findings, fs...)
	findings = append(findings, validate.Inputs(req, inputs, p)...)
	sig, _ := j.Signature()
	findings = append(findings, validate.Signature(raw, sig, req, p)...)
	findings = append(findings, g.repeated(j, req, sum)...)
	if _, err := g.exec.Identity(ctx, g.task(j, req)); err != nil {
		findings = append(findings, schemas.Finding{
			Rule: ruleBackend, Severity: schemas.SeverityBlocking,
			Message: fmt.Sprintf("this node can't run it: %v", err),
			Hint:    "`threegate doctor` says which backends and languages this node has",
		})
	}
	return req, schemas.SortFindings(findings)
}

// repeated finds a request id that was admitted before under another job.
func (g *Gate) repeated(j *spool.Job, req *schemas.Request, sum string) []schemas.Finding {
	first, ok := g.book.admittedAs(req.RequestID)
	switch {
	case !ok || first.job == j.ID:
		return nil
	case first.sha256 == sum:
		return []schemas.Finding{{
			Rule: ruleDuplicate, Severity: schemas.SeverityBlocking,
			Message: fmt.Sprintf("request_id %s was taken in before, with the same bytes, as job %s", req.RequestID, first.job),
			Hint:    "nothing is to be done: the first one's result stands. To run it again, give it a new request_id and approve it again",
		}}
	default:
		return []schemas.Finding{{
			Rule: ruleConflict, Severity: schemas.SeverityBlocking,
			Message: fmt.Sprintf("request_id %s was taken in before with other bytes (sha256 %s), as job %s", req.RequestID, first.sha256, first.job),
			Hint:    "give the changed request a new request_id and have it approved",
		}}
	}
}

// refuse moves a claimed job to quarantine with its reasons.
func (g *Gate) refuse(j *spool.Job, req *schemas.Request, raw []byte, sum string, findings []schemas.Finding) error {
	reasons := quarantine.Reasons{
		Item:         j.ID,
		Kind:         schemas.KindRequest,
		OriginalName: j.Origin.Name,
		Inbox:        j.Origin.Inbox,
		SHA256:       sum,
		Size:         int64(len(raw)),
		ReceivedAt:   j.Origin.ClaimedAt,
		RefusedAt:    g.now().UTC(),
		Findings:     findings,
	}
	ev := ledger.Event{
		Type: ledger.DeliveryAttempted, Outcome: ledger.DeadLettered, Attempt: 1,
		SubscriptionID: j.Origin.Inbox, RunID: j.ID, RequestSHA256: sum, Rules: blockingRules(findings),
	}
	if req != nil {
		reasons.RequestID, reasons.ApprovedBy = req.RequestID, req.ApprovedBy
		ev.RequestID, ev.DedupKey = req.RequestID, dedupKey(req.RequestID)
	}
	if err := quarantine.Write(j.Path(), reasons); err != nil {
		return err
	}
	if err := g.record(ev); err != nil {
		return err
	}
	g.log.Info("request quarantined", "job", j.ID, "inbox", j.Origin.Inbox, "rules", ev.Rules)
	return g.shelve(j)
}

// shelve moves a refused job, reasons and all, to quarantine.
func (g *Gate) shelve(j *spool.Job) error {
	if err := j.Quarantine(); err != nil {
		return err
	}
	g.book.close(j.ID)
	return nil
}

func (g *Gate) task(j *spool.Job, req *schemas.Request) executors.Task {
	return executors.Task{
		ID:         j.ID,
		Backend:    req.Backend,
		Language:   req.Language,
		Argv:       req.Argv,
		Code:       req.Code,
		InputsJSON: req.InputsJSON,
		Network:    req.Network,
		Domains:    g.cfg.Network.AllowedDomains,
		Limits:     g.cfg.TaskLimits(req),
	}
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
