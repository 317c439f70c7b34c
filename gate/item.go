package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
)

// releasedBy is what events release.
func releasedBy(events []ledger.Event) (all []schemas.Release) {
	for _, e := range events {
		all = append(all, e.Released...)
	}
	return all
}

// policy is what a job is judged by as of a time: a configuration's policy, less what a person released of this very
// job.
func (g *Gate) policy(cfg *config.Node, j *spool.Job, at time.Time) validate.Policy {
	p := cfg.Policy(at)
	p.Released = releasedBy(g.journal.Released(j.ID, j.SHA256))
	return p
}

// openItem is the event by which a quarantined item was refused that no person ended, and the item's folder. The
// error says why there is none.
func (g *Gate) openItem(job string) (refused ledger.Event, dir string, err error) {
	x, _ := g.journal.Job(job)
	dir = filepath.Join(g.config().Dir, string(x.Place), job)
	_, err = os.Lstat(dir)
	switch {
	case x.Place != spool.StateRequestRefused && x.Place != spool.StateResultRefused, errors.Is(err, fs.ErrNotExist):
		err = orders.Refusef("%s is not in quarantine", spool.Quote(job))
	case err == nil && g.journal.at(job).Ended(): // whoever moves it there still has it in hand
		err = fmt.Errorf("job %s is still on its way into quarantine", job)
	}
	if err != nil {
		return refused, dir, err
	}
	refused, err = g.eventAt(x.At)
	if err == nil && x.Rejected {
		err = orders.Refusef("%s was rejected before, by %s", job, spool.Quote(refused.By))
	}
	return refused, dir, err
}

// releaseItem is the event by which a quarantined item is judged again, by all rules, without the findings that a
// person took back.
func (g *Gate) releaseItem(o *orders.Order) (ledger.Event, error) {
	none := ledger.Event{}
	e, dir, err := g.openItem(o.Subject)
	if err != nil {
		return none, err
	}
	j, err := g.spool.Refused(o.Subject)
	if err != nil {
		return none, err
	}
	if j.Damage != nil {
		return none, orders.Refusef("%s is not as it was refused: %v", o.Subject, j.Damage)
	}
	shown, err := quarantine.NewStore(filepath.Join(g.config().Dir, spool.DirQuarantine)).Show(j.ID)
	if err == nil {
		err = shown.Damage
	}
	if err != nil {
		return none, orders.Refusef("%v", err)
	}
	if why := shown.Reasons.NotReleasable(o.Released); why != "" {
		return none, orders.Refusal(why)
	}
	if broken, err := seal.Check(dir, e.Seal, ledger.FileStagedIn); err != nil {
		return none, err
	} else if len(broken) > 0 {
		return none, orders.Refusef("%s is not as it was refused: %s: %s", o.Subject, spool.Quote(broken[0].Path),
			broken[0].What)
	}
	if first, ok := g.journal.Admitted(e.RequestID); ok && first.ID != j.ID {
		return none, orders.Refusef("%s was taken in as job %s since", e.RequestID, first.ID)
	}
	return ledger.Event{Type: ledger.QuarantineReleased, RunID: e.RunID, RequestID: e.RequestID,
		RequestSHA256: e.RequestSHA256, ResultID: e.ResultID, Released: o.Released}, nil
}

// takeBack takes a job out of quarantine whose release is on record, unless that is done, and has it
// judged.
func (g *Gate) takeBack(ctx context.Context, job string) error {
	j, err := g.unquarantine(ctx, job)
	switch {
	case err != nil || j == nil:
		return err
	case j.State == spool.StateFinished:
		g.out.queue.push(j)
	case j.State == spool.StateClaimed:
		g.back.put(j)
	}
	return nil
}

// unquarantine makes the rename that a release announced; without one that is left there is no job.
func (g *Gate) unquarantine(ctx context.Context, job string) (*spool.Job, error) {
	if !slices.Contains(g.journal.Releasing(), job) {
		return nil, nil
	}
	j, err := g.spool.Refused(job)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = g.step(ctx, j)
	}
	return j, err
}

// returned are jobs that were released and go to the intake, which alone admits.
type returned struct {
	mu   sync.Mutex
	jobs []*spool.Job
	wake chan struct{}
}

func (r *returned) put(j *spool.Job) {
	r.mu.Lock()
	r.jobs = append(r.jobs, j)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *returned) take() []*spool.Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	jobs := r.jobs
	r.jobs = nil
	return jobs
}

// rejectItem is the event that ends a quarantined item for good. If CORE was told that it is held, it is told then
// that nothing more comes.
func (g *Gate) rejectItem(o *orders.Order) (ledger.Event, error) {
	e, _, err := g.openItem(o.Subject)
	if err != nil {
		return ledger.Event{}, err
	}
	rejected := ledger.Event{Type: ledger.QuarantineRejected, RunID: e.RunID, RequestID: e.RequestID,
		RequestSHA256: e.RequestSHA256, Rules: e.Rules}
	// A request that was promoted under the same id since has an answer of its own.
	if by, withdrawn, _ := g.journal.Told(e.Notice); e.Releasable && by == e.RunID && !withdrawn {
		rejected.Notice = e.Notice
	}
	return rejected, nil
}

// notifyRejected tells CORE of a rejection that is on record.
func (g *Gate) notifyRejected(job string) error {
	x, _ := g.journal.Job(job)
	if !x.Rejected {
		return nil
	}
	e, err := g.eventAt(x.At)
	if err != nil || e.Notice == "" {
		return err
	}
	return g.putNotice(e.Notice, job, ledger.NoticeOf(e))
}
