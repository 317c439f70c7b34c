// Package gate moves requests from the inbox to a delivered result. In the order
// in which a request meets them, the files are:
//
//	intake.go   requests are claimed out of the inboxes
//	admit.go    every rule is run over a claimed request: admitted, or refused
//	start.go    an admitted job gets a sandbox, and may run from then on
//	collect.go  a running job comes to its end, and its output is taken out
//	deliver.go  a result is built of that (gate/result), and appears in CORE's folder, or is refused
//
// journal.go holds how a job goes from one state to the next: each step does its
// work, makes it durable, appends to the ledger the event that announces the next
// state, and renames the job's folder. Recovery is the same code. gate.go runs it
// all; the rest helps.
package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/threegate/tool-exec/gate/access"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/trouble"
	"github.com/threegate/tool-exec/spool"
)

// Gate owns one node while it runs.
type Gate struct {
	cfg       atomic.Pointer[config.Node] // see config and Reload
	exec      Executor
	log       *slog.Logger
	now       func() time.Time
	spool     *spool.Spool
	ledger    *ledger.Ledger
	journal   *journal
	publisher *spool.Publisher
	outbox    *spool.Outbox
	orders    *spool.Orders
	taken     ordersTaken
	senders   senders
	people    access.Groups
	troubles  *trouble.List
	posture   posture
	alive     func()
	version   string
	began     bool   // that the node is served is on record; guarded by deciding
	runs      *queue // jobs up to the end of their run
	out       *deliveries
	cleaner   *cleaner
	// deciding keeps apart verdicts on requests and what people order, up to their event.
	deciding  sync.Mutex
	notifying sync.Mutex // who tells CORE something is the last that may
	// claimed are jobs without a verdict. They belong to the intake.
	claimed []*spool.Job
	back    returned // released jobs for the intake
}

// Options are what a Gate is wired with.
type Options struct {
	Executor Executor
	Logger   *slog.Logger
	// Version is that of the program, as the record has it.
	Version string
	// Now defaults to time.Now.
	Now func() time.Time
	// Posture is the node's self-test. It is asked as the configuration says; an
	// error means that nothing may run.
	Posture func(context.Context) error
	// Alive, if set, is called about once a second while the gate serves. It must not block.
	Alive func()
	// Retry is the first pause before something that failed is tried again, a
	// second by default. It doubles from try to try, up to a minute.
	Retry time.Duration
	// Seam is for fault injection: it stands before every step on a disk.
	Seam spool.Seam
}

// Open takes the node in cfg.Dir for this process, replays its ledger and
// finishes claims that were cut short. It runs nothing yet. A node that another
// process owns gives spool.ErrLocked.
func Open(cfg *config.Node, o Options) (_ *Gate, err error) {
	g := &Gate{exec: o.Executor, log: o.Logger, now: o.Now, troubles: trouble.NewList(o.Retry), runs: newQueue(),
		journal: &journal{}, alive: o.Alive, version: o.Version}
	g.back.wake = make(chan struct{}, 1)
	g.cleaner = newCleaner(g)
	g.out = newDeliveries(g)
	g.cfg.Store(cfg)
	g.posture = posture{try: o.Posture, every: cfg.Posture.Every}
	if g.now == nil {
		g.now = time.Now
	}
	if g.alive == nil {
		g.alive = func() {}
	}
	core, err := access.Core(cfg.CoreInbound)
	if err != nil {
		return nil, err
	}
	if g.people, err = access.People(cfg.Access); err != nil {
		return nil, err
	}
	inboxes := make([]spool.Inbox, len(cfg.Inboxes))
	for i, in := range cfg.Inboxes {
		inboxes[i] = spool.Inbox{Name: in.Name, Dir: in.Path}
	}
	g.spool, err = spool.Open(cfg.Dir, spool.Options{
		Inboxes:         inboxes,
		MaxRequestBytes: int64(cfg.Limits.RequestKB) << 10,
		MaxInputBytes:   int64(cfg.Limits.InputsMB) << 20,
		MaxInputs:       cfg.Limits.InputFiles,
		WaitForWriters:  max(cfg.Node.WaitForWriters, time.Nanosecond), // 0 is the default there
		SweepEvery:      cfg.Node.Sweep,
		Retry:           o.Retry,
		Logger:          o.Logger,
		Seam:            o.Seam,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = g.spool.Close()
		}
	}()
	if err = g.people.Share(cfg.Dir, inboxes); err != nil {
		return nil, err
	}
	if g.publisher, err = spool.NewPublisher(cfg.CoreInbound.Path); err != nil {
		return nil, err
	}
	g.publisher.Seam, g.publisher.Access = o.Seam, core
	g.outbox = spool.NewOutbox(cfg.Dir, cfg.CoreNotices.Path)
	g.outbox.Seam, g.outbox.Access = o.Seam, core
	g.orders = g.spool.Orders()
	g.taken.stays, g.taken.told = map[string]spool.Given{}, map[string]bool{}
	g.spool.SkipSenders(g.waits)
	dir := filepath.Join(cfg.Dir, spool.DirLedger)
	g.ledger, err = ledger.Open(dir, ledger.Options{Now: g.now, Seam: o.Seam}, g.journal.note)
	if err != nil {
		return nil, err
	}
	g.journal.last = map[string]ledger.Event{}
	return g, nil
}

