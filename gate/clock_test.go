package gate_test

import (
	"sync/atomic"
	"testing"
	"time"
)

// TestClockJumps lets the clock jump to and fro with every look at it, by days:
// every request comes to its end all the same, also over a kill at every step.
func TestClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{-72 * time.Hour, 72 * time.Hour} {
		for _, sc := range mixed {
			w := mustWorld(t, sc)
			var calls atomic.Int64
			w.now = func() time.Time { return time.Now().Add(time.Duration(calls.Add(1)%2) * jump) }
			calm := &injector{}
			must(t, w.process(calm))
			if v := w.atEnd(false); len(v.notes) > 0 {
				t.Errorf("%s, %s: %v", sc.name, jump, v.notes)
			}
			for at := 1; at <= len(calm.steps); at += clockStride {
				again := mustWorld(t, sc)
				again.now = w.now
				_ = again.process(&injector{at: at, kind: killAfter})
				if v := again.recover(trial{sc: sc}); len(v.notes) > 0 {
					t.Errorf("%s, %s, killed at step %d: %v", sc.name, jump, at, v.notes)
				}
				again.remove()
			}
		}
	}
}
