package gate

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/threegate/tool-exec/gate/trouble"
)

// While the self-test fails nothing is started; the next one that passes lifts that.
func TestPostureHoldsRunsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("a sandbox could mount a file system")
		var now atomic.Pointer[error]
		outcome := func(err error) { now.Store(&err) }
		outcome(nil)
		g := &Gate{troubles: trouble.NewList(0), log: slog.New(slog.DiscardHandler),
			posture: posture{every: time.Hour, try: func(context.Context) error { return *now.Load() }}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { g.watchPosture(ctx); close(ended) }()

		time.Sleep(61 * time.Minute)
		synctest.Wait()
		if err := g.contained(); err != nil {
			t.Errorf("a test that passes: %v", err)
		}
		outcome(broken)
		time.Sleep(time.Hour)
		synctest.Wait()
		if err := g.start(ctx, nil); !errors.Is(err, broken) {
			t.Errorf("start: %v", err)
		}
		if list := g.troubles.All(); len(list) != 1 || list[0].What != troublePosture {
			t.Errorf("troubles %+v", list)
		}
		outcome(nil)
		time.Sleep(2 * time.Minute) // sooner than the interval
		synctest.Wait()
		if err := g.contained(); err != nil || len(g.troubles.All()) != 0 {
			t.Errorf("after it passed again: %v, %+v", err, g.troubles.All())
		}
		cancel()
		<-ended
	})
}
