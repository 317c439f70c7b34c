package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/patchpolicy"
	"github.com/threegate/tool-exec/gate/recheck"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// collect brings a running job to its end, whoever started it and however far it
// came, and takes out what it left. It is never started a second time. Only if the
// executor is certain that nothing of it ran does it go back, to be prepared anew.
func (g *Gate) collect(ctx context.Context, j *spool.Job) error {
	a, err := readAdmission(j)
	if err != nil {
		return err
	}
	o, err := g.outcomeOf(ctx, j, a)
	if errors.Is(err, executors.ErrNotStarted) {
		return errors.Join(err, g.giveBack(j, a)) // the next try follows the event
	}
	if err == nil && o.Recheck == nil && recheck.Listed(a.Registry) { // of a try that failed before
		err = g.exec.Cleanup(ctx, recheck.ID(j.ID))
	}
	if err != nil {
		return err
	}
	if err := writeRecord(j, ledger.FileOutcome, o); err != nil {
		return err
	}
	err = j.Wrote(ledger.FileStdout, ledger.FileStderr, ledger.FileTimeline, ledger.DirOut, ledger.DirRecheck)
	if err != nil {
		return err
	}
	if err := j.Sync(); err != nil {
		return err
	}
	return g.record(endEvents(j.ID, a, o)...)
}

// endEvents tell how a run ended: each limit, each destination, its tool calls if it told of any, then the end itself.
func endEvents(job string, a *admitted, o *result.Outcome) (all []ledger.Event) {
	out := &o.Outcome
	add := func(e ledger.Event) {
		e.RunID, e.RequestID = job, a.Request.RequestID
		all = append(all, e)
	}
	for _, c := range out.LimitsHit {
		e := ledger.Event{Type: ledger.CapBreached, Cause: c}
		if c == schemas.CauseTime {
			e.LimitMS = a.Task.Limits.Time.Milliseconds()
		}
		add(e)
	}
	decided := func(decision string, destinations []string, more int) {
		if more > 0 {
			destinations = append(slices.Clone(destinations), fmt.Sprintf("%d more that are not listed", more))
		}
		for _, d := range destinations {
			add(ledger.Event{Type: ledger.EgressDecided, Decision: decision, Destination: d})
		}
	}
	decided("allowed", out.NetworkDestinations, out.NetworkMore.Destinations)
	decided("allowed", out.NetworkFailed, out.NetworkMore.Failed)
	decided("denied", out.NetworkRefused, out.NetworkMore.Refused)
	if o.Collected.Timeline != nil {
		add(ledger.Event{Type: ledger.ToolsRecorded, Tools: o.Collected.Timeline})
	}
	end := ledger.RunFailed
	if out.Cause.Completed() {
		end = ledger.RunCompleted
	}
	add(ledger.Event{Type: end, ExitCode: &out.ExitCode, Cause: out.Cause, Recheck: string(o.Recheck.Word()),
		WallMS: out.Wall.Milliseconds(), CPUMS: out.CPU.Milliseconds(), PeakBytes: out.PeakMemoryBytes})
	return all
}

// giveBack announces that a running job goes back to admitted, of which nothing ran
// for certain.
func (g *Gate) giveBack(j *spool.Job, a *admitted) error {
	return g.record(ledger.Event{Type: ledger.RunReturned, RunID: j.ID, RequestID: a.Request.RequestID})
}

