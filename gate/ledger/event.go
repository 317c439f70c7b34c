package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/approval"
)

// Type is the closed set of events. Names follow OpenWOP 1.11.0 where it has
// one; the others are this node's own.
type Type string

// The types of events.
const (
	NodeStarted     Type = "node.started"
	NodeReloaded    Type = "node.reloaded" // another configuration counts from here on
	NodeStopped     Type = "node.stopped"
	LedgerRecovered Type = "ledger.recovered" // a torn last line was cut off
	ClockSetBack    Type = "clock.set.back"   // the host's clock is behind the event before: see ClockTolerance
	// DeliveryAttempted is the verdict on a claimed request: outcome
	// "delivered" (admitted) or "dead-lettered" (quarantined).
	DeliveryAttempted Type = "trigger.delivery.attempted"
	RunStarted        Type = "run.started"
	// RunReturned takes a RunStarted back: for certain nothing of it ran.
	RunReturned       Type = "run.returned"
	RunCompleted      Type = "run.completed" // the program ended by itself, with exit code 0: see Cause.Completed
	RunFailed         Type = "run.failed"
	CapBreached       Type = "cap.breached"
	EgressDecided     Type = "egress.decided" // one for each destination of a run
	ToolsRecorded     Type = "tools.recorded" // the tool calls of a run that told of them
	ResultDelivered   Type = "result.delivered"
	ResultQuarantined Type = "result.quarantined"
	// ResultRecalled takes a delivered result back, by an order of a person: it is no longer the answer to its request.
	ResultRecalled Type = "result.recalled"
	// ResultReissued puts another rendering of a delivered result into its place, by an order of a person: without what
	// it releases.
	ResultReissued Type = "result.reissued"
	ArchivePruned  Type = "archive.pruned" // jobs that were delivered are removed by rule
	// QuarantineRejected ends a quarantined item for good, by an order of a person.
	QuarantineRejected Type = "quarantine.rejected"
	// QuarantineReleased takes a quarantined item back to be judged again, by an order of a person: a
	// request, or with a ResultID its result.
	QuarantineReleased Type = "quarantine.released"
	// RequestCancelled ends a request that is not over, by an order of a person: what was not started is
	// refused, what runs is stopped.
	RequestCancelled Type = "request.cancelled"
	OrderRefused     Type = "order.refused" // an order of a person that was not carried out
	// RequestRefused: a request was not approved, or not promoted. It never came.
	RequestRefused Type = "request.refused"
)

// Types lists every type of event.
var Types = []Type{NodeStarted, NodeReloaded, NodeStopped, LedgerRecovered, ClockSetBack, DeliveryAttempted,
	RunStarted, RunReturned, RunCompleted, RunFailed, CapBreached, EgressDecided, ToolsRecorded, ResultDelivered,
	ResultQuarantined, ResultRecalled, ResultReissued, QuarantineRejected, QuarantineReleased,
	RequestCancelled, OrderRefused, ArchivePruned, RequestRefused}

// DeliveryOutcome is the outcome of a DeliveryAttempted, in the words of OpenWOP.
type DeliveryOutcome string

// The outcomes: the request was admitted, or refused.
const (
	OutcomeAdmitted DeliveryOutcome = "delivered"
	OutcomeRefused  DeliveryOutcome = "dead-lettered"
)

