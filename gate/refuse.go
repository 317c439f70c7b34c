package gate

import (
	"cmp"
	"context"
	"fmt"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
)

// refuse gives the verdict that a claimed job goes to quarantine, with its reasons.
func (g *Gate) refuse(j *spool.Job, req *schemas.Request, findings []schemas.Finding) error {
	ev := ledger.Event{
		Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeRefused, Attempt: g.attempt(j),
		SubscriptionID: j.Origin.Inbox, RunID: j.ID, RequestSHA256: j.SHA256, Rules: blockingRules(findings),
	}
	reasons := g.reasons(j, schemas.KindRequest, findings)
	if req != nil {
		reasons.RequestID, reasons.ApprovedBy = req.RequestID, req.ApprovedBy
	} else if raw, err := j.Request(); err == nil {
		reasons.RequestID = validate.RequestID(raw, g.config().Policy(g.now()))
	}
	if reasons.RequestID != "" {
		ev.RequestID, ev.DedupKey = reasons.RequestID, dedupKey(reasons.RequestID)
	}
	ev.Notice, ev.Releasable = g.noticeName(j, ev.RequestID), quarantine.MayRelease(findings)
	if err := writeReasons(j, reasons); err != nil {
		return err
	}
	if err := g.end(j, ev); err != nil {
		return err
	}
	g.senders.add(j.ID, j.Origin.UID, j.Bytes())
	g.log.Info("request quarantined", "job", j.ID, "request", ev.RequestID, "inbox", j.Origin.Inbox, "rules", ev.Rules)
	return nil
}

// reasons is what is known of a refused item.
func (g *Gate) reasons(j *spool.Job, kind schemas.Kind, findings []schemas.Finding) quarantine.Reasons {
	return quarantine.Reasons{
		Item:         j.ID,
		Kind:         kind,
		OriginalName: j.Origin.Name,
		Inbox:        j.Origin.Inbox,
		SHA256:       j.SHA256,
		Size:         j.Origin.Size,
		ReceivedAt:   j.Origin.ClaimedAt,
		RefusedAt:    g.now().UTC(),
		Findings:     findings,
	}
}

// writeReasons puts the two files that say why into the job's folder. They are
// durable after Sync.
func writeReasons(j *spool.Job, r quarantine.Reasons) error {
	forPrograms, forPeople, err := r.Encode()
	if err != nil {
		return err
	}
	if err := j.WriteFile(quarantine.FileJSON, forPrograms); err != nil {
		return err
	}
	return j.WriteFile(quarantine.FileMarkdown, forPeople)
}

// refuseDamaged quarantines what lies in a state folder and is no sound job. It
// can't be gone on with, whatever it was; nothing is lost of it.
func (g *Gate) refuseDamaged(ctx context.Context, j *spool.Job) error {
	if spool.ValidID(j.ID) {
		if err := g.exec.Cleanup(ctx, j.ID); err != nil {
			return fmt.Errorf("clean up after a damaged job: %w", err)
		}
	}
	f := schemas.Refusal(spool.RuleDamaged, "what lies in spool/%s is not a job as the node writes it: %v", j.State,
		j.Damage)
	ev := ledger.Event{Type: ledger.ResultQuarantined, RunID: j.ID, Rules: []string{f.Rule}}
	kind := schemas.KindResult
	if x, _ := g.journal.Job(j.ID); x.Admitted { // else its id may not be well formed
		ev.RequestID, ev.RequestSHA256 = x.RequestID, x.SHA256
	}
	if j.State == spool.StateClaimed {
		ev.Type, ev.Outcome, ev.Attempt = ledger.DeliveryAttempted, ledger.OutcomeRefused, 1
		kind = schemas.KindRequest
	}
	ev.Notice = g.noticeName(j, ev.RequestID)
	r := g.reasons(j, kind, []schemas.Finding{f})
	r.Stage = quarantine.StageRecovery
	r.RequestID, r.SHA256 = ev.RequestID, cmp.Or(j.SHA256, ev.RequestSHA256)
	if err := writeReasons(j, r); err != nil {
		return err
	}
	if err := g.end(j, ev); err != nil {
		return err
	}
	g.log.Error("a damaged job was quarantined",
		"job", ev.RunID, "request", ev.RequestID, "state", j.State, "error", j.Damage)
	return nil
}

// end seals a job's folder as it is now, and records the event that ends the job. From then on
// nothing in the folder changes. A job that goes back to work ends again, with a new seal.
func (g *Gate) end(j *spool.Job, e ledger.Event) (err error) {
	if e.Seal, err = sealed(j); err != nil {
		return err
	}
	return g.record(e)
}

// sealed puts the list of a job's files into its folder, makes all of it durable, and returns the
// digest of the list.
func sealed(j *spool.Job) (string, error) {
	if err := j.Tidy(); err != nil {
		return "", err
	}
	list, digest, err := seal.Make(j.Path(), j.Damage == nil)
	if err != nil {
		return "", err
	}
	if err := j.WriteFile(seal.File, list); err != nil {
		return "", err
	}
	return digest, j.Sync()
}

// noticeName is the name under which CORE is told that a job was refused: the request's id, else
// the name of its file, else the job. It is empty if that request was admitted as another
// job, which has or gets the answer.
func (g *Gate) noticeName(j *spool.Job, requestID string) string {
	if !g.config().CoreNotices.Enabled || !spool.ValidID(j.ID) {
		return ""
	}
	name := requestID
	if name == "" {
		name = spool.RequestStem(j.Origin.Name)
	}
	if name == "" {
		return j.ID
	}
	if by, _, ok := g.journal.Told(name); ok && requestID == "" && by != j.ID {
		return "" // it may be another request's, which has its answer
	}
	if first, ok := g.journal.Admitted(name); ok && first.ID != j.ID {
		return ""
	}
	return name
}

// notify notes what CORE is to find in its folder of notices after a job's last event.
func (g *Gate) notify(j *spool.Job) error {
	name, notice := g.journal.noticeOf(j.ID)
	if name == "" {
		return nil
	}
	return g.putNotice(name, j.ID, notice)
}

// putNotice notes what CORE is to find in its folder of notices by a job, unless another one told it
// something about the same subject since. Without a notice it is to find none.
func (g *Gate) putNotice(name, job string, notice *schemas.Notice) error {
	if !g.config().CoreNotices.Enabled {
		return nil
	}
	g.notifying.Lock()
	defer g.notifying.Unlock()
	if by, _, _ := g.journal.Told(name); by != job {
		return nil
	}
	var data []byte
	if notice != nil {
		var err error
		if data, err = notice.Encode(); err != nil {
			return err
		}
	}
	return g.outbox.Put(ledger.NoticeFile(name), data)
}
