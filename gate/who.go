package gate

import (
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
)

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
