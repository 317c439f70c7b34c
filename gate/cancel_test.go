package gate_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/hold"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
)

func (w *world) status(t *testing.T, id string) *view.RequestStatus {
	t.Helper()
	f, err := view.Of(w.cfg, id)
	must(t, err)
	return f
}

// notice is what CORE is told of a request id.
func (w *world) notice(t *testing.T, id string) (n schemas.Notice) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.cfg.CoreNotices.Path, ledger.NoticeFile(id)))
	must(t, err)
	must(t, schemas.DecodeStrict(raw, &n))
	return n
}

// TestCancel: what waits or was admitted never starts, also while all runners are busy; what runs is stopped.
// Each id has one answer, and is used up.
func TestCancel(t *testing.T) {
	// Three run at once, so one of these is admitted and waits.
	w := mustWorld(t, scenario{word: "endless|endless|endless|endless|ok"})
	held := w.cfg.Inboxes[1]
	must(t, hold.Set(w.cfg, hold.Hold{Inbox: held.Name, By: "alice", Reason: "a test"}))
	must(t, os.Rename(filepath.Join(w.cfg.Inboxes[0].Path, requestID(4)+".md"),
		filepath.Join(held.Path, requestID(4)+".md")))
	must(t, os.Rename(filepath.Join(w.cfg.Inboxes[0].Path, requestID(4)+".inputs"),
		filepath.Join(held.Path, requestID(4)+".inputs")))
	done, refused := map[orders.Receipt]bool{}, map[orders.Receipt]string{}
	cancel := func(id string) orders.Receipt {
		name := w.order(t, orders.Cancel, id, nil)
		done[name] = true
		return name
	}
	var admitted string
	var last orders.Receipt
	var running []string
	step := 0
	must(t, w.serveUntil(func() bool {
		switch step {
		case 0: // one waits behind the others
			admitted, running = "", nil
			for k := range 4 {
				switch id := requestID(k); w.status(t, id).State {
				case "admitted":
					admitted = id
				case "running":
					running = append(running, id)
				}
			}
			if admitted == "" || len(running) != 3 {
				return false
			}
			cancel(admitted)
		case 1:
			if !w.status(t, admitted).State.Ended() {
				return false
			}
			for _, id := range running {
				cancel(id)
			}
			cancel(requestID(4))
			refused[w.order(t, orders.Cancel, admitted, nil)] = "was cancelled before"
			refused[w.order(t, orders.Cancel, "TR-20260209-160501Z-unknown", nil)] = "knows no request"
			last = w.order(t, orders.Cancel, "../../x", nil)
			refused[last] = "is the id of no request"
		case 2:
			if a, err := orders.AnswerOf(w.dir, last.SHA256); a == nil || err != nil {
				return false
			}
			must(t, hold.Release(w.cfg, held.Name))
		default:
			return w.idle()
		}
		step++
		return false
	}))
	for name := range done {
		if why := w.answer(t, name); why != "" {
			t.Errorf("%s: refused: %s", name, why)
		}
	}
	for name, want := range refused {
		if why := w.answer(t, name); !strings.Contains(why, want) {
			t.Errorf("%s: %q, want %q", name, why, want)
		}
	}
	for k := range 5 {
		f := w.status(t, requestID(k))
		if f.Cancelled == nil || f.Cancelled.By != "alice" {
			t.Errorf("%s: who cancelled it is not told: %+v", f.RequestID, f)
		}
		if slices.Contains(running, f.RequestID) {
			if f.State != "delivered" || f.Cause != schemas.CauseCancelled {
				t.Errorf("what ran: %+v", f)
			}
			result, err := os.ReadFile(f.ResultPath)
			must(t, err)
			for _, want := range []string{"- Outcome: Cancelled: a person cancelled the request", "- Cause: cancelled"} {
				if !strings.Contains(string(result), want) {
					t.Errorf("%q is not in %s", want, result)
				}
			}
			continue
		}
		if f.State != "quarantined" || !slices.Equal(f.Rules, []string{"request.cancelled"}) {
			t.Errorf("what waited: %+v", f)
		}
		if n := w.notice(t, f.RequestID); n.Stage != schemas.StageCancelled {
			t.Errorf("CORE is told %+v", n)
		}
	}
	if runs := w.recorder(&injector{}).runs(); len(runs) != 3 {
		t.Errorf("%d ran, want 3", len(runs))
	}
	for _, e := range w.events(t, ledger.RequestCancelled) {
		if e.By != "alice" || len(e.Order) != 64 || e.RequestID == "" {
			t.Errorf("on record: %+v", e)
		}
		if why, err := orders.ReasonOf(w.dir, e.Order); why != "as I say" || err != nil {
			t.Errorf("the reason: %q, %v", why, err)
		}
	}
	w.onlyAnswers(t)

	// What was cancelled can't come again, and keeps its answer.
	must(t, w.put(w.cfg.Inboxes[0].Path, admitted, "ok"))
	must(t, w.put(w.cfg.Inboxes[0].Path, requestID(4), "ok"))
	must(t, w.process(&injector{}))
	if runs := w.recorder(&injector{}).runs(); len(runs) != 3 {
		t.Errorf("%d ran, want 3", len(runs))
	}
	w.onlyAnswers(t)
}

