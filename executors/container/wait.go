package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	containerdclient "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
)

const (
	// deadlineGrace is how much later than init the host enforces the deadline.
	deadlineGrace = 2 * time.Second
	// startPoll is how often a task that was not started yet is looked at.
	startPoll = 200 * time.Millisecond
	// retryPause follows a lost connection to containerd.
	retryPause = 500 * time.Millisecond
)

// Wait blocks until the task has ended. The outcome is judged once and then
// kept in the box, so that every later Wait gives the same.
func (e *Executor) Wait(ctx context.Context, id string) (executors.Outcome, error) {
	var out executors.Outcome
	b, err := e.boxOf(id)
	if err != nil {
		return out, err
	}
	var rec record
	if err := b.read(taskFile, &rec); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = ErrNoTask
		}
		return out, fmt.Errorf("wait for %s: %w", id, err)
	}
	if err := b.read(outcomeFile, &out); !errors.Is(err, os.ErrNotExist) {
		return out, err
	}
	if err := e.reopenEgress(ctx, b, rec.Task); err != nil {
		return out, fmt.Errorf("wait for %s: %w", id, err)
	}
	if rec.Slot != "" && b.has(startFile) && !b.has(filepath.Join(gateDir, job.StartedFile)) && e.held(id) == nil {
		// Its gate died before it told init, perhaps. Its time counts from now.
		if err := b.startSlot(id); err != nil {
			return out, err
		}
	}
	ev := evidence{task: rec.Task}
	if ev.exit, err = e.awaitExit(ctx, b, id, rec.Task.Limits.Time); err != nil {
		return out, err
	}
	if err := b.notStarted(); err != nil {
		return out, err
	}
	if err := rec.gather(b, &ev); err != nil {
		return out, fmt.Errorf("wait for %s: %w", id, err)
	}
	out = judge(ev)
	out.Identity = rec.Identity
	if err := e.reportEgress(b, rec.Task, &out); err != nil {
		return executors.Outcome{}, fmt.Errorf("wait for %s: %w", id, err)
	}
	if err := b.write(outcomeFile, out); err != nil {
		return executors.Outcome{}, fmt.Errorf("wait for %s: %w", id, err)
	}
	return out, nil
}

// exit is what the parent of process 1 knows of its end.
type exit struct {
	known bool
	code  uint32
	at    time.Time
}

// awaitExit waits through restarts of containerd and enforces the deadline.
func (e *Executor) awaitExit(ctx context.Context, b box, id string, limit time.Duration) (exit, error) {
	bell, silence := b.bell()
	defer silence()
	if s := e.held(id); s != nil {
		st, err := e.awaitTask(ctx, b, id, s.exited(), bell, limit)
		if err == nil {
			return st, nil
		}
	}
	for {
		task, err := e.task(ctx, id)
		if err == nil && task == nil {
			if err := b.notStarted(); err != nil {
				return exit{}, err
			}
			if !b.has(startFile) {
				return exit{}, fmt.Errorf("wait for %s: %w", id, ErrNoTask)
			}
			// Lost with its shim: only the box can tell. Make sure that it has ended.
			if err := cgroup.Kill(cgroup.Root, cgroupOf(e.containerOf(id))); err != nil {
				return exit{}, fmt.Errorf("wait for %s: %w", id, err)
			}
			return exit{}, nil
		}
		if err == nil {
			var ended <-chan containerdclient.ExitStatus
			wctx, cancel := context.WithCancel(ctx)
			if ended, err = task.Wait(wctx); err == nil {
				var st exit
				st, err = e.awaitTask(ctx, b, id, ended, bell, limit)
				if err == nil {
					cancel()
					return st, nil
				}
			}
			cancel()
		}
		if ctx.Err() != nil {
			return exit{}, fmt.Errorf("wait for %s: %w", id, ctx.Err())
		}
		if !errdefs.IsUnavailable(err) && !errdefs.IsNotFound(err) && !errors.Is(err, errLost) {
			return exit{}, fmt.Errorf("wait for %s: %w", id, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

// errLost: the connection broke while waiting.
var errLost = errors.New("connection to containerd lost")

// awaitTask waits for one task: for init's bell, or for containerd's word on the
// end of init, which comes later but always.
func (e *Executor) awaitTask(ctx context.Context, b box, id string, ended <-chan containerdclient.ExitStatus, bell <-chan struct{}, limit time.Duration) (exit, error) {
	for {
		pause := startPoll
		if left, known := b.timeLeft(limit); known {
			pause = left
		}
		timer := time.NewTimer(max(pause, 0))
		select {
		case <-ctx.Done():
			timer.Stop()
			return exit{}, ctx.Err()
		case <-bell: // nothing that is collected changes any more
			timer.Stop()
			return exit{}, nil
		case st := <-ended:
			timer.Stop()
			if err := st.Error(); err != nil {
				return exit{}, errors.Join(errLost, err)
			}
			return exit{known: !st.ExitTime().IsZero(), code: st.ExitCode(), at: st.ExitTime()}, nil
		case <-timer.C:
			if left, known := b.timeLeft(limit); known && left <= 0 {
				if err := e.kill(ctx, id, endRecord{Deadline: true}); err != nil {
					return exit{}, err
				}
				limit += deadlineGrace // should it not work at once, try again
			}
		}
	}
}

// timeLeft is the time until the host ends the task; known once it was started.
func (b box) timeLeft(limit time.Duration) (left time.Duration, known bool) {
	var started job.Started
	var told startRecord
	known = b.read(startFile, &told) == nil
	from := told.Monotonic
	// Init's word, being later, is more exact; but a kernel of the sandbox's own has
	// a clock of its own, which can't be compared with the host's.
	if b.read(filepath.Join(gateDir, job.StartedFile), &started) == nil && started.Monotonic > 0 && (!known || started.Monotonic >= from) {
		from, known = started.Monotonic, true
	}
	if !known {
		return 0, false
	}
	return from + limit + deadlineGrace - monotonic(), true
}

// gather collects all that is known of a task that has ended, while its
// control group and its file systems are still there.
func (rec record) gather(b box, ev *evidence) error {
	ev.usage = cgroup.Read(cgroup.Root, cgroupOf(rec.container()))
	var end endRecord
	switch err := b.read(endFile, &end); {
	case err == nil:
		ev.end = &end
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	var told startRecord
	switch err := b.read(startFile, &told); {
	case err == nil:
		ev.told = &told
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	var res job.Result
	switch err := b.read(filepath.Join(gateDir, job.ResultFile), &res); {
	case err == nil:
		ev.result = &res
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	if ev.result == nil || !ev.result.Halted {
		ev.outFull = full(b.path(outDir))
		ev.tmpFull = full(b.path(scratchDir))
	}
	if ev.result == nil {
		var started job.Started
		if b.read(filepath.Join(gateDir, job.StartedFile), &started) == nil {
			ev.started = &started
		}
		ev.failure = b.failure()
	}
	return nil
}
