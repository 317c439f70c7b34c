package gate_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// releasable are a request and a result that are refused for what a person may release.
var releasable = []scenario{
	{name: "request", word: secret, want: ending{delivered: 1, runs: 1}},
	{name: "result", word: "secret", want: ending{delivered: 1, runs: 1}},
}

// served is a node that has done all that there is to do.
func served(t *testing.T, sc scenario) *world {
	t.Helper()
	w := mustWorld(t, sc)
	w.until(t)
	return w
}

// release orders all findings of an item released, as alice.
func (w *world) release(t *testing.T, item string, also ...schemas.Release) orders.Receipt {
	t.Helper()
	it, err := quarantine.NewStore(filepath.Join(w.dir, spool.DirQuarantine)).Show(item)
	must(t, errors.Join(err, it.Damage))
	for _, r := range it.Reasons.Releasable {
		also = append(also, r.Release)
	}
	given, err := orders.Give(w.dir, orders.Order{Kind: orders.Release, Subject: item, By: "alice", Reason: "a sample",
		Released: also}, time.Now(), nil)
	must(t, err)
	return given
}

// result is the one result that CORE can see.
func (w *world) result(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(w.one(t, "core-inbound/TS-*.md"))
	must(t, err)
	return string(raw)
}

// A person releases what was refused for text: it is judged again by all other rules, and who did so
// is on record before, and in the result.
func TestRelease(t *testing.T) {
	for _, sc := range releasable {
		t.Run(sc.name, func(t *testing.T) {
			w := served(t, sc)
			item := w.items(t)[0]
			first, second := w.release(t, item), w.release(t, item)
			w.until(t)
			if why := w.answer(t, first); why != "" {
				t.Fatalf("refused: %s", why)
			}
			if why := w.answer(t, second); !strings.Contains(why, "is not in quarantine") {
				t.Errorf("the second: %q", why)
			}
			on := w.events(t, ledger.QuarantineReleased)
			if len(on) != 1 || on[0].By != "alice" || len(on[0].Order) != 64 || on[0].RunID != item ||
				len(on[0].Released) == 0 || on[0].Released[0].Rule != "secrets.scan" {
				t.Errorf("on record: %+v", on)
			}
			if got := w.result(t); !strings.Contains(got, "Released by alice: rule secrets.scan.") ||
				!strings.Contains(got, secret) {
				t.Errorf("the result:\n%s", got)
			}
			if v := w.atEnd(false); len(v.notes) > 0 {
				t.Error(strings.Join(v.notes, "\n"))
			}
			raw, err := os.ReadFile(filepath.Join(w.dir, spool.DirOrdersDone, first.SHA256+".json"))
			must(t, err)
			must(t, os.WriteFile(filepath.Join(w.dir, spool.DirOrders, first.Name+".json"), raw, 0o600)) // somebody puts it back
			w.until(t)
			if n := len(w.events(t, ledger.QuarantineReleased)); n != 1 || w.answer(t, first) != "" {
				t.Errorf("%d releases, want 1", n)
			}
			w.whole(t)
		})
	}
}

