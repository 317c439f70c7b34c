package gate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/spool"
)

// TestWatchReadsOn: each look sees what came, without reading what it has read;
// a record that was written anew is read anew.
func TestWatchReadsOn(t *testing.T) {
	w := mustWorld(t, scenario{name: "watched", word: "ok"})
	watch := view.Follow(w.cfg, crashID)
	want := func(state ledger.State) {
		t.Helper()
		if f, err := watch.Look(); err != nil || f.State != state {
			t.Fatalf("%+v, %v, want %s", f, err, state)
		}
	}
	want("waiting")
	dying := &injector{name: "executor.start", nth: 1, kind: killAfter}
	if _ = w.process(dying); !dying.dead {
		t.Fatal("it did not die")
	}
	want("running")
	segment := w.one(t, filepath.Join(spool.DirLedger, "*.jsonl"))
	whole, err := os.ReadFile(segment)
	must(t, err)
	// The first line is damaged while the rest is read on, and no look notices.
	must(t, os.WriteFile(segment, append([]byte("x"), whole[1:]...), 0o600))
	want("running")
	must(t, os.WriteFile(segment, whole, 0o600))
	must(t, w.process(&injector{}))
	want("delivered")
	whole, err = os.ReadFile(segment)
	must(t, err)
	must(t, os.WriteFile(segment+".new", whole, 0o600))
	must(t, os.Rename(segment+".new", segment))
	want("delivered")
}

// TestWatchOfAMendedRequest: a request that was refused is put in again under
// its id. What became of the first is no answer to who waits for the second.
func TestWatchOfAMendedRequest(t *testing.T) {
	w := mustWorld(t, scenario{name: "refused", word: "; id"})
	must(t, w.process(&injector{}))
	first, err := view.Of(w.cfg, crashID)
	must(t, err)
	if first.State != "quarantined" {
		t.Fatalf("%+v", first)
	}
	must(t, w.send())
	watch := view.Follow(w.cfg, crashID)
	if f, err := watch.Look(); err != nil || f.State != "waiting" || f.State.Ended() || f.Job != "" || len(f.Rules) != 0 {
		t.Errorf("in the inbox: %+v, %v", f, err)
	}
	dying := &injector{name: "job.reasons.json.create", nth: 1, kind: killAfter}
	if _ = w.process(dying); !dying.dead {
		t.Fatal("it did not die")
	}
	w.one(t, "spool/claimed/*")
	if f, err := watch.Look(); err != nil || f.State != "waiting" {
		t.Errorf("claimed: %+v, %v", f, err)
	}
	must(t, w.process(&injector{}))
	if f, err := watch.Look(); err != nil || f.State != "quarantined" || f.Job == first.Job {
		t.Errorf("refused again: %+v, %v", f, err)
	}
}

// TestAnEndIsToldWhenItIsInItsPlace: who reads the result or the reasons as soon as the end is told finds them.
func TestAnEndIsToldWhenItIsInItsPlace(t *testing.T) {
	for word, c := range map[string]struct {
		step          string
		before, state ledger.State
	}{
		"ok":   {"publish.commit.rename", ledger.StateFinished, ledger.StateDelivered},
		"; id": {"move.quarantine/requests.rename", ledger.StateWaiting, ledger.StateQuarantined},
	} {
		w := mustWorld(t, scenario{name: "place", word: word})
		watch := view.Follow(w.cfg, crashID)
		dying := &injector{name: c.step, nth: 1, kind: killBefore}
		if _ = w.process(dying); !dying.dead {
			t.Fatal("it did not die")
		}
		if f, err := watch.Look(); err != nil || f.State != c.before || f.State.Ended() {
			t.Errorf("%+v, %v: told before it was in its place", f, err)
		}
		must(t, w.process(&injector{}))
		if f, err := watch.Look(); err != nil || f.State != c.state || !f.State.Ended() {
			t.Errorf("%+v, %v: not told", f, err)
		}
	}
}
