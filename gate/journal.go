package gate

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// step takes a job to its next state. The work of each state ends with an event
// that announces where the job goes; then the job's folder is renamed to there.
// Nothing begins before what came before it is durable. So a step that was cut off
// before its event is done again, and one that was cut off after it only lacks the
// rename: recovery is this function.
func (g *Gate) step(ctx context.Context, j *spool.Job) error {
	if g.journal.next(j) == "" {
		if err := g.work(ctx, j); err != nil {
			return err
		}
	}
	return g.follow(ctx, j)
}

// work does what a job's state asks for, up to the event.
func (g *Gate) work(ctx context.Context, j *spool.Job) error {
	if j.Damage != nil {
		return g.refuseDamaged(ctx, j)
	}
	switch j.State {
	case spool.StateClaimed:
		return g.admit(ctx, j)
	case spool.StateAdmitted:
		if refused, err := g.readmit(ctx, j); refused || err != nil {
			return err
		}
		return g.start(ctx, j)
	case spool.StateRunning:
		return g.collect(ctx, j)
	case spool.StateFinished:
		return g.deliver(ctx, j)
	}
	return fmt.Errorf("job %s is in no state of a job in progress: %q", j.ID, j.State)
}

// follow makes the rename that a job's last event announced.
func (g *Gate) follow(ctx context.Context, j *spool.Job) error {
	to := g.journal.next(j)
	if to == "" {
		return nil
	}
	var err error
	if to == spool.StateDelivered {
		err = g.publish(j)
	}
	if err == nil {
		err = g.notify(j)
	}
	if err == nil && to == spool.StateDelivered {
		err = j.Archive(g.journal.lastOf(j.ID).Time) // its month in the archive is that of its end
	} else if err == nil {
		err = j.Move(to)
	}
	switch {
	case err != nil:
		return err
	case j.State.Ended():
		g.journal.forget(j.ID)
	case j.State == spool.StateFinished:
		// Nobody needs the sandbox any more. Should the gate die now, the next one
		// removes it at its start.
		g.cleaner.remove(ctx, j.ID)
	}
	return nil
}

// journal is what the ledger tells, and how far the jobs in the spool are. It is safe for concurrent use.
type journal struct {
	ledger.History

	mu sync.Mutex
	// last are the last events of the jobs that are in the spool, or on their way out of it: they say where
	// each goes. In the replay at the start there is none; see recall.
	last map[string]ledger.Event
	// idle are the times of the last orders of each user that came to nothing.
	idle map[string][]time.Time
}

// note takes in the next event of the record.
func (b *journal) note(e ledger.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last != nil && ledger.Announces(e) != "" {
		b.last[e.RunID] = e
	}
	b.noteIdle(e)
	b.Note(e)
}

// recall reads again the last event of a job that an earlier gate left in the spool.
func (g *Gate) recall(job string) error {
	x, ok := g.journal.Job(job)
	if !ok || x.Place == "" {
		return nil
	}
	e, err := g.eventAt(x.At)
	if err == nil {
		g.journal.mu.Lock()
		defer g.journal.mu.Unlock()
		g.journal.last[job] = e
	}
	return err
}

// eventAt reads one event again.
func (g *Gate) eventAt(offset int64) (ledger.Event, error) {
	return ledger.EventAt(filepath.Join(g.config().Dir, spool.DirLedger), offset)
}

// forget takes a job out of hand that lies where its end announced it.
func (b *journal) forget(job string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.last, job)
}

// lastOf is the last event of a job in hand; the zero Event if it has none, or is not in hand.
func (b *journal) lastOf(job string) ledger.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last[job]
}

// at is where the last event of a job in hand announced it, or "".
func (b *journal) at(job string) spool.State { return ledger.Announces(b.lastOf(job)) }

// next is the state that a job has yet to go to, or "" if it is where its last
// event announced it. A node of the layout before this journal may have left a job
// several states behind; see TestTakesOverAnOlderNode.
func (b *journal) next(j *spool.Job) spool.State {
	to := b.at(j.ID)
	switch {
	case to == "" || to == j.State:
		return ""
	case j.Damage != nil:
		if !to.Ended() || to == spool.StateDelivered {
			return "" // it is refused first
		}
		return to
	}
	return j.State.Step(to)
}

// noticeOf is the name and the content of the notice that a job's last event announced; without a content the one
// of that name is no longer true.
func (b *journal) noticeOf(job string) (name string, notice *schemas.Notice) {
	e := b.lastOf(job)
	if notice = ledger.NoticeOf(e); notice != nil {
		return e.Notice, notice
	}
	if by, withdrawn, _ := b.Told(e.RequestID); withdrawn && by == job && ledger.Withdraws(e) {
		return e.RequestID, nil
	}
	return "", nil
}
