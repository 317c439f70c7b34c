package ending_test

import (
	"slices"
	"testing"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/ending"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
)

// TestNetworkEvents: what has no room in the lists is in the ledger by its number.
func TestNetworkEvents(t *testing.T) {
	o := &executors.Outcome{NetworkDestinations: []string{"a.example:80"},
		NetworkFailed: []string{"b"}, NetworkRefused: []string{"c"},
		NetworkMore: executors.NetworkMore{Refused: 5}}
	var got []string
	for _, e := range ending.Events("j", "r", 0, o, nil) {
		if e.Type == ledger.EgressDecided {
			got = append(got, e.Decision+" "+e.Destination)
		}
	}
	if want := []string{"allowed a.example:80", "allowed b", "denied c",
		"denied 5 more that are not listed"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestToolEvents: what is told of tool calls comes before the end of the run, and only if there is something.
func TestToolEvents(t *testing.T) {
	calls := &schemas.ToolCalls{SHA256: "x", Calls: 1}
	evs := ending.Events("j", "r", 0, &executors.Outcome{Cause: schemas.CauseNone}, calls)
	if len(evs) != 2 || evs[0].Type != ledger.ToolsRecorded || evs[0].Tools != calls || evs[1].Type != ledger.RunCompleted {
		t.Errorf("%+v", evs)
	}
}