// Close gives the node back. Jobs stay where they are. A node of which a delivery
// still hangs is not given back before the process is gone: the call could come
// to its end when another process already goes on with the job.
func (g *Gate) Close() error {
	if g.out.hangs.Load() {
		return g.ledger.Close()
	}
	return errors.Join(g.ledger.Close(), g.spool.Close())
}

// record makes events durable; the journal has them then.
func (g *Gate) record(events ...ledger.Event) error { return g.ledger.Append(events...) }

// Run serves the node until ctx ends, then lets running jobs end within the
// configured drain time. Jobs that are left stay in their state folder, their
// containers alive, for the next start to go on with. The error is nil after an
// orderly stop.
func (g *Gate) Run(ctx context.Context) error {
	if err := g.begin(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	err := g.resume(ctx)
	if err == nil && g.posture.try != nil && g.config().Posture.AtStart {
		err = g.checkPosture(ctx)
	}
	switch {
	case err != nil && ctx.Err() != nil && !unknown(err): // told to stop as it started
		return g.record(ledger.Event{Type: ledger.NodeStopped})
	case err != nil:
		return err
	}
	work, stopWork := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopWork(nil)
	// What takes in work ends with ctx, and before that if the gate must stop.
	taking, stopTaking := context.WithCancel(ctx)
	defer stopTaking()
	fatal := make(chan error, 1)
	var wg sync.WaitGroup
	for range g.config().Node.Concurrency {
		wg.Go(func() { g.runner(taking, work, fatal) })
	}
	g.out.run(work, g.config().Node.Concurrency, fatal)
	wg.Go(func() { g.intake(taking, work, fatal) })
	wg.Go(func() { g.takeOrders(taking, fatal) })
	wg.Go(func() { g.reportStatus(work) })
	wg.Go(func() { g.watchPosture(taking) })
	wg.Go(func() { g.spool.EmptyTrash(work) })

	var cause error
	select {
	case <-ctx.Done():
	case cause = <-fatal:
	}
	stopTaking()
	g.runs.close()
	drained := make(chan struct{})
	go func() { g.runs.drain(); g.out.queue.drain(); g.cleaner.wait(); close(drained) }()
	if cause == nil {
		drain := g.config().Node.Drain
		g.log.Info("stopping: no new request is taken in, running ones may end", "within", drain)
		select {
		case <-drained:
		case cause = <-fatal:
		case <-time.After(drain):
			g.log.Warn("stopping: jobs are left to the next start", "jobs", g.runs.busy()+g.out.queue.busy())
		}
	}
	stopWork(errors.New("the node stops"))
	wg.Wait()
	g.cleaner.wait()
	g.out.stop()
	if cause == nil { // whoever was waited for may have had to give up
		select {
		case cause = <-fatal:
		default:
		}
	}
	if cause != nil {
		return cause
	}
	return g.record(ledger.Event{Type: ledger.NodeStopped})
}

// begin records that the node is served. While that can't be recorded, as on a
// full disk, nothing is done at all.
func (g *Gate) begin(ctx context.Context) error {
	for {
		err := g.recordStart()
		if err == nil || unknown(err) {
			g.troubles.Clear(troubleIntake)
			return err
		}
		wait := g.troubles.Set(g.trouble(troubleIntake, "nothing can be recorded, so nothing is done", err))
		g.log.Error("nothing can be recorded, so nothing is done; will be tried again", "error", err, "again_in", wait)
		if sleep(ctx, wait); ctx.Err() != nil {
			return nil
		}
	}
}

func (g *Gate) recordStart() error {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	e, err := g.nodeEvent(ledger.NodeStarted, g.config())
	if err == nil {
		err = g.record(e)
	}
	g.began = err == nil
	return err
}

// resume queues every job that an earlier gate left, and removes what no job owns.
func (g *Gate) resume(ctx context.Context) error {
	if err := g.loadSenders(); err != nil {
		return err
	}
	for _, job := range g.journal.Releasing() { // a crash came between the event and the rename
		if err := g.recall(job); err != nil {
			return err
		}
		if _, err := g.unquarantine(ctx, job); err != nil {
			return err
		}
	}
	if err := g.dropRenderings(); err != nil {
		return err
	}
	mayRun := map[string]bool{}
	// What is nearest to its end goes first; within a state, in order of arrival.
	for _, st := range []spool.State{spool.StateFinished, spool.StateRunning, spool.StateAdmitted, spool.StateClaimed} {
		jobs, err := g.spool.Jobs(st)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			if err := g.recall(j.ID); err != nil {
				return err
			}
			mayRun[j.ID] = st == spool.StateAdmitted || st == spool.StateRunning
			switch {
			case st == spool.StateClaimed:
				g.claimed = append(g.claimed, j)
			case st == spool.StateFinished:
				g.out.queue.push(j)
			default:
				g.runs.push(j)
			}
		}
	}
	ids, err := g.exec.List(ctx)
	if err != nil {
		return fmt.Errorf("look for leftovers: %w", err)
	}
	for _, id := range ids {
		if mayRun[id] {
			continue
		}
		g.log.Warn("removing the leftover of a run", "job", id)
		if err := g.exec.Cleanup(ctx, id); err != nil {
			return fmt.Errorf("remove the leftover of run %s: %w", id, err)
		}
	}
	return nil
}

