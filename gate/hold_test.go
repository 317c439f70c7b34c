package gate_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/hold"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
)

// TestHold: nothing of a held inbox is admitted, also not what was claimed before, over any restart; the
// rest goes on; and once it is resumed all comes to its end.
func TestHold(t *testing.T) {
	w := mustWorld(t, scenario{name: "held", word: "ok", want: ending{delivered: 2, runs: 2}})
	a, b := w.cfg.Inboxes[0], w.cfg.Inboxes[1]
	// One request is claimed and has no verdict.
	dying := &injector{name: "job.admission.json.create", nth: 1, kind: killBefore}
	if _ = w.process(dying); !dying.dead {
		t.Fatal("it did not die")
	}
	w.one(t, "spool/claimed/*")
	must(t, hold.Set(w.cfg, hold.Hold{Inbox: a.Name, By: "alice", Reason: "a test", SinceUTC: time.Now()}))
	must(t, w.put(a.Path, requestID(1), "ok"))
	for life := range 2 {
		must(t, w.put(b.Path, requestID(2+life), "ok"))
		must(t, w.serveUntil(func() bool { return len(w.glob("archive/*/*/*")) == life+1 }))
		if n, err := spool.Waiting(a.Path); n != 1 || err != nil {
			t.Fatalf("%d wait in the held inbox: %v", n, err)
		}
		w.one(t, "spool/claimed/*")
		if v, _ := w.look(); len(v.notes) > 0 {
			t.Errorf("%v", v.notes)
		}
	}
	must(t, hold.Release(w.cfg, a.Name))
	must(t, w.process(&injector{}))
	if done := w.glob("archive/*/*/*"); len(done) != 4 {
		t.Errorf("%v", done)
	}
}

// TestReleasedAndPromotedAgain: while a request that was released waits for its verdict, another one of its id is
// admitted. The released one is a second of that id then, and does not run.
func TestReleasedAndPromotedAgain(t *testing.T) {
	w := served(t, releasable[0])
	a, b := w.cfg.Inboxes[0], w.cfg.Inboxes[1]
	must(t, hold.Set(w.cfg, hold.Hold{Inbox: a.Name, By: "alice", Reason: "a test", SinceUTC: time.Now()}))
	name := w.release(t, w.items(t)[0])
	must(t, w.serveUntil(func() bool {
		return len(w.glob("spool/claimed/*")) == 1 && len(w.glob("orders/*.json")) == 0
	}))
	if why := w.answer(t, name); why != "" {
		t.Fatal(why)
	}
	must(t, w.put(b.Path, crashID, "ok"))
	must(t, w.serveUntil(func() bool { return len(w.glob("archive/*/*/*")) == 1 }))
	must(t, hold.Release(w.cfg, a.Name))
	w.until(t)
	if runs, items := w.events(t, ledger.RunStarted), w.items(t); len(runs) != 1 || len(items) != 1 {
		t.Errorf("%d runs and %d items in quarantine, want 1 and 1", len(runs), len(items))
	}
	w.whole(t)
}

func (w *world) glob(pattern string) []string {
	found, _ := filepath.Glob(filepath.Join(w.dir, pattern))
	return found
}

// serveUntil serves the node with a gate of its own until done.
func (w *world) serveUntil(done func() bool) error {
	g, err := gate.Open(w.cfg, gate.Options{Executor: w.recorder(&injector{}),
		Logger: slog.New(slog.DiscardHandler), Retry: firstPause})
	if err != nil {
		return err
	}
	defer g.Close()
	ctx, stop := context.WithTimeoutCause(context.Background(), atMost, errors.New("it came to no end"))
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	for ctx.Err() == nil && !done() {
		select {
		case err := <-ran:
			return err
		case <-time.After(time.Millisecond):
		}
	}
	late := context.Cause(ctx)
	stop()
	return errors.Join(late, <-ran)
}

// TestHoldThatCannotBeRead: it holds, and says so.
func TestHoldThatCannotBeRead(t *testing.T) {
	w := mustWorld(t, scenario{name: "held", word: "ok"})
	must(t, os.WriteFile(filepath.Join(w.dir, "hold.json"), []byte("{"), 0o600))
	holds, err := hold.List(w.cfg)
	must(t, err)
	if len(holds) != 1 || holds[0].Damage == "" || !hold.Paused(holds, "a") || !hold.Paused(holds, "b") {
		t.Errorf("%+v", holds)
	}
	if err := hold.Set(w.cfg, hold.Hold{Inbox: "b", By: "x", Reason: "\x1b[2J"}); err == nil {
		t.Error("a reason that steers a terminal was taken")
	}
}
