package gate_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/spool"
)

// TestAnUnknownStepStopsTheGate: whoever takes a step that fails and may have
// happened, Run ends by itself, and the next gate brings the request to its end.
func TestAnUnknownStepStopsTheGate(t *testing.T) {
	for _, step := range []string{
		"claim.commit.fsyncdir",   // taken by the intake
		"move.running.fsyncdir",   // by a runner
		"publish.commit.fsyncdir", // by a delivery
		"move.archive.fsyncdir",   // by one too
	} {
		t.Run(step, func(t *testing.T) {
			w := mustWorld(t, scenario{name: "stops", word: "ok", want: ending{delivered: 1, runs: 1}})
			var mu sync.Mutex
			failed := false
			seam := func(s spool.Step, apply func() error) error {
				mu.Lock()
				defer mu.Unlock()
				if s.Name == step && !failed {
					failed = true
					return unix.EMFILE
				}
				return apply()
			}
			g, err := gate.Open(w.cfg, gate.Options{Executor: &recorder{dir: w.dir + ".run", seam: seam},
				Logger: slog.New(slog.DiscardHandler), Seam: seam})
			must(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), atMost)
			defer cancel()
			err = g.Run(ctx)
			if ctx.Err() != nil {
				t.Fatalf("it did not stop by itself: %v", err)
			}
			if !errors.Is(err, spool.ErrUncertain) {
				t.Errorf("it stopped with %v", err)
			}
			must(t, g.Close())
			must(t, w.process(&injector{}))
			if v := w.atEnd(false); len(v.notes) > 0 {
				t.Error(v.notes)
			}
		})
	}
}

// TestAnUnknownStepDuringAStopIsTold: a stop is not orderly if a step that fails on the way may have happened.
func TestAnUnknownStepDuringAStopIsTold(t *testing.T) {
	for range 20 { // which of them Run hears of first is chance
		w := mustWorld(t, scenario{name: "stops", word: "ok", want: ending{delivered: 1, runs: 1}})
		ctx, stop := context.WithCancel(t.Context())
		seam := func(s spool.Step, apply func() error) error {
			if s.Name == "move.running.fsyncdir" {
				stop()
				return unix.EMFILE
			}
			return apply()
		}
		g, err := gate.Open(w.cfg, gate.Options{Executor: &recorder{dir: w.dir + ".run", seam: seam},
			Logger: slog.New(slog.DiscardHandler), Seam: seam})
		must(t, err)
		if err := g.Run(ctx); !errors.Is(err, spool.ErrUncertain) {
			t.Fatalf("it stopped with %v", err)
		}
		must(t, g.Close())
		must(t, w.process(&injector{}))
		if v := w.atEnd(false); len(v.notes) > 0 {
			t.Fatal(v.notes)
		}
		w.remove()
	}
}

// TestAStopDuringTheStartIsOrderly: a gate that is told to stop before it takes in anything
// ends like any other that is told to.
func TestAStopDuringTheStartIsOrderly(t *testing.T) {
	w := mustWorld(t, scenario{name: "stops", word: "ok", want: ending{delivered: 1, runs: 1}})
	w.cfg.Posture.AtStart = true
	for range 50 { // who comes first is chance
		ctx, cancel := context.WithCancel(t.Context())
		told := func(context.Context) error { cancel(); return nil }
		g, err := gate.Open(w.cfg, gate.Options{Executor: w.recorder(&injector{}), Logger: slog.New(slog.DiscardHandler),
			Posture: told})
		must(t, err)
		if err := g.Run(ctx); err != nil {
			t.Fatalf("it stopped with %v", err)
		}
		must(t, g.Close())
	}
	must(t, w.process(&injector{}))
	if v := w.atEnd(false); len(v.notes) > 0 {
		t.Error(v.notes)
	}
}
