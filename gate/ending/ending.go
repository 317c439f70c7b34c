// Package ending says what the ledger is told when a run has ended. It is pure.
package ending

import (
	"fmt"
	"slices"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
)

// Events tell how a run ended: each limit, each destination, its tool calls if it told of any, then the end itself.
func Events(run, request string, limit time.Duration, out *executors.Outcome, tools *schemas.ToolCalls) []ledger.Event {
	var evs []ledger.Event
	causes := out.LimitsHit
	if len(causes) == 0 {
		switch out.Cause {
		case schemas.CauseNone, schemas.CauseSignal, schemas.CauseStart, schemas.CauseInterrupted,
			schemas.CauseCancelled:
		default:
			causes = []schemas.Cause{out.Cause}
		}
	}
	for _, c := range causes {
		e := ledger.Event{Type: ledger.CapBreached, RunID: run, RequestID: request, Cause: c}
		if c == schemas.CauseTime {
			e.LimitMS = limit.Milliseconds()
		}
		evs = append(evs, e)
	}
	decided := func(decision string, destinations []string, more int) {
		if more > 0 {
			destinations = append(slices.Clone(destinations), fmt.Sprintf("%d more that are not listed", more))
		}
		for _, d := range destinations {
			evs = append(evs, ledger.Event{Type: ledger.EgressDecided, RunID: run, RequestID: request,
				Decision: decision, Destination: d})
		}
	}
	decided("allowed", out.NetworkDestinations, out.NetworkMore.Destinations)
	decided("allowed", out.NetworkFailed, out.NetworkMore.Failed)
	decided("denied", out.NetworkRefused, out.NetworkMore.Refused)
	if tools != nil {
		evs = append(evs, ledger.Event{Type: ledger.ToolsRecorded, RunID: run, RequestID: request, Tools: tools})
	}
	t := ledger.RunCompleted
	if out.ExitCode != 0 || (out.Cause != schemas.CauseNone && out.Cause != schemas.CauseOutput) {
		t = ledger.RunFailed
	}
	code := out.ExitCode
	return append(evs, ledger.Event{Type: t, RunID: run, RequestID: request, ExitCode: &code,
		Cause:  out.Cause,
		WallMS: out.Wall.Milliseconds(), CPUMS: out.CPU.Milliseconds(), PeakBytes: out.PeakMemoryBytes})
}
