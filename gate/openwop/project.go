// Package openwop shows a node's record to readers of OpenWOP: ledger events as run events, tools
// as descriptors, the chain with signed checkpoints. It only reads.
//
// What it gives away is made of constants, ids, times and numbers. No field of a request, no
// output, no name of a person, file, inbox or host gets into it: the types of schemas/openwop
// have no room for them.
package openwop

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/schemas/openwop"
	"github.com/threegate/tool-exec/spool"
)

// Unmapped says of each type of ledger event that becomes no run event why not. A type that is
// neither here nor in project is left out all the same; a test of gate/ledger wants it here.
var Unmapped = map[ledger.Type]string{
	ledger.NodeStarted:     "the node is no run; OpenWOP's node.started is another thing",
	ledger.NodeReloaded:    "the node is no run",
	ledger.NodeStopped:     "the node is no run",
	ledger.LedgerRecovered: "the node is no run",
	ledger.ClockSetBack:    "the node is no run",
	ledger.DeliveryAttempted: "needs triggerBridge, which needs a readable delivery ledger; a refused request " +
		"has no run, and an event has a run; a run that was taken back ends with it",
	ledger.QuarantineRejected: "the run, if there was one, ended when its result was quarantined",
	ledger.ResultReissued:     "the run ended with its result; OpenWOP has no event for an answer that is replaced",
	ledger.ResultRecalled:     "the run ended with its result; OpenWOP has no event for an answer that is taken back",
	ledger.RequestRefused:     "a request that never came has no run",
	ledger.QuarantineReleased: "a run that ended when its result was quarantined stays ended; a released request " +
		"starts its run later",
	ledger.RequestCancelled: "a request that never ran has no run; of one that ran, its end tells",
	ledger.OrderRefused:     "an order of a person is about no run's course",
	"archive.pruned":        "what is removed later changes nothing of a run",
	ledger.ToolsRecorded:    "sums up what the events of OpenWOP tell one by one",
	ledger.EgressDecided:    "needs httpClient.egressPolicy, which needs safeFetch, a client for packs",
}

// Projector makes run events of ledger events. It remembers runs that have not ended, and
// nothing of those that have. The zero value is ready.
type Projector struct {
	runs map[string]*run
}

// run is a run that has not ended.
type run struct {
	events  int64 // so far
	started time.Time
	tool    string
	attempt int
	called  bool // toolCalled without toolReturned
	limit   int64
	code    openwop.ErrorCode // why it failed, if it did
}

// Project calls emit with the run events of one ledger event, in order. Ledger events must come in
// the order of the record.
func (p *Projector) Project(e ledger.Event, emit func(openwop.Event) error) error {
	r := p.runs[e.RunID]
	if r == nil {
		if ledger.Announces(e) != spool.StateRunning || !spool.ValidID(e.RunID) {
			return nil // of no run, or of one that has ended or never started
		}
		r = &run{started: e.Time}
		if p.runs == nil {
			p.runs = map[string]*run{}
		}
		p.runs[e.RunID] = r
	}
	payloads, ended := r.take(e)
	if ended {
		delete(p.runs, e.RunID)
	}
	for i, payload := range payloads {
		ev := openwop.Event{EventID: eventID(e, i), RunID: e.RunID, Type: payload.EventType(), Payload: payload,
			Timestamp: e.Time, Sequence: r.events, NodeID: openwop.NodeID}
		if r.events == 0 || ended && i == len(payloads)-1 {
			ev.NodeID = "" // of the run itself
		}
		r.events++
		if err := emit(ev); err != nil {
			return err
		}
	}
	return nil
}

// eventID is one for each event of all records: a record's chain is its own.
func eventID(e ledger.Event, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "openwop event %s %d %d", e.Prev, e.Seq, i))
	return hex.EncodeToString(sum[:16])
}

// take is what one ledger event of the run becomes, and whether the run has ended with it.
func (r *run) take(e ledger.Event) (_ []openwop.Payload, ended bool) {
	switch ledger.Announces(e) {
	case spool.StateRunning:
		return r.start(e), false
	case spool.StateAdmitted: // its start was taken back
		payloads := r.returned(e, openwop.ToolError, nil)
		r.attempt++
		return payloads, false
	case spool.StateFinished:
		return r.end(e), false
	case spool.StateDelivered:
		return r.delivered(e), true
	case spool.StateRequestRefused:
		if r.attempt > 0 && !r.called { // its start was taken back, and it is refused after all
			return r.fail(e, openwop.CodeNotStarted, nil), true
		}
	case spool.StateResultRefused:
		return r.fail(e, openwop.CodeResultRejected, nil), true
	default:
		if e.Type == ledger.CapBreached && e.Cause == schemas.CauseTime {
			r.limit = e.LimitMS
		}
	}
	return nil, false
}