// onlyAnswers wants the node whole, and one answer for each request id.
func (w *world) onlyAnswers(t *testing.T) {
	t.Helper()
	v, _ := w.look()
	if w.answers(&v); len(v.notes) > 0 {
		t.Error(strings.Join(v.notes, "\n"))
	}
}

// TestCancelOver: what has its answer can't be cancelled.
func TestCancelOver(t *testing.T) {
	for _, name := range []string{"delivered", "refused request", "refused result"} {
		w := ended(t, name)
		order := w.order(t, orders.Cancel, crashID, nil)
		w.until(t)
		if why := w.answer(t, order); !strings.HasPrefix(why, crashID+" is over: ") {
			t.Errorf("%s: %q", name, why)
		}
		if n := len(w.events(t, ledger.RequestCancelled)); n > 0 {
			t.Errorf("%s: it was cancelled", name)
		}
		w.onlyAnswers(t)
	}
}

// TestCancelOfALostRun: a run whose sandbox is gone, as after a reboot, is told as cancelled if that was on record before.
func TestCancelOfALostRun(t *testing.T) {
	w := mustWorld(t, scenario{word: "endless"})
	dying := &injector{name: "executor.start", nth: 1, kind: killAfter}
	if _ = w.process(dying); !dying.dead {
		t.Fatal("it did not die")
	}
	w.append(t, ledger.Event{Type: ledger.RequestCancelled, RequestID: crashID, By: "alice",
		Order: strings.Repeat("0", 64)})
	must(t, w.recorder(&injector{}).reboot())
	w.until(t)
	if s := w.status(t, crashID); s.State != ledger.StateDelivered || s.Cause != schemas.CauseCancelled {
		t.Errorf("%s, cause %s", s.State, s.Cause)
	}
}

// TestCrashCancel: wherever a job was when its gate died and a person cancelled it, and wherever the next
// gate dies: the order is carried out once, and the request has one answer.
func TestCrashCancel(t *testing.T) {
	for _, at := range []string{"claim.commit.rename", "executor.prepare", "executor.start"} {
		cancelled := func() (w *world, order orders.Receipt) {
			w = mustWorld(t, scenario{word: "endless"})
			dying := &injector{name: at, nth: 1, kind: killAfter}
			if _ = w.process(dying); !dying.dead {
				t.Fatalf("it did not die at %s", at)
			}
			return w, w.order(t, orders.Cancel, crashID, nil)
		}
		calm := &injector{}
		w, _ := cancelled()
		must(t, w.process(calm))
		for n := range calm.steps {
			kind := []faultKind{killAfter, cutPerDir, happened}[n%3]
			w, order := cancelled()
			_ = w.process(&injector{at: n + 1, kind: kind})
			w.whole(t)
			w.until(t)
			w.until(t)
			if why := w.answer(t, order); why != "" {
				t.Errorf("at %s, %s at step %d: refused: %s", at, kind, n+1, why)
			}
			if got := len(w.events(t, ledger.RequestCancelled)); got != 1 {
				t.Errorf("at %s, %s at step %d: %d events, want 1", at, kind, n+1, got)
			}
			if runs := w.recorder(&injector{}).runs(); len(runs) > 1 {
				t.Errorf("at %s, %s at step %d: %v", at, kind, n+1, runs)
			}
			w.onlyAnswers(t)
			w.remove()
		}
	}
}
