package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/threegate/tool-exec/gate/hold"
	"github.com/threegate/tool-exec/spool"
)

// backlog is how many admitted jobs may wait for a runner, and how many results
// to be delivered, before no more are claimed: those stay in their inbox.
const backlog = 256

// intake claims requests as they appear and gives the verdict on each, one after
// the other. Only it admits: so two requests of one id can't both be the first.
func (g *Gate) intake(ctx, work context.Context, fatal chan<- error) {
	wake, err := g.spool.Watch(ctx)
	if err != nil {
		if ctx.Err() == nil { // else it was told to stop as it started
			offer(fatal, err)
		}
		return
	}
	for ctx.Err() == nil {
		err := g.takeIn(ctx, work)
		switch {
		case err == nil:
			select {
			case <-ctx.Done():
			case <-wake:
			case <-g.back.wake:
			}
		case unknown(err):
			offer(fatal, err)
			return
		default:
			t := g.trouble(troubleIntake, "no request can be taken in", err)
			wait := g.troubles.Set(t)
			g.log.Error("taking in requests is held up, will be tried again", "error", err, "mend", t.Hint, "again_in",
				wait)
			sleep(ctx, wait)
		}
	}
}

// takeIn claims and judges until no request waits.
func (g *Gate) takeIn(ctx, work context.Context) error {
	for g.out.queue.waitRoom(ctx, backlog) && g.runs.waitRoom(ctx, backlog) {
		if err := g.contained(); err != nil {
			return err
		}
		holds, err := hold.List(g.config())
		if err != nil {
			return err
		}
		g.claimed = append(g.claimed, g.back.take()...)
		held := func(inbox string) bool { return hold.Paused(holds, inbox) }
		at := slices.IndexFunc(g.claimed, func(j *spool.Job) bool { return !held(j.Origin.Inbox) })
		if at < 0 {
			g.spool.Skip(held)
			arrivals, err := g.spool.Pending(1)
			if err != nil || len(arrivals) == 0 {
				g.troubles.Clear(troubleIntake)
				return err
			}
			if err := g.claim(arrivals[0]); err != nil {
				return err
			}
			continue
		}
		j := g.claimed[at]
		if err := g.step(work, j); err != nil {
			return fmt.Errorf("job %s: %w", j.ID, err)
		}
		if j.State == spool.StateClaimed {
			continue
		}
		g.claimed = slices.Delete(g.claimed, at, at+1)
		if !j.State.Ended() {
			g.runs.push(j)
		}
		g.troubles.Clear(troubleIntake)
	}
	return nil
}

// claim takes one request out of its inbox. That this one can't be taken in now is
// no error: the spool offers it again.
func (g *Gate) claim(a spool.Arrival) error {
	j, err := g.spool.Claim(a.Inbox, a.Name)
	var stuck *spool.ClaimError
	switch {
	case err == nil:
		g.claimed = append(g.claimed, j)
		return nil
	case errors.Is(err, spool.ErrUncertain):
		return err
	case errors.Is(err, spool.ErrGone), errors.Is(err, spool.ErrBusy):
		return nil // taken by another node, or still being written
	case errors.As(err, &stuck):
		g.log.Warn("a request can't be taken in now", "error", err)
		return nil
	}
	return err
}
