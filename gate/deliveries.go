package gate

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/trouble"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

const (
	// hangsAfter is how long CORE's folder may take to answer before that is told, and a stop leaves it behind.
	hangsAfter = 5 * time.Second
	// leaveLook is how often a stop that waits for deliveries looks whether they hang.
	leaveLook = 100 * time.Millisecond
)

// deliveries take finished jobs to their end. CORE's folder may be a mount that is
// slow, or hangs in calls that nothing can interrupt: then these goroutines hang,
// other jobs go on until their run has ended, and a stop leaves the deliveries
// behind.
type deliveries struct {
	g     *Gate
	queue *queue // jobs whose run has ended
	// hangs is set if a stop did not wait for a delivery.
	hangs atomic.Bool
	wg    sync.WaitGroup

	reissues waker

	mu sync.Mutex
	in map[string]pendingCall // what is under way at a folder of CORE's, by job
}

// pendingCall is a call that may hang.
type pendingCall struct {
	folder string
	since  time.Time
}

func newDeliveries(g *Gate) *deliveries {
	return &deliveries{g: g, queue: newQueue(), reissues: make(waker, 1), in: map[string]pendingCall{}}
}

// waker tells a goroutine that there is something to do.
type waker chan struct{}

func (w waker) wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// run starts n goroutines that deliver results, and one each for notices and reissues; they end after stop.
func (o *deliveries) run(work context.Context, n int, fatal chan<- error) {
	o.wg.Go(func() { o.g.deliverNotices(work) })
	o.wg.Go(func() { o.g.deliverReissues(work, fatal) })
	for range n {
		o.wg.Go(func() {
			for {
				j, ok := o.queue.pop()
				if !ok {
					return
				}
				if o.g.tried(work, o.queue, j, o.g.step(work, j), fatal) {
					return
				}
			}
		})
	}
}

// stop waits for what is being delivered, unless CORE's folder hangs.
func (o *deliveries) stop() {
	o.queue.close()
	done := make(chan struct{})
	go func() { o.wg.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return
		case <-time.After(leaveLook):
		}
		if o.trouble() != nil {
			o.hangs.Store(true)
			o.g.log.Error("stopping: CORE's folder does not answer; deliveries are left to the next start",
				"folder", o.g.config().CoreInbound.Path, "jobs", o.queue.busy())
			return
		}
	}
}

// atCore does something in a folder of CORE's; what names it.
func (o *deliveries) atCore(what, folder string, do func() error) error {
	o.mu.Lock()
	o.in[what] = pendingCall{folder, time.Now()}
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.in, what)
	}()
	return do()
}

// coreInbound does something for a job in CORE's folder of results.
func (g *Gate) coreInbound(j *spool.Job, do func() error) error {
	folder := g.config().CoreInbound.Path
	return executors.WithHint(g.out.atCore(j.ID, folder, do), mendInbound(folder))
}

func mendInbound(folder string) string {
	return "CORE's folder is " + folder + " (core_inbound.path): make or mount it, and let the node write there"
}

// trouble tells that CORE's folder hangs, if it does.
func (o *deliveries) trouble() *trouble.Trouble {
	o.mu.Lock()
	defer o.mu.Unlock()
	var first pendingCall
	for _, at := range o.in {
		if first.since.IsZero() || at.since.Before(first.since) {
			first = at
		}
	}
	if first.since.IsZero() || time.Since(first.since) < hangsAfter {
		return nil
	}
	return &trouble.Trouble{What: troubleCore, Doing: "no result can be delivered", Code: schemas.CodeFileIO,
		Since: first.since.UTC(), Tries: 1, Hint: mendInbound(o.g.config().CoreInbound.Path),
		Error: fmt.Sprintf("CORE's folder %s does not answer: %d deliveries hang, %d results wait",
			first.folder, len(o.in), o.queue.behind())}
}

// deliverNotices brings notices to CORE until ctx ends. Nothing waits for it.
func (g *Gate) deliverNotices(ctx context.Context) {
	folder := g.config().CoreNotices.Path
	deliver := func() error {
		return executors.WithHint(g.out.atCore(troubleNotices, folder, g.outbox.Deliver),
			"CORE's folder of notices is "+folder+
				" (core_notices.path): make or mount it, and let the node write there")
	}
	for ctx.Err() == nil {
		err := deliver()
		if err == nil {
			g.troubles.Clear(troubleNotices)
			select {
			case <-ctx.Done():
			case <-g.outbox.Wake():
			}
			continue
		}
		t := g.trouble(troubleNotices, "CORE can't be told of requests without a result", err)
		wait := g.troubles.Set(t)
		g.log.Error("notices can't be delivered, will be tried again", "error", err, "mend", t.Hint, "again_in", wait)
		sleep(ctx, wait)
	}
	_ = deliver() // what came last; the next start does what fails
}
