package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
)

const (
	// deadlineGrace is how much later than init the host enforces the deadline.
	deadlineGrace = 2 * time.Second
	// lookPause lies between two looks at a sandbox from which nothing is heard.
	lookPause = 100 * time.Millisecond
)

// Wait blocks until the task has ended. The outcome is judged once and then
// kept in the run folder, so that every later Wait gives the same.
func (e *Executor) Wait(ctx context.Context, id string) (executors.Outcome, error) {
	b, err := e.runDirOf(id)
	if err != nil {
		return executors.Outcome{}, err
	}
	out, err := e.wait(ctx, b, id)
	if err != nil {
		return executors.Outcome{}, fmt.Errorf("wait for %s: %w", id, err)
	}
	return out, nil
}

func (e *Executor) wait(ctx context.Context, b runDir, id string) (executors.Outcome, error) {
	var out executors.Outcome
	var rec record
	if there, err := b.readIf(taskFile, &rec); err != nil {
		return out, err
	} else if !there {
		return out, ErrNoTask
	}
	if there, err := b.readIf(outcomeFile, &out); there || err != nil {
		return out, err
	}
	if err := e.reopenEgress(ctx, b, rec); err != nil {
		return out, err
	}
	if b.has(startFile) && !b.has(filepath.Join(gateDir, job.StartedFile)) {
		// Its gate died before it told init, perhaps.
		if err := b.tellInit(); err != nil {
			return out, err
		}
	}
	if err := e.awaitEnd(ctx, b, rec); err != nil {
		return out, err
	}
	if err := b.notStarted(); err != nil {
		return out, err
	}
	ev, err := e.gather(rec, b)
	if err != nil {
		return out, err
	}
	out = judge(ev)
	out.Identity = rec.Identity
	if err := e.reportEgress(b, rec.Task, &out); err != nil {
		return out, err
	}
	return out, b.write(outcomeFile, out)
}

// container is the id of the task's container.
func (rec record) container() string { return cmp.Or(rec.Slot, rec.Task.ID) }

// awaitEnd waits until init has left word of the end, or nothing of the sandbox lives any
// more, and enforces the deadline.
func (e *Executor) awaitEnd(ctx context.Context, b runDir, rec record) error {
	signals, stop := b.signals()
	defer stop()
	limit := rec.Task.Limits.Time
	for !b.has(filepath.Join(gateDir, job.ExitFile)) {
		alive, err := e.alive(ctx, rec.container())
		if err == nil && !alive {
			return nil
		}
		if left, known := b.timeLeft(limit); known && left <= 0 {
			if err := e.kill(ctx, rec.Task.ID, endRecord{Deadline: true}); err == nil {
				limit += deadlineGrace // should it not work at once, try again
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-signals:
		case <-time.After(lookPause):
		}
	}
	return nil
}

// signals gives a channel that gets something when init has something to tell. stop must
// be called.
func (b runDir) signals() (c <-chan struct{}, stop func()) {
	out := make(chan struct{}, 1)
	// For writing too: so it never ends. Opened before anything is read, so that
	// nothing is missed.
	fd, err := unix.Open(b.path(gateDir, job.DonePipe), unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return out, func() {}
	}
	pipe := os.NewFile(uintptr(fd), job.DonePipe)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for buf := make([]byte, 16); ; {
			if _, err := pipe.Read(buf); err != nil {
				return
			}
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}()
	return out, func() {
		_ = pipe.Close() // and so ends the reading
		<-done
	}
}

// timeLeft is the time until the host ends the task; known once it was started.
func (b runDir) timeLeft(limit time.Duration) (left time.Duration, known bool) {
	var started job.Started
	var told startRecord
	known = b.read(startFile, &told) == nil
	from := told.Monotonic
	// Init's word, being later, is more exact; but a kernel of the sandbox's own has
	// a clock of its own, which can't be compared with the host's.
	if b.read(filepath.Join(gateDir, job.StartedFile), &started) == nil && started.Monotonic > 0 &&
		(!known || started.Monotonic >= from) {
		from, known = started.Monotonic, true
	}
	if !known {
		return 0, false
	}
	return from + limit + deadlineGrace - monotonic(), true
}

// gather collects all that is known of a task that has ended, while its
// control group and its file systems are still there.
func (e *Executor) gather(rec record, b runDir) (evidence, error) {
	var errs [4]error
	ev := evidence{task: rec.Task, ended: time.Now(), usage: cgroup.Read(cgroup.Root, e.cgroupOf(rec.container())),
		end: readIf[endRecord](b, endFile, &errs[0]), told: readIf[startRecord](b, startFile, &errs[1]),
		started: readIf[job.Started](b, filepath.Join(gateDir, job.StartedFile), &errs[2]),
		exit:    readIf[job.Exit](b, filepath.Join(gateDir, job.ExitFile), &errs[3]),
		failure: b.failure(), outFull: full(b.path(outDir)), tmpFull: full(b.path(scratchDir))}
	return ev, errors.Join(errs[:]...)
}

// readIf reads a file of a run folder, or gives nil if it is not there.
func readIf[T any](b runDir, name string, err *error) *T {
	var v T
	there, rerr := b.readIf(name, &v)
	if *err = rerr; there {
		return &v
	}
	return nil
}
