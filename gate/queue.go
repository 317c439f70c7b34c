package gate

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/threegate/tool-exec/spool"
)

// queue hands jobs to workers in the order in which they came.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	waiting []*spool.Job
	delayed map[*spool.Job]*time.Timer
	working map[string]bool
	closed  bool
}

func newQueue() *queue {
	q := &queue{delayed: map[*spool.Job]*time.Timer{}, working: map[string]bool{}}
	q.changed.L = &q.mu
	return q
}

func (q *queue) push(j *spool.Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, j)
	q.changed.Broadcast()
}

// pop waits for a job; ok is false once the queue is closed. done or later must
// follow.
func (q *queue) pop() (j *spool.Job, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && len(q.waiting) == 0 {
		q.changed.Wait()
	}
	if q.closed {
		return nil, false
	}
	j = q.waiting[0]
	q.waiting[0] = nil
	q.waiting = q.waiting[1:]
	q.working[j.ID] = true
	q.changed.Broadcast()
	return j, true
}

// take is pop for the job of an id; nil if it does not wait.
func (q *queue) take(id string) *spool.Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	var found *spool.Job
	if at := slices.IndexFunc(q.waiting, func(j *spool.Job) bool { return j.ID == id }); at >= 0 {
		found = q.waiting[at]
		q.waiting = slices.Delete(q.waiting, at, at+1)
	}
	for j, t := range q.delayed {
		if j.ID == id {
			found = j
			t.Stop()
			delete(q.delayed, j)
		}
	}
	if found != nil {
		q.working[id] = true
		q.changed.Broadcast()
	}
	return found
}

func (q *queue) done(j *spool.Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.working, j.ID)
	q.changed.Broadcast()
}

// later gives a job back, to be popped again after d.
func (q *queue) later(j *spool.Job, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.working, j.ID)
	q.changed.Broadcast()
	if q.closed {
		return
	}
	q.delayed[j] = time.AfterFunc(d, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if _, ok := q.delayed[j]; ok {
			delete(q.delayed, j)
			q.waiting = append(q.waiting, j)
			q.changed.Broadcast()
		}
	})
}

// waitRoom waits until fewer than limit jobs wait; false means that ctx ended
// or the queue was closed.
func (q *queue) waitRoom(ctx context.Context, limit int) bool {
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.changed.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for ctx.Err() == nil && !q.closed && len(q.waiting)+len(q.delayed) >= limit {
		q.changed.Wait()
	}
	return ctx.Err() == nil && !q.closed
}

// behind says how many jobs wait, those for another try included.
func (q *queue) behind() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) + len(q.delayed)
}

// drain returns once no job waits to be popped and none is being worked on, or,
// after close, once none is being worked on.
func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.working) > 0 || len(q.waiting) > 0 && !q.closed {
		q.changed.Wait()
	}
}

// close ends pop; jobs being worked on go on.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for j, t := range q.delayed {
		t.Stop()
		delete(q.delayed, j)
	}
	q.changed.Broadcast()
}

func (q *queue) busy() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.working)
}

// maxCleaning is how many sandboxes may be under removal. Whoever ends one more
// run waits, so that removal can't fall behind for ever.
const maxCleaning = 16

// cleaner removes the sandboxes of runs that have ended. What it did not get to
// when the gate dies, the next start removes.
type cleaner struct {
	g     *Gate
	slots chan struct{}
	wg    sync.WaitGroup
}

func newCleaner(g *Gate) *cleaner { return &cleaner{g: g, slots: make(chan struct{}, maxCleaning)} }

// remove removes a sandbox, soon. It is tried until it is done or ctx ends.
func (c *cleaner) remove(ctx context.Context, id string) {
	c.slots <- struct{}{}
	c.wg.Go(func() {
		defer func() { <-c.slots }()
		failed := false
		for ctx.Err() == nil {
			err := c.g.exec.Cleanup(ctx, id)
			if err == nil {
				break
			}
			failed = true
			wait := c.g.troubles.Set(c.g.trouble(id, "what is left of its run can't be removed", err))
			c.g.log.Error("what is left of a run can't be removed, will be tried again",
				"job", id, "error", err, "again_in", wait)
			sleep(ctx, wait)
		}
		if failed { // any other trouble of the job is not ours to clear
			c.g.troubles.Clear(id)
		}
	})
}

// wait returns once nothing is left to be removed.
func (c *cleaner) wait() { c.wg.Wait() }