// What a person releases holds for that one job, and for the bytes that were named.
func TestReleaseIsNarrow(t *testing.T) {
	w := served(t, scenario{word: secret + "|" + secret + "|; id"})
	items := w.items(t)
	at := slices.IndexFunc(items, func(id string) bool {
		raw, err := os.ReadFile(filepath.Join(w.dir, spool.DirQuarantineRequests, id, quarantine.FileJSON))
		must(t, err)
		return strings.Contains(string(raw), "sec.shell.")
	})
	chain := items[at]
	items = slices.Delete(items, at, at+1)
	for _, c := range []struct {
		what  string
		order orders.Receipt
		why   string
	}{
		{"structure", w.release(t, chain, schemas.Release{Rule: "sec.shell.chaining"}),
			"none that a person can release"},
		{"other bytes", w.release(t, items[1], schemas.Release{Rule: "secrets.scan",
			SHA256: strings.Repeat("0", 64)}), "was not refused by"},
		{"another rule", w.release(t, items[1], schemas.Release{Rule: "approval.missing"}), "was not refused by"},
		{"one of both", w.release(t, items[0]), ""},
	} {
		w.until(t)
		if why := w.answer(t, c.order); !strings.Contains(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%s: %q, want %q", c.what, why, c.why)
		}
	}
	if left := w.items(t); len(left) != 2 || slices.Contains(left, items[0]) {
		t.Errorf("in quarantine: %v, want all but %s", left, items[0])
	}
	must(t, w.put(w.cfg.Inboxes[0].Path, requestID(7), secret))
	w.until(t)
	if n := len(w.items(t)); n != 3 {
		t.Errorf("%d items, want 3: the same text in another request is judged by itself", n)
	}
	rejected := w.order(t, orders.Reject, items[1], nil)
	w.until(t)
	after := w.release(t, items[1])
	w.until(t)
	if w.answer(t, rejected) != "" || !strings.Contains(w.answer(t, after), "was rejected") {
		t.Errorf("after the rejection: %q", w.answer(t, after))
	}
	w.whole(t)
}

// A release survives a kill at each of its steps, happens once, and CORE gets one answer.
func TestCrashRelease(t *testing.T) {
	for _, sc := range releasable {
		calm := &injector{}
		w := served(t, sc)
		w.release(t, w.items(t)[0])
		must(t, w.process(calm))
		if len(calm.steps) < 20 {
			t.Fatalf("only %d steps", len(calm.steps))
		}
		for at := range calm.steps {
			kind := []faultKind{killAfter, cutPerDir, happened}[at%3]
			w := served(t, sc)
			name := w.release(t, w.items(t)[0])
			_ = w.process(&injector{at: at + 1, kind: kind})
			w.whole(t)
			w.until(t)
			if why := w.answer(t, name); why != "" {
				t.Errorf("%s, %s at step %d: refused: %s", sc.name, kind, at+1, why)
			}
			if n := len(w.events(t, ledger.QuarantineReleased)); n != 1 {
				t.Errorf("%s, %s at step %d: %d events, want 1", sc.name, kind, at+1, n)
			}
			if v := w.atEnd(kind.reboots()); len(v.notes) > 0 {
				t.Errorf("%s, %s at step %d: %v", sc.name, kind, at+1, v.notes)
			}
		}
	}
}

// stage is that of the one notice that CORE can see, or "".
func (w *world) stage(t *testing.T) schemas.NoticeStage {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(w.cfg.CoreNotices.Path, "*"))
	must(t, err)
	if len(all) == 0 {
		return ""
	}
	raw, err := os.ReadFile(all[0])
	must(t, err)
	must(t, valid(raw))
	var n schemas.Notice
	must(t, schemas.DecodeStrict(raw, &n))
	if len(all) > 1 || n.RequestID != crashID {
		t.Fatalf("notices: %v, of %s", all, n.RequestID)
	}
	return n.Stage
}

// What a person may release is held: CORE is told so, and then gets its one final answer.
func TestHeld(t *testing.T) {
	for _, sc := range releasable {
		w := served(t, sc)
		if got := w.stage(t); got != schemas.StageHeld {
			t.Errorf("%s: before: %q", sc.name, got)
		}
		w.release(t, w.items(t)[0])
		w.until(t)
		if got := w.stage(t); got != "" {
			t.Errorf("%s: after its release: %q", sc.name, got)
		}
		w = served(t, sc)
		w.order(t, orders.Reject, w.items(t)[0], nil)
		w.until(t)
		if got := w.stage(t); got != schemas.StageRejected {
			t.Errorf("%s: after its rejection: %q", sc.name, got)
		}
		w.whole(t)
	}
	w := ended(t, "refused request")
	if got := w.stage(t); got != schemas.StageRefused {
		t.Errorf("what nobody can release: %q", got)
	}
	w.order(t, orders.Reject, w.items(t)[0], nil)
	w.until(t)
	if got := w.stage(t); got != schemas.StageRefused {
		t.Errorf("a final answer is another one after a rejection: %q", got)
	}
}