func (r *run) start(e ledger.Event) (all []openwop.Payload) {
	backend := "other"
	switch e.Backend { // not what the event holds, but what it means
	case schemas.BackendERA:
		backend = toolERA
	case schemas.BackendMonty:
		backend = toolMonty
	}
	r.tool, r.called = openwop.ToolPrefix+backend, true
	args := e.RequestSHA256
	if raw, err := hex.DecodeString(args); err != nil || len(raw) != sha256.Size {
		args = ""
	}
	if r.events == 0 {
		all = append(all, openwop.RunStartedPayload{WorkflowID: openwop.WorkflowID})
	}
	return append(all,
		openwop.NodeStartedPayload{NodeID: openwop.NodeID, TypeID: openwop.NodeTypePrefix + backend,
			Attempt: r.attempt},
		openwop.ToolCalledPayload{AgentID: openwop.AgentID, ToolName: r.tool, CallID: r.call(e), ArgsHash: args,
			Transport: openwop.TransportNative})
}

func (r *run) call(e ledger.Event) string { return fmt.Sprintf("%s.%d", e.RunID, r.attempt) }

// returned ends an open tool call of the attempt, after all.
func (r *run) returned(e ledger.Event, status openwop.ToolStatus, all []openwop.Payload) []openwop.Payload {
	if !r.called {
		return all
	}
	r.called = false
	back := openwop.ToolReturnedPayload{AgentID: openwop.AgentID, ToolName: r.tool, CallID: r.call(e), Status: status,
		DurationMS: max(0, e.WallMS)}
	return append(all, back)
}

// end is the program's end: the tool returned. What becomes of the run, its result decides.
func (r *run) end(e ledger.Event) (all []openwop.Payload) {
	if r.limit > 0 {
		all = append(all, openwop.CapBreachedPayload{Kind: openwop.CapRunDuration, Limit: r.limit,
			Observed: max(0, e.WallMS), NodeID: openwop.NodeID})
	}
	r.code = codeOf(e.EndCause())
	status := openwop.ToolOK
	if e.Type == ledger.RunFailed {
		status = openwop.ToolError
	}
	return r.returned(e, status, all)
}

// codeOf is why a run failed that ended by a cause, or "" if the program ended by itself: that it
// failed then is the tool's error, not the run's.
func codeOf(c schemas.Cause) openwop.ErrorCode {
	switch c {
	case "", schemas.CauseNone, schemas.CauseExit, schemas.CauseSignal, schemas.CauseOutput, schemas.CauseMissingOutput:
		return ""
	case schemas.CauseTime:
		return openwop.CodeTimeout
	case schemas.CauseCPU:
		return openwop.CodeCPU
	case schemas.CauseMemory:
		return openwop.CodeMemory
	case schemas.CauseProcesses:
		return openwop.CodePids
	case schemas.CauseDisk:
		return openwop.CodeDisk
	case schemas.CauseInterrupted:
		return openwop.CodeInterrupted
	case schemas.CauseCancelled:
		return openwop.CodeCancelled
	case schemas.CauseStart:
		return openwop.CodeNotStarted
	}
	return openwop.CodeFailed
}

// delivered is the end of a run that has a result.
func (r *run) delivered(e ledger.Event) (all []openwop.Payload) {
	for i := range e.Artifacts {
		all = append(all, openwop.ArtifactCreatedPayload{ArtifactID: fmt.Sprintf("%s.a%d", e.RunID, i),
			ArtifactType: openwop.ArtifactType, NodeID: openwop.NodeID})
	}
	if r.code != "" {
		return r.fail(e, r.code, all)
	}
	ms := r.duration(e)
	return append(all, openwop.NodeCompletedPayload{NodeID: openwop.NodeID, DurationMS: ms},
		openwop.RunCompletedPayload{DurationMS: ms})
}

func (r *run) fail(e ledger.Event, c openwop.ErrorCode, all []openwop.Payload) []openwop.Payload {
	all = r.returned(e, openwop.ToolError, all)
	why := openwop.NewError(c)
	return append(all, openwop.NodeFailedPayload{NodeID: openwop.NodeID, Error: why, Attempts: r.attempt + 1},
		openwop.RunFailedPayload{Error: why, FailedNodeID: openwop.NodeID, DurationMS: r.duration(e)})
}

// duration is how long the run took by the clock of the record, which may have been set back.
func (r *run) duration(e ledger.Event) int64 { return max(0, e.Time.Sub(r.started).Milliseconds()) }
