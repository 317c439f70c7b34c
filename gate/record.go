package gate

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate/approval"
)

const (
	recordVersion  = 1
	maxRecordBytes = 64 << 20
)

// admitted is what was judged and will run: written before a job counts as
// admitted, and anew if the node got other rules before the start; read by every later
// step, so that nothing can change what was decided once it may run.
type admitted struct {
	Version       int             `json:"version"`
	Request       schemas.Request `json:"request"`
	RequestSHA256 string          `json:"request_sha256"`
	// Approved are those whose approval counted, the one that the request names first. An older node wrote Approvers:
	// their names, if they had signed.
	Approved  []approval.Approver `json:"approved,omitempty"`
	Approvers []string            `json:"approvers,omitempty"`
	// Plan is the sha256 of the plan that was signed with the request, if there was one.
	Plan string         `json:"plan_sha256,omitempty"`
	Task executors.Task `json:"task"`
	// Registry is what the profile of the request's language gives to the run. Without a profile there is none.
	Registry   []byte    `json:"registry,omitempty"`
	AdmittedAt time.Time `json:"admitted_at"`
	// Rules names what it was judged by: see config.Node.Rules. An older node wrote none.
	Rules string `json:"rules,omitempty"`
	// Released is what a person took back of an earlier verdict. An older node wrote none.
	Released []schemas.Release `json:"released,omitempty"`
	// Findings are the warnings and suggestions that did not refuse it.
	Findings []schemas.Finding `json:"findings,omitempty"`
}

// decideCause decides the cause of the run, once for all that tell of it. An outcome of an older node gets a word of
// today when it is read.
func decideCause(o *result.Outcome, req *schemas.Request) {
	for i, c := range o.Outcome.LimitsHit {
		o.Outcome.LimitsHit[i] = schemas.CauseOf(c, 0, 0, false)
	}
	o.Outcome.Cause = schemas.CauseOf(o.Outcome.Cause, o.Outcome.ExitCode, len(o.Missing(req)),
		slices.Contains(o.Outcome.LimitsHit, schemas.CauseOutput))
}

// newFence makes a Fence. What ran has ended, so nothing that it wrote can hold it.
func newFence() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

func writeRecord(j *spool.Job, name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return j.WriteFile(name, append(b, '\n'))
}

func readRecord(j *spool.Job, name string, v any, version *int) error {
	b, err := j.ReadFile(name, maxRecordBytes)
	if err != nil {
		return err
	}
	if err := schemas.DecodeStrict(b, v); err != nil {
		return fmt.Errorf("job %s: %s is %w: %w", j.ID, name, spool.ErrDamaged, err)
	}
	if *version != recordVersion {
		return fmt.Errorf("job %s: %s has version %d, this build reads %d", j.ID, name, *version, recordVersion)
	}
	return nil
}

func readAdmission(j *spool.Job) (*admitted, error) {
	var a admitted
	if err := readRecord(j, ledger.FileAdmission, &a, &a.Version); err != nil {
		return nil, err
	}
	return &a, nil
}

func readOutcome(j *spool.Job, req *schemas.Request) (*result.Outcome, error) {
	var o result.Outcome
	if err := readRecord(j, ledger.FileOutcome, &o, &o.Version); err != nil {
		return nil, err
	}
	decideCause(&o, req)
	return &o, nil
}

// admittedEvent says that a job was admitted, who asked for it, and who approved what.
func admittedEvent(j *spool.Job, a *admitted, attempt int) ledger.Event {
	return ledger.Event{
		Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeAdmitted, Attempt: attempt,
		SubscriptionID: j.Origin.Inbox, DedupKey: dedupKey(a.Request.RequestID),
		RunID: j.ID, RequestID: a.Request.RequestID, RequestSHA256: j.SHA256, Backend: a.Request.Backend,
		Requester: a.Request.RequestedBy, Approvers: a.Approved, Plan: a.Plan, Inputs: ledger.InputsOf(j.InputHashes()),
	}
}

// nodeEvent says what the node decides by from now on. The texts of allowed signers are kept, durably, before.
func (g *Gate) nodeEvent(t ledger.Type, cfg *config.Node) (ledger.Event, error) {
	n := &ledger.Node{Version: g.version, Format: ledger.Format, Images: cfg.ImageDigests(ledger.MaxImages)}
	var err error
	if n.Config, err = cfg.Digest(); err != nil {
		return ledger.Event{}, err
	}
	if len(cfg.AllowedSigners) > 0 {
		name, err := g.spool.KeepSigners(cfg.AllowedSigners)
		if err != nil {
			return ledger.Event{}, err
		}
		n.Signers = []string{name}
	}
	return ledger.Event{Type: t, Node: n}, nil
}

// names are those of the approvers.
func (a *admitted) names() []string {
	names := a.Approvers
	for _, who := range a.Approved {
		names = append(names, who.Name)
	}
	return names
}
