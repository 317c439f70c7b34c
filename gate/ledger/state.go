package ledger

import (
	"slices"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// State is where a request stands, in one word: the same in every command, in what the node prints for
// programs, in metrics and in the documents.
type State string

// The states of a request.
const (
	StateUnknown           State = "unknown"            // the node has seen no such request
	StateWaiting           State = "waiting"            // in an inbox, or taken in and without a verdict
	StateAdmitted          State = "admitted"           // accepted, and not started
	StateRunning           State = "running"            // it may have started
	StateFinished          State = "finished"           // its run has ended; its result is being judged
	StateDelivered         State = "delivered"          // its result lies in CORE's folder
	StateTaken             State = "taken"              // its result was delivered, and CORE took it away
	StateRecalled          State = "recalled"           // its result was delivered, and a person took it back
	StateQuarantined       State = "quarantined"        // the request was refused
	StateResultQuarantined State = "result-quarantined" // it ran, and its result was refused
)

// States lists the states of a request, in order.
var States = []State{StateUnknown, StateWaiting, StateAdmitted, StateRunning, StateFinished, StateDelivered,
	StateTaken, StateRecalled, StateQuarantined, StateResultQuarantined}

// StateIn is the state of a request whose job lies in a folder of the spool, in the archive or in quarantine.
func StateIn(place spool.State) State {
	switch place {
	case spool.StateClaimed:
		return StateWaiting
	case spool.StateDelivered:
		return StateDelivered
	case spool.StateRequestRefused:
		return StateQuarantined
	case spool.StateResultRefused:
		return StateResultQuarantined
	case "":
		return StateUnknown
	}
	return State(place)
}

// Ended reports whether nothing more comes of a request in this state, unless a person releases it.
func (s State) Ended() bool {
	return s.Answered() || s == StateRecalled || s == StateQuarantined || s == StateResultQuarantined
}

// Answered reports whether CORE got a result that is in force.
func (s State) Answered() bool { return s == StateDelivered || s == StateTaken }

// Announces is where a job goes after an event; "" if the event moves no job.
func Announces(e Event) spool.State {
	switch e.Type {
	case DeliveryAttempted:
		if e.Outcome == OutcomeAdmitted {
			return spool.StateAdmitted
		}
		return spool.StateRequestRefused
	case RunStarted:
		return spool.StateRunning
	case RunReturned:
		return spool.StateAdmitted
	case RunCompleted, RunFailed:
		return spool.StateFinished
	case ResultDelivered:
		return spool.StateDelivered
	case ResultQuarantined:
		return spool.StateResultRefused
	case QuarantineReleased:
		if e.ResultID != "" {
			return spool.StateFinished
		}
		return spool.StateClaimed
	}
	return ""
}

// EndsRun reports whether an event is the end of a run.
func EndsRun(e Event) bool { return e.Type == RunCompleted || e.Type == RunFailed }

// Withdraws reports whether what CORE was told about the event's request is no longer true.
func Withdraws(e Event) bool {
	to := Announces(e)
	return to == spool.StateAdmitted || to == spool.StateDelivered
}

// Cancels reports whether an event refuses a request because a person cancelled it.
func Cancels(e Event) bool {
	return Announces(e) == spool.StateRequestRefused && slices.Contains(e.Rules, RuleCancelled)
}

// Rejects reports whether by an event a person rejects what is in quarantine, for good.
func Rejects(e Event) bool { return e.Type == QuarantineRejected }

// Recalls reports whether by an event a person takes back a result that CORE got.
func Recalls(e Event) bool { return e.Type == ResultRecalled }

// Reissues reports whether by an event another result takes the place of one that CORE got.
func Reissues(e Event) bool { return e.Type == ResultReissued }

// Rules of the gate's own that a notice is about.
const (
	RuleCancelled = "request.cancelled"
	ruleAge       = "approval.age"
)

// NoticeOf is what CORE is told by an event, or nil if the event tells it nothing.
func NoticeOf(e Event) *schemas.Notice {
	if e.Notice == "" {
		return nil
	}
	n := &schemas.Notice{Version: schemas.NoticeVersion, RequestSHA256: e.RequestSHA256, Job: e.RunID,
		Stage: schemas.StageRefused, CreatedUTC: e.Time, Rules: []schemas.NoticeRule{}}
	switch e.Notice {
	case e.RequestID:
		n.RequestID = e.Notice
	case e.RunID:
	default:
		n.FileName = e.Notice
	}
	for _, id := range e.Rules {
		r, _ := schemas.RuleByID(id)
		n.Rules = append(n.Rules, schemas.NoticeRule{Rule: id, Hint: r.Hint})
	}
	switch {
	case Recalls(e):
		n.Stage, n.ResultID, n.ResultSHA256 = schemas.StageRecalled, e.ResultID, e.ResultSHA256
	case Rejects(e):
		n.Stage = schemas.StageRejected
	case e.Releasable:
		n.Stage = schemas.StageHeld
	case slices.Contains(e.Rules, spool.RuleDamaged):
		n.Stage = schemas.StageInterrupted
	case e.Type == ResultQuarantined:
		n.Stage = schemas.StageResultRefused
	case Cancels(e):
		n.Stage = schemas.StageCancelled
	case slices.Equal(e.Rules, []string{ruleAge}):
		n.Stage = schemas.StageExpired
	}
	return n
}

// NoticeFile is the name of the file that tells CORE about a subject.
func NoticeFile(subject string) string { return spool.NoticePrefix + subject + spool.NoticeSuffix }
