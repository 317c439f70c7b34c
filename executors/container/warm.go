package container

import (
	"context"

	containerdclient "github.com/containerd/containerd/v2/client"

	"github.com/threegate/tool-exec/executors"
)

// prepareWarm gives the task an idle slot if there is one that fits. One that
// can't be had for whatever reason is destroyed, and the task starts cold.
func (e *Executor) prepareWarm(ctx context.Context, b box, r *root, t executors.Task, p payload) (bool, error) {
	if b.there() {
		_, unstarted := b.unstarted()
		if err := e.Cleanup(ctx, t.ID); err != nil || unstarted {
			return false, err // what ended one slot before the start might end each
		}
	}
	s := e.pool.take(p.model)
	if s == nil && e.direct() { // making one takes a fraction of a cold start
		made := e.cfg.Trace.Step(t.ID, "prepare: make a slot")
		var err error
		if s, err = e.makeSlot(ctx, p.model, e.cfg.Slots.Limits); err == nil {
			e.pool.use()
		}
		made()
	}
	if s == nil {
		return false, nil
	}
	defer e.cfg.Trace.Step(t.ID, "prepare: claim a slot")()
	if err := e.claim(b, s, r, t, p); err != nil {
		e.pool.drop(s)
		e.pool.done()
		return false, nil
	}
	e.heldMu.Lock()
	e.holds[t.ID] = s
	e.heldMu.Unlock()
	return true, nil
}

// Ready says that a slot waits which fits the task: to prepare it then takes less
// than a wait for the disk. It may be gone when Prepare comes.
func (e *Executor) Ready(t executors.Task) bool {
	if e.pool == nil || !e.fits(t) {
		return false
	}
	p, err := e.payloadOf(t)
	return err == nil && e.pool.has(p.model)
}

// held is the slot that this process claimed for a task, or nil.
func (e *Executor) held(id string) *slot {
	e.heldMu.Lock()
	defer e.heldMu.Unlock()
	return e.holds[id]
}

func (e *Executor) release(id string) {
	e.heldMu.Lock()
	_, ok := e.holds[id]
	delete(e.holds, id)
	e.heldMu.Unlock()
	if ok {
		e.pool.done()
	}
}

// exited tells of the end of a slot's init.
func (s *slot) exited() <-chan containerdclient.ExitStatus {
	c := make(chan containerdclient.ExitStatus, 1)
	go func() { <-s.gone; c <- s.exit }()
	return c
}

func (e *Executor) closePool() error {
	if e.pool == nil {
		return nil
	}
	return e.pool.close()
}