// A request that was mended and promoted again has its own answer: what is done with the item that was
// held under its id tells CORE nothing.
func TestHeldAndPromotedAgain(t *testing.T) {
	w := served(t, releasable[0])
	item := w.items(t)[0]
	must(t, w.put(w.cfg.Inboxes[0].Path, crashID, "ok"))
	w.until(t)
	if got := w.stage(t); got != "" {
		t.Errorf("after the second was taken in: %q", got)
	}
	late := w.release(t, item)
	w.until(t)
	if why := w.answer(t, late); !strings.Contains(why, "was taken in as job") {
		t.Errorf("released: %q", why)
	}
	w.order(t, orders.Reject, item, nil)
	w.until(t)
	if got := w.stage(t); got != "" || len(w.events(t, ledger.QuarantineRejected)) != 1 {
		t.Errorf("after the rejection of the first: %q", got)
	}
	w.whole(t)
}

// The rejection of what was held survives a kill at each step, and CORE learns of it.
func TestCrashRejectHeld(t *testing.T) {
	calm := &injector{}
	w := served(t, releasable[1])
	w.order(t, orders.Reject, w.items(t)[0], nil)
	must(t, w.process(calm))
	for at := range calm.steps {
		kind := []faultKind{killAfter, cutPerDir, happened}[at%3]
		w := served(t, releasable[1])
		w.order(t, orders.Reject, w.items(t)[0], nil)
		_ = w.process(&injector{at: at + 1, kind: kind})
		w.whole(t)
		w.until(t)
		if got := w.stage(t); got != schemas.StageRejected || len(w.events(t, ledger.QuarantineRejected)) != 1 {
			t.Errorf("%s at step %d: %q", kind, at+1, got)
		}
		w.whole(t)
	}
}

// TestReleaseWaitsForTheMove: an item that lies in quarantine, but whose move is not known to be durable, is still in
// the hands of who moves it. Nobody takes it back before.
func TestReleaseWaitsForTheMove(t *testing.T) {
	w := mustWorld(t, releasable[1])
	held := make(chan struct{}, 1)
	log := slog.New(slog.NewTextHandler(signal{"orders are held up", held}, nil))
	given := make(chan struct{})
	var once sync.Once
	seam := func(s spool.Step, apply func() error) error {
		if s.Name == "move.quarantine/results.fsyncdir" {
			once.Do(func() {
				name := w.release(t, w.items(t)[0])
				close(given)
				for waits := true; waits; {
					a, err := orders.AnswerOf(w.dir, name.SHA256)
					if err != nil || a != nil {
						t.Errorf("answered: %v, %v", a, err)
						return
					}
					select {
					case <-held:
						waits = false
					case <-t.Context().Done():
						return
					case <-time.After(time.Millisecond):
					}
				}
			})
		}
		return apply()
	}
	g, err := gate.Open(w.cfg, gate.Options{Executor: &recorder{dir: w.dir + ".run", seam: seam}, Logger: log,
		Retry: firstPause, Seam: seam})
	must(t, err)
	ctx, stop := context.WithTimeout(t.Context(), atMost)
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	select {
	case <-given:
	case <-ctx.Done():
	}
	for !w.idle() && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	stop()
	must(t, errors.Join(<-ran, g.Close()))
	if v := w.atEnd(false); len(v.notes) > 0 {
		t.Error(v.notes)
	}
}

// signal tells when a text is written.
type signal struct {
	text string
	told chan struct{}
}

func (s signal) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.text) {
		select {
		case s.told <- struct{}{}:
		default:
		}
	}
	return len(p), nil
}
