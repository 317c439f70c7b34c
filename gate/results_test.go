package gate_test

import (
	"testing"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
)

// results are what view.Results lists.
func results(cfg *config.Node) (list []*view.RequestStatus, err error) {
	err = view.Results(cfg, func(r *view.RequestStatus) error { list = append(list, r); return nil })
	return list, err
}

// TestListResults: what CORE got, and what it may still get.
func TestListResults(t *testing.T) {
	list := func(w *world) []*view.RequestStatus {
		t.Helper()
		l, err := results(w.cfg)
		must(t, err)
		return l
	}
	w := mustWorld(t, scenario{name: "one of each", word: "ok|fail|secret|; id"})
	dying := &injector{name: "executor.start", nth: 1, kind: killAfter}
	if _ = w.process(dying); !dying.dead {
		t.Fatal("it did not die")
	}
	running := 0
	for _, r := range list(w) {
		if r.State == "running" && r.StartedUTC != nil && r.EndedUTC == nil && r.ResultPath == "" {
			running++
		}
	}
	if running == 0 {
		t.Errorf("none is running: %+v", list(w))
	}
	must(t, w.process(&injector{}))
	states := map[string]ledger.State{}
	for _, r := range list(w) {
		states[r.RequestID] = r.State
		if _, err := view.JobDir(w.cfg, r.Job); err != nil {
			t.Errorf("%s: %v", r.RequestID, err)
		}
		if r.State == "delivered" && (r.Artifacts == 0 || r.ResultSHA256 == "" || r.ExitCode == nil ||
			(r.Cause == schemas.CauseNone) != (*r.ExitCode == 0)) {
			t.Errorf("%+v", r)
		}
	}
	want := map[string]ledger.State{requestID(0): "delivered", requestID(1): "delivered",
		requestID(2): "result-quarantined"}
	if len(states) != len(want) {
		t.Errorf("%v", states)
	}
	for id, state := range want {
		if states[id] != state {
			t.Errorf("%s is %q, want %q", id, states[id], state)
		}
	}
	w.take()
	for _, r := range list(w) {
		if r.DeliveredUTC != nil && r.State != "taken" {
			t.Errorf("after CORE took it: %+v", r)
		}
	}
}
