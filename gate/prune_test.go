package gate_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/prune"
	"github.com/threegate/tool-exec/spool"
)

// pruned is a node with three delivered jobs, a refused request and a refused result.
func pruned(t *testing.T) *world {
	t.Helper()
	w := mustWorld(t, scenario{name: "pruned", word: "ok|fail|bare|; id|secret"})
	must(t, w.process(&injector{}))
	return w
}

func later() time.Time { return time.Now().Add(100 * 24 * time.Hour) }

// TestPrune: what was delivered and is old goes, is not lost, and nothing else is touched.
func TestPrune(t *testing.T) {
	w := pruned(t)
	rule := prune.Rule{OlderThan: 90 * 24 * time.Hour, Keep: -1}
	p, err := prune.Run(t.Context(), w.cfg, rule, prune.Options{By: "alice", Reason: "by rule"})
	if must(t, err); len(p.Items) != 0 || p.Kept != 3 {
		t.Fatalf("nothing is old: %+v", p)
	}
	// One was lost before: it stays lost, and is none that was removed by rule.
	lost := w.glob("archive/*/*/*")[0]
	must(t, os.RemoveAll(lost))
	// One is damaged: it stays as it is.
	damaged := w.glob("archive/*/*/*")[0]
	must(t, os.WriteFile(filepath.Join(damaged, spool.FileRequest), []byte("x"), 0o600))
	p, err = prune.Look(t.Context(), w.cfg, rule, prune.Options{Now: later})
	if must(t, err); len(p.Items) != 1 || p.Passed != 1 || len(w.glob("archive/*/*/*")) != 2 {
		t.Fatalf("%+v", p)
	}
	p, err = prune.Run(t.Context(), w.cfg, rule, prune.Options{Now: later, By: "alice", Reason: "by rule"})
	if must(t, err); len(p.Items) != 1 {
		t.Fatalf("%+v", p)
	}
	if left := w.glob("archive/*/*/*"); len(left) != 1 || left[0] != damaged {
		t.Errorf("%v is left", left)
	}
	_, r := w.look()
	if r.Balance.Pruned != 1 || r.Balance.Missing() != 1 || r.Balance.RequestsQuarantined != 1 ||
		r.Balance.ResultsQuarantined != 1 {
		t.Errorf("%+v", r.Balance)
	}
	n := 0
	for _, f := range r.Found {
		if f.Check == fsck.CheckLost {
			if n++; f.Job != filepath.Base(lost) {
				t.Errorf("%+v", f)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d are lost", n)
	}
}

// TestPruneBySize: the oldest go until the rest fits.
func TestPruneBySize(t *testing.T) {
	w := pruned(t)
	all, err := prune.Look(t.Context(), w.cfg, prune.Rule{Keep: 0}, prune.Options{})
	if must(t, err); len(all.Items) != 3 {
		t.Fatalf("%+v", all)
	}
	p, err := prune.Run(t.Context(), w.cfg, prune.Rule{Keep: all.Bytes - 1}, prune.Options{By: "alice", Reason: "by rule"})
	if must(t, err); len(p.Items) != 1 || p.Items[0].Job != all.Items[0].Job {
		t.Errorf("%+v, want the first of %+v", p, all)
	}
	if v, r := w.look(); len(v.notes) > 0 || !r.Whole() {
		t.Errorf("%v", v.notes)
	}
}

// TestPruneAndTheClock: a clock that is set back makes no new job old, and removes nothing.
func TestPruneAndTheClock(t *testing.T) {
	w := pruned(t)
	w.now = func() time.Time { return time.Date(2026, 2, 10, 0, 0, 0, 0, time.UTC) }
	must(t, w.put(w.cfg.Inboxes[0].Path, requestID(8), "ok"))
	must(t, w.process(&injector{}))
	rule := prune.Rule{OlderThan: 90 * 24 * time.Hour, Keep: -1}
	for _, now := range []func() time.Time{time.Now, w.now} {
		p, err := prune.Look(t.Context(), w.cfg, rule, prune.Options{Now: now})
		if must(t, err); len(p.Items) != 0 || p.Kept != 4 {
			t.Errorf("%+v", p)
		}
	}
}

// TestPruneIsCutOff kills a removal at each of its steps, before and after: the next one brings it to
// the same end, and in between nothing is wrong but what it left behind.
func TestPruneIsCutOff(t *testing.T) {
	dead := errors.New("killed")
	for step := 1; ; step++ {
		for _, before := range []bool{true, false} {
			w := pruned(t)
			n := 0
			seam := func(_ spool.Step, apply func() error) error {
				if n++; n < step {
					return apply()
				}
				if n == step && !before {
					_ = apply()
				}
				return dead
			}
			rule := prune.Rule{OlderThan: time.Hour, Keep: -1}
			_, err := prune.Run(t.Context(), w.cfg, rule, prune.Options{Now: later, Seam: seam, By: "alice", Reason: "by rule"})
			if n < step {
				if must(t, err); step < 8 {
					t.Errorf("only %d steps were seen", step)
				}
				return
			}
			if err == nil {
				t.Fatalf("step %d: it did not fail", step)
			}
			_, r := w.look()
			for _, f := range r.Found {
				if f.Check != fsck.CheckTemporary {
					t.Errorf("step %d: %+v", step, f)
				}
			}
			_, err = prune.Run(t.Context(), w.cfg, rule, prune.Options{Now: later, By: "alice", Reason: "by rule"})
			must(t, err)
			v, r := w.look()
			if len(v.notes) > 0 || r.Balance.Pruned != 3 || r.Balance.Missing() != 0 ||
				len(w.glob("archive/*/*/*")) != 0 {
				t.Errorf("step %d: %v, %+v", step, v.notes, r.Balance)
			}
			w.remove()
		}
	}
}

// TestPruneOrders: an order stays as long as anything that it decided, and its removal is on record.
func TestPruneOrders(t *testing.T) {
	w := mustWorld(t, scenario{word: "ok|; id|" + secret})
	w.until(t)
	items := w.items(t)
	rejected := w.order(t, orders.Reject, items[0], nil)
	released := w.release(t, items[1])
	unknown := w.order(t, orders.Cancel, "TR-20260209-160501Z-unknown", nil)
	w.until(t)
	for _, r := range []orders.Receipt{rejected, released} {
		if why := w.answer(t, r); why != "" {
			t.Fatalf("refused: %s", why)
		}
	}
	rule := prune.Rule{OlderThan: 90 * 24 * time.Hour, Keep: -1}
	o := prune.Options{By: "alice", Reason: "by rule"}
	p, err := prune.Run(t.Context(), w.cfg, rule, o)
	if must(t, err); len(p.Orders) != 0 {
		t.Fatalf("nothing is old: %+v", p)
	}
	o.Now = later
	p, err = prune.Run(t.Context(), w.cfg, rule, o)
	must(t, err)
	if want := []string{released.SHA256, unknown.SHA256}; !slices.Equal(p.Orders, want) {
		t.Errorf("%v go, want %v", p.Orders, want)
	}
	if left := w.glob("orders/done/*.json"); len(left) != 1 || filepath.Base(left[0]) != rejected.SHA256+".json" {
		t.Errorf("left: %v", left)
	}
	on := w.events(t, ledger.ArchivePruned)
	if len(on) != 2 || !slices.Equal(on[1].Orders, p.Orders) || on[1].By != "alice" {
		t.Errorf("on record: %+v", on)
	}
	w.whole(t)

	// What was pruned does not come back to life.
	must(t, os.WriteFile(filepath.Join(w.dir, spool.DirOrdersDone, unknown.SHA256+".json"), []byte("{}"), 0o600))
	if _, r := w.look(); r.Whole() {
		t.Error("fsck does not name what lies there again")
	}
	_, err = prune.Run(t.Context(), w.cfg, rule, o)
	must(t, err)
	w.whole(t)
}