// outcomeOf starts the run if that has not been done, waits for its end and
// takes out what it left.
func (g *Gate) outcomeOf(ctx context.Context, j *spool.Job, a *admitted) (*result.Outcome, error) {
	state, err := g.exec.State(ctx, j.ID)
	if err != nil {
		return nil, fmt.Errorf("look at the run: %w", err)
	}
	if state == executors.StateAbsent {
		o, err := g.interrupted(ctx, j, a)
		if err == nil {
			g.nameCancellation(o, a)
		}
		return o, err
	}
	if g.journal.Cancelled(a.Request.RequestID) {
		if err := g.stopRun(ctx, j.ID); err != nil {
			return nil, err
		}
	} else if state == executors.StateCreated {
		if err := g.contained(); err != nil {
			return nil, err
		}
		if err := g.exec.Start(ctx, j.ID); err != nil {
			return nil, fmt.Errorf("start it: %w", err)
		}
	}
	o := &result.Outcome{Version: recordVersion, Fence: newFence()}
	if o.Outcome, err = g.exec.Wait(ctx, j.ID); err != nil {
		return nil, fmt.Errorf("wait for the run: %w", err)
	}
	g.nameCancellation(o, a)
	if o.Collected, err = g.exec.Collect(ctx, j.ID, j.Path()); err != nil {
		return nil, fmt.Errorf("collect its output: %w", err)
	}
	decideCause(o, &a.Request)
	if o.Recheck, err = g.recheck(ctx, j, a, o); err != nil {
		return nil, err
	}
	o.CreatedAt = g.now().UTC()
	return o, nil
}

// nameCancellation says of a run that was cut off who cut it off, if a person cancelled the request.
func (g *Gate) nameCancellation(o *result.Outcome, a *admitted) {
	if o.Outcome.Cause == schemas.CauseInterrupted && g.journal.Cancelled(a.Request.RequestID) {
		o.Outcome.Cause, o.Outcome.Detail = schemas.CauseCancelled, "a person cancelled the request"
	}
}

// recheck judges the patch of a run under a profile in a second sandbox, if its registry lists a rule that needs
// that. It runs nothing for a cancelled request.
func (g *Gate) recheck(ctx context.Context, j *spool.Job, a *admitted, o *result.Outcome) (*recheck.Record, error) {
	if !recheck.Needed(a.Registry, o.Collected.Files) || g.journal.Cancelled(a.Request.RequestID) {
		return nil, nil
	}
	made := slices.ContainsFunc(o.Collected.Files, func(f executors.File) bool { return f.Path == patchpolicy.File })
	if !made || !slices.ContainsFunc(a.Request.Outputs,
		func(w schemas.OutputExpectation) bool { return w.Path == "/out/"+patchpolicy.File }) {
		return nil, nil
	}
	if err := g.contained(); err != nil {
		return nil, err
	}
	task := a.Task
	if len(j.Inputs()) > 0 {
		task.InputsDir = j.Path(spool.DirInputs)
	}
	return recheck.Do(ctx, uncancelled{g.exec, g, a.Request.RequestID}, task, a.Registry,
		j.Path(ledger.DirOut, patchpolicy.File), j.Path(ledger.DirRecheck))
}

// uncancelled starts nothing for a request that was cancelled since it was looked at.
type uncancelled struct {
	Executor
	g         *Gate
	requestID string
}

func (u uncancelled) Start(ctx context.Context, id string) error {
	if u.g.journal.Cancelled(u.requestID) {
		return u.Kill(ctx, id)
	}
	return u.Executor.Start(ctx, id)
}

// interrupted is the outcome of a run whose sandbox is gone: nobody knows how far
// it came, and it left nothing.
func (g *Gate) interrupted(ctx context.Context, j *spool.Job, a *admitted) (*result.Outcome, error) {
	o := &result.Outcome{Version: recordVersion, CreatedAt: g.now().UTC(), Fence: newFence()}
	o.Outcome = executors.Outcome{ExitCode: -1, Cause: schemas.CauseInterrupted, Detail: "its container is gone"}
	// What would have run it is the best that is known.
	if id, err := g.exec.Identity(ctx, a.Task); err == nil {
		o.Outcome.Identity = id
	}
	// What a collection left that was cut off goes.
	for _, name := range []string{ledger.DirOut, ledger.DirRecheck, ledger.FileTimeline} {
		if err := j.Remove(name); err != nil {
			return nil, err
		}
	}
	for name, s := range map[string]*executors.Stream{
		ledger.FileStdout: &o.Collected.Stdout,
		ledger.FileStderr: &o.Collected.Stderr,
	} {
		if err := j.WriteFile(name, nil); err != nil {
			return nil, err
		}
		s.SHA256 = emptySHA256
	}
	return o, nil
}

const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