// runner brings admitted jobs to the end of their run, one after the other.
func (g *Gate) runner(taking, work context.Context, fatal chan<- error) {
	for {
		j, ok := g.runs.pop()
		if !ok {
			return
		}
		var err error
		for err == nil && (j.State == spool.StateAdmitted || j.State == spool.StateRunning) {
			if j.State == spool.StateAdmitted && taking.Err() != nil {
				err = errStopping
				break
			}
			err = g.step(work, j)
		}
		if err == nil && j.State == spool.StateFinished {
			g.out.queue.push(j)
		}
		if g.tried(work, g.runs, j, err, fatal) {
			return
		}
	}
}

// tried gives a job back to its queue; true means that the process must stop.
func (g *Gate) tried(work context.Context, q *queue, j *spool.Job, err error, fatal chan<- error) bool {
	switch {
	case err == nil:
		g.troubles.Clear(j.ID)
		q.done(j)
	case unknown(err):
		offer(fatal, err)
		q.done(j)
		return true
	case errors.Is(err, errStopping) || work.Err() != nil:
		q.done(j)
	default:
		t := g.heldUp(j, err)
		wait := g.troubles.Set(t)
		g.log.Error("job held up, will be tried again",
			"job", j.ID, "request", t.Request, "state", j.State, "error", err, "mend", t.Hint, "again_in", wait)
		q.later(j, wait)
	}
	return false
}

// errStopping means that a job was left where it is because the node stops.
var errStopping = errors.New("the node stops")

// unknown reports whether a step failed and may have happened all the same. The
// process must stop: the next start reads what is on disk.
func unknown(err error) bool {
	return errors.Is(err, ledger.ErrUnusable) || errors.Is(err, spool.ErrUncertain)
}

func offer(c chan<- error, err error) {
	select {
	case c <- err:
	default:
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// ErrRestart says that a configuration differs in what only a start can change.
var ErrRestart = errors.New("only a restart can change it")

// config is the configuration as it is now.
func (g *Gate) config() *config.Node { return g.cfg.Load() }

// Reload makes the gate judge what comes by another configuration of the same
// node: approvals, validators, shell_allow, results, node.drain, and the limits
// but those of what is claimed. It is taken over whole or, with an error that
// matches ErrRestart, not at all. What is admitted and not started is judged
// anew before it starts; a result that was checked and has no verdict yet is checked anew.
// While the node is served, the event of it is durable first; if that fails, the old configuration stays.
func (g *Gate) Reload(next *config.Node) error {
	old := g.config()
	if next.Dir != old.Dir {
		return fmt.Errorf("reload: %s is not the configuration of %s", next.File, old.Dir)
	}
	a, b := reflect.ValueOf(fixed(old.Config)), reflect.ValueOf(fixed(next.Config))
	var changed []string
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			changed = append(changed, a.Type().Field(i).Tag.Get("yaml"))
		}
	}
	if len(changed) > 0 {
		return fmt.Errorf("reload: %s: %w; all of it is refused, and the old one stays in force",
			strings.Join(changed, ", "), ErrRestart)
	}
	g.deciding.Lock()
	defer g.deciding.Unlock()
	if g.began { // else its start tells
		e, err := g.nodeEvent(ledger.NodeReloaded, next)
		if err == nil {
			err = g.record(e)
		}
		if err != nil {
			return fmt.Errorf("reload: %w", err)
		}
	}
	g.cfg.Store(next)
	return nil
}

// fixed leaves of a configuration what can't be changed while a node is served.
func fixed(c config.Config) config.Config {
	c.Approvals, c.Validators, c.ShellAllow, c.Results = config.Approvals{}, nil, nil, config.Results{}
	c.Tools = config.Tools{}
	c.Node.Drain = 0
	c.Limits = config.Limits{RequestKB: c.Limits.RequestKB, InputsMB: c.Limits.InputsMB,
		InputFiles: c.Limits.InputFiles}
	return c
}
