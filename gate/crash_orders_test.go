package gate_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// orderTrials are made, each with a fault and two orders at steps that the trial's number chooses.
const orderTrials = 48

// TestCrashMatrixWithOrders gives orders of each kind while a node works and while a fault hits it: every order is
// answered, no job runs twice, and each request id has one answer.
func TestCrashMatrixWithOrders(t *testing.T) {
	const steps = 350 // about as many as a calm run takes
	for n := range uint64(orderTrials) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(n, 24))
			w := mustWorld(t, scenario{word: "ok|balk|; id|secret|" + secret + "|fail"})
			faulty := &injector{at: 1 + rng.IntN(steps), kind: []faultKind{killBefore, killAfter, happened, failIO, cutOrdered, cutPerDir, cutData,
				rebootAfter}[n%8]}
			when := []int{1 + rng.IntN(steps), 1 + rng.IntN(steps)}
			var names []orders.Receipt
			at := 0
			faulty.each = func() { // one step is taken at a time
				at++
				for _, k := range when {
					if k == at {
						names = append(names, w.anyOrder(t, rng))
					}
				}
			}
			_ = w.process(faulty)
			if faulty.kind.reboots() {
				must(t, w.recorder(faulty).reboot())
			}
			for range 2 { // what had no time to come, and what is left to do
				w.whole(t)
				names = append(names, w.anyOrder(t, rng))
				w.until(t)
			}
			for _, name := range names {
				_ = w.answer(t, name)
			}
			for job, times := range w.recorder(&injector{}).runs() {
				if times > 1 {
					t.Errorf("job %s ran %d times", job, times)
				}
			}
			w.onlyAnswers(t)
		})
	}
}

// anyOrder orders something of some request, or of some item if there is one.
func (w *world) anyOrder(t *testing.T, rng *rand.Rand) orders.Receipt {
	o := orders.Order{Kind: orders.Cancel, Subject: requestID(rng.IntN(6)), By: "alice", Reason: "a test"}
	if s, err := view.Of(w.cfg, o.Subject); err == nil && s.ResultSHA256 != "" && rng.IntN(4) == 0 {
		o.Kind, o.ResultSHA256 = orders.Recall, s.ResultSHA256
	}
	items, err := quarantine.NewStore(filepath.Join(w.dir, spool.DirQuarantine)).List("")
	if err == nil && len(items) > 0 && rng.IntN(2) == 0 {
		it := items[rng.IntN(len(items))]
		o.Kind, o.Subject, o.ResultSHA256 = orders.Reject, it.ID, ""
		if it.Reasons != nil && len(it.Reasons.Releasable) > 0 && rng.IntN(2) == 0 {
			o.Kind = orders.Release
			for _, r := range it.Reasons.Releasable {
				o.Released = append(o.Released, schemas.Release(r.Release))
			}
		}
	}
	name, err := orders.Give(w.dir, o, time.Now(), nil)
	if err != nil {
		t.Error(err)
	}
	return name
}