// Event is one decision. It holds ids, hashes, numbers, rule ids and the names of those who decided, never
// content: no command, output, path or secret.
type Event struct {
	// Seq counts from 1 without a gap. Prev is the sha256 of the line before
	// (64 zeros for the first). Both, and Time, are set by Append.
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	Type Type      `json:"type"`
	// RunID is the job's id.
	RunID string `json:"runId,omitempty"`
	// SubscriptionID is the inbox's name; DedupKey is opaque and one for each request id.
	SubscriptionID string          `json:"subscriptionId,omitempty"`
	DedupKey       string          `json:"dedupKey,omitempty"`
	Attempt        int             `json:"attempt,omitempty"`
	Outcome        DeliveryOutcome `json:"outcome,omitempty"`
	// RequestID is set once it is known to be well formed.
	RequestID     string `json:"requestId,omitempty"`
	RequestSHA256 string `json:"requestSha256,omitempty"`
	// Requester asked for what a DeliveryAttempted admits, and Approvers are the persons whose approval counted, the
	// one that the request names first. A record from before these fields has neither.
	Requester string              `json:"requester,omitempty"`
	Approvers []approval.Approver `json:"approvers,omitempty"`
	// Plan is the sha256 of the plan that was signed with the request, if there was one. Inputs are its input files.
	Plan   string  `json:"planSha256,omitempty"`
	Inputs *Inputs `json:"inputs,omitempty"`
	// Node is what a NodeStarted or NodeReloaded is about.
	Node *Node `json:"node,omitempty"`
	// Notice is the name under which CORE is told of a refusal: see NoticeOf. It is empty
	// if CORE has or gets another answer.
	Notice string `json:"notice,omitempty"`
	// Releasable says that a person may release what was refused, so that the notice is not CORE's last answer.
	Releasable bool `json:"held,omitempty"`
	// Rules are the ids of the blocking rules of a refusal, sorted.
	Rules     []string        `json:"rules,omitempty"`
	Backend   schemas.Backend `json:"backend,omitempty"`
	Image     string          `json:"image,omitempty"`
	ExitCode  *int            `json:"exitCode,omitempty"`
	Cause     schemas.Cause   `json:"cause,omitempty"`
	WallMS    int64           `json:"wallMs,omitempty"`
	CPUMS     int64           `json:"cpuMs,omitempty"`
	PeakBytes int64           `json:"peakBytes,omitempty"`
	// LimitMS is the wall clock limit that a CapBreached of CauseTime is about.
	LimitMS int64 `json:"limitMs,omitempty"`
	// Recheck is how the patch of a run was judged in a second sandbox: "passed", "warned", "broken" or "unknown".
	Recheck string `json:"recheck,omitempty"`
	// Decision is "allowed" or "denied" for a Destination: host and port, why it was
	// refused or not reached, or how many more there were.
	Decision    string `json:"decision,omitempty"`
	Destination string `json:"destination,omitempty"`
	// Tools is what a ToolsRecorded is about: counts of calls, and the digest of their timeline.
	Tools        *schemas.ToolCalls `json:"tools,omitempty"`
	ResultID     string             `json:"resultId,omitempty"`
	ResultSHA256 string             `json:"resultSha256,omitempty"`
	Artifacts    int                `json:"artifacts,omitempty"`
	// Filters are the filters of the operator's that judged the result, besides the rules.
	Filters []string `json:"filters,omitempty"`
	// Took are the requests that a ResultRecalled found to have taken bytes of that result as input.
	Took *Took `json:"took,omitempty"`
	// Withheld is how many places and files the result does not hold.
	Withheld int `json:"withheld,omitempty"`
	// Order is the sha256 of the order that a person gave for this. By is the person's name; the reason lies with the
	// order. What needs no order, an ArchivePruned, has the Reason itself.
	Order string `json:"order,omitempty"`
	// Signature and Answer are the sha256 of the order's signature, if it has one, and of what came of it.
	// OrderBytes is the size of an order that the node did not keep: it was none, or it was large and came to nothing.
	// A record from before these fields has none of them.
	Signature  string `json:"signatureSha256,omitempty"`
	Answer     string `json:"answerSha256,omitempty"`
	OrderBytes *int64 `json:"orderBytes,omitempty"`
	By         string `json:"by,omitempty"`
	Reason     string `json:"reason,omitempty"`
	// Replaces is the id of the result that a ResultReissued ends, ReplacesSHA256 its digest.
	Replaces       string `json:"replaces,omitempty"`
	ReplacesSHA256 string `json:"replacesSha256,omitempty"`
	// Released is what a QuarantineReleased or ResultReissued takes back, of the job and the request of this digest.
	Released []schemas.Release `json:"released,omitempty"`
	// ByUser is the host's user who gave it, if that is not root.
	ByUser string `json:"byUser,omitempty"`
	// Seal is the sha256 of the list of the job's files, if the event ends the job.
	Seal string `json:"seal,omitempty"`
	// Jobs are the ids of those that an ArchivePruned removes, Orders the digests of orders that decided
	// nothing that is kept.
	Jobs   []string `json:"jobs,omitempty"`
	Orders []string `json:"orders,omitempty"`
	// Dropped is how many bytes a LedgerRecovered cut off.
	Dropped int64 `json:"dropped,omitempty"`
	// BackMS is by how much a ClockSetBack is behind the event before it.
	BackMS int64  `json:"backMs,omitempty"`
	Prev   string `json:"prev"`
	// Offset is where its line begins in the record, all segments counted. See EventAt.
	Offset int64 `json:"-"`
}

// EndCause is the cause of a RunCompleted or RunFailed in the words of today; older records tell less of a run that
// ended by itself. The event keeps its own word: programs compute its hash.
func (e *Event) EndCause() schemas.Cause {
	if e.ExitCode == nil {
		return e.Cause
	}
	return schemas.CauseOf(e.Cause, *e.ExitCode, 0, false)
}

// check refuses an event that this build does not know.
func (e *Event) check() error {
	if !slices.Contains(Types, e.Type) {
		return fmt.Errorf("unknown event type %q", e.Type)
	}
	if e.Cause != "" && !slices.Contains(schemas.Causes, schemas.CauseOf(e.Cause, 0, 0, false)) {
		return fmt.Errorf("unknown cause %q", e.Cause)
	}
	switch e.Outcome {
	case "", OutcomeAdmitted, OutcomeRefused:
	default:
		return fmt.Errorf("unknown outcome %q", e.Outcome)
	}
	return nil
}
