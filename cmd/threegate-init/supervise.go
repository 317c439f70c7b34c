package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// place is where and how init works: constants in a sandbox, else in a test.
type place struct {
	dir string
	// user says who the payload is; never root.
	user func() (uid, gid uint32, err error)
	// killAll ends every process but init.
	killAll func()
	// strip gives up what init does not need, ahead of any job.
	strip func() error
	// ready tells who made the sandbox that it is complete, if that waits for it.
	ready func() error
	// isolate refuses if the sandbox lacks what it must have.
	isolate func(job.Spec) error
	// settle gives up what only the start of the payload needed.
	settle func() error
}

var sandboxed = place{
	dir:     job.Dir,
	user:    outOwner,
	killAll: func() { _ = unix.Kill(-1, unix.SIGKILL) },
	strip:   strip,
	ready:   func() error { return nil },
	isolate: isolate,
	settle:  keepOnlyKill,
}

const (
	// spareThreads are made before the payload starts: with the process limit
	// reached, the Go runtime could not make one more and would abort.
	spareThreads = 6
	// drainTime bounds the reading of pipes after the last process has died.
	drainTime = 5 * time.Second
)

// supervise runs the one job of this sandbox and returns the exit code.
func supervise(p place) int {
	runtime.LockOSThread() // the payload is forked from the thread that was stripped
	debug.SetGCPercent(-1) // nothing below allocates without bound
	err := p.strip()       // while there are few threads: each has to do it
	if err == nil {
		err = p.ready()
	}
	spawnThreads(spareThreads)
	var spec job.Spec
	var a *ahead
	if err == nil {
		spec, a, err = awaitSpec(p)
	}
	if err == nil {
		err = p.isolate(spec)
	}
	if err != nil {
		return fail(p.dir, err)
	}
	res, err := run(p, spec, a)
	if err != nil {
		return fail(p.dir, err)
	}
	if err := writeJSON(p.dir, job.ResultFile, res); err != nil {
		return fail(p.dir, err)
	}
	ring(p.dir)
	return res.ExitCode
}

// fail leaves the reason for the host and ends the sandbox. Its text is ours:
// nothing of the payload ran, or nothing of what it wrote is in the error.
func fail(dir string, err error) int {
	_ = os.WriteFile(filepath.Join(dir, job.FailureFile), []byte(err.Error()+"\n"), 0o600)
	return job.ExitInit
}

// spawnThreads makes the runtime own n more threads, which it then keeps.
func spawnThreads(n int) {
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	for range n {
		ready.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			runtime.LockOSThread()
			ready.Done()
			<-release
			runtime.UnlockOSThread()
		}()
	}
	ready.Wait()
	close(release)
	done.Wait()
}

// ending says who ended the run early.
type ending struct{ timedOut, stopped atomic.Bool }

// pumps of the payload's streams, those that it has if it was started ahead.
func pumps(p place, spec job.Spec, a *ahead) (stdout, stderr *pump, err error) {
	if a != nil {
		stdout, stderr = a.stdout, a.stderr
	} else {
		if stdout, err = newPump(); err != nil {
			return nil, nil, err
		}
		if stderr, err = newPump(); err != nil {
			return nil, nil, err
		}
	}
	err = errors.Join(stdout.keep(filepath.Join(p.dir, job.StdoutFile), spec.StdoutBytes), stderr.keep(filepath.Join(p.dir, job.StderrFile), spec.StderrBytes))
	return stdout, stderr, err
}

// run starts the payload, or has the one that was started ahead begin, and returns
// when nothing of it lives any more.
func run(p place, spec job.Spec, a *ahead) (job.Result, error) {
	if a != nil && !a.fits(spec) {
		if err := a.discard(p); err != nil {
			return job.Result{}, err
		}
		a = nil
	}
	stdout, stderr, err := pumps(p, spec, a)
	if err != nil {
		return job.Result{}, err
	}
	stdin, err := openStdin(p.dir)
	if err != nil {
		return job.Result{}, err
	}
	defer stdin.Close()
	// Before the payload, so that a stop that comes early is not lost.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGTERM)
	defer signal.Stop(stop)

	var started time.Time
	announce := func() error {
		var mono unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono); err != nil {
			return fmt.Errorf("read the clock: %w", err)
		}
		started = time.Now()
		return writeJSON(p.dir, job.StartedFile, job.Started{At: started.UTC(), Monotonic: time.Duration(mono.Nano())})
	}
	var pid int
	if a != nil {
		pid, err = a.begin(stdin, announce)
	} else {
		pid, err = start(p, spec, stdin, stdout.writeEnd, stderr.writeEnd, announce)
		stdout.closeWriteEnd()
		stderr.closeWriteEnd()
	}
	go stdout.copy()
	go stderr.copy()
	res := job.Result{StartedAt: started.UTC()}
	if err != nil {
		var errno syscall.Errno
		if !errors.As(err, &errno) {
			return job.Result{}, err
		}
		res.StartErrno = errno
		res.ExitCode = job.ExitNotExec
		if errno == unix.ENOENT || errno == unix.ENOTDIR {
			res.ExitCode = job.ExitNotFound
		}
	} else {
		var end ending
		deadline := time.AfterFunc(spec.Time, func() { end.timedOut.Store(true); p.killAll() })
		finished := make(chan struct{})
		go func() {
			select {
			case <-stop:
				end.stopped.Store(true)
				p.killAll()
			case <-finished:
			}
		}()
		if err := p.settle(); err != nil {
			p.killAll()
			return job.Result{}, err
		}
		status, err := reap(p, pid)
		deadline.Stop()
		close(finished)
		if err != nil {
			return job.Result{}, err
		}
		recordExit(&res, status, &end)
	}
	now := time.Now()
	res.FinishedAt, res.Wall = now.UTC(), now.Sub(started)
	if err := errors.Join(stdout.finish(&res.Stdout), stderr.finish(&res.Stderr)); err != nil {
		return job.Result{}, err
	}
	return res, recordUsage(&res)
}
