package gate_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/spool"
)

// TestNoSandboxIsLeftInQuarantine: an admitted job that is refused may come back at once under its id, and then has a
// new sandbox. So the old one is gone before anybody can release it.
func TestNoSandboxIsLeftInQuarantine(t *testing.T) {
	w := mustWorld(t, scenario{name: "left", word: "ok", want: ending{requests: 1}})
	w.queued(t)
	job := filepath.Base(w.one(t, "spool/admitted/j*"))
	e := w.recorder(&injector{})
	must(t, e.Prepare(t.Context(), executors.Task{ID: job})) // as of a try that failed later
	file := filepath.Join(w.dir, config.FileName)
	text := strings.Replace(crashConfig, "max_age: 0s", "max_age: 0s, approvers: [somebody]", 1)
	must(t, os.WriteFile(file, []byte(text), 0o640))
	var err error
	w.cfg, err = config.Load(w.dir)
	must(t, err)
	moved := false
	seam := func(s spool.Step, apply func() error) error {
		if s.Name == "move.quarantine/requests.rename" {
			moved = true
			if left, err := e.List(t.Context()); len(left) > 0 || err != nil {
				t.Errorf("left: %v, %v", left, err)
			}
		}
		return apply()
	}
	g, err := gate.Open(w.cfg, gate.Options{Executor: e, Logger: slog.New(slog.DiscardHandler), Seam: seam})
	must(t, err)
	must(t, errors.Join(w.runUntilIdle(g), g.Close()))
	if v := w.atEnd(false); len(v.notes) > 0 || !moved {
		t.Errorf("moved: %v, %v", moved, v.notes)
	}
}

// failing is an executor whose second sandbox can't be started, and whose request is then cancelled.
type failing struct {
	*rechecked
	cancel func()
}

func (f *failing) Start(ctx context.Context, id string) error {
	if strings.HasPrefix(id, "r") {
		f.cancel()
		return errors.New("no room")
	}
	return f.rechecked.Start(ctx, id)
}

// TestASecondSandboxThatFailedIsRemoved: also if its request is cancelled before the next try.
func TestASecondSandboxThatFailedIsRemoved(t *testing.T) {
	w := mustWorld(t, scenario{name: "recheck", word: "profile"})
	e := &failing{rechecked: &rechecked{speaker: &speaker{w.recorder(&injector{}), map[string]map[string]string{
		"profile": {"out/changes.patch": strings.Replace(todoPatch, "TODO", "two", 1)}}}}}
	e.cancel = func() {
		w.order(t, orders.Cancel, crashID, nil)
		wait(t, func() bool { n, err := spool.NewOrders(w.dir, nil).Pending(); must(t, err); return len(n) == 0 })
	}
	w.runWith(t, e)
	if left, err := e.List(t.Context()); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// wait waits for what comes, if it takes minutes.
func wait(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(atMost); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come")
		}
	}
}

// stuckKill is an executor that can't stop a run until it is told.
type stuckKill struct {
	*recorder
	mended chan struct{}
}

func (s *stuckKill) Kill(ctx context.Context, id string) error {
	select {
	case <-s.mended:
		return s.recorder.Kill(ctx, id)
	default:
		return errors.New("the runtime does not answer")
	}
}

// TestAnOrderThatFailsHoldsUpNoOther: it is tried again until it is done; what others are about goes on meanwhile, and
// what is about the same waits behind it.
func TestAnOrderThatFailsHoldsUpNoOther(t *testing.T) {
	w := mustWorld(t, scenario{word: "endless|; id"})
	e := &stuckKill{w.recorder(&injector{}), make(chan struct{})}
	g, err := gate.Open(w.cfg, gate.Options{Executor: e, Logger: slog.New(slog.DiscardHandler), Retry: firstPause})
	must(t, err)
	ctx, stop := context.WithTimeout(t.Context(), atMost)
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	wait(t, func() bool { return w.status(t, requestID(0)).State == "running" && len(w.items(t)) == 1 })
	cancel := w.order(t, orders.Cancel, requestID(0), nil)
	again := w.order(t, orders.Cancel, requestID(0), nil)
	reject := w.order(t, orders.Reject, w.items(t)[0], nil)
	wait(t, func() bool { a, err := orders.AnswerOf(w.dir, reject.SHA256); must(t, err); return a != nil })
	for _, name := range []orders.Receipt{cancel, again} {
		if a, err := orders.AnswerOf(w.dir, name.SHA256); a != nil || err != nil {
			t.Errorf("answered: %+v, %v", a, err)
		}
	}
	wait(t, func() bool {
		status, err := os.ReadFile(filepath.Join(w.dir, "status.json"))
		return err == nil && strings.Contains(string(status), cancel.Name+": ") && !strings.Contains(string(status), reject.Name)
	})
	close(e.mended)
	wait(t, w.idle)
	stop()
	must(t, errors.Join(<-ran, g.Close()))
	if w.answer(t, cancel) != "" || !strings.Contains(w.answer(t, again), "was cancelled before") || w.answer(t, reject) != "" {
		t.Errorf("%q, %q, %q", w.answer(t, cancel), w.answer(t, again), w.answer(t, reject))
	}
	w.onlyAnswers(t)
}
