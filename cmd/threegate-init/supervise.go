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
	// out is where the payload leaves files.
	out string
	// user says who the payload is; never root.
	user func() (uid, gid uint32, err error)
	// killAll ends every process but init.
	killAll func()
	// halt stops every process but init. One that arranged for that goes on, until init ends.
	halt func()
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
	out:     job.OutDir,
	user:    outOwner,
	killAll: func() { _ = unix.Kill(-1, unix.SIGKILL) },
	halt:    func() { _ = unix.Kill(-1, unix.SIGSTOP) },
	strip:   strip,
	ready:   func() error { return nil },
	isolate: isolate,
	settle:  keepOnlyKill,
}

const (
	// spareThreads are made before the payload starts: with the process limit
	// reached, the Go runtime could not make one more and would abort.
	spareThreads = 6
	// lingerTime is how long init outlives its result: the kernel is busy, also with what
	// other processes want of it, when a sandbox goes, and the host is about to read what is in it.
	// A payload that is halted is killed after it, too.
	lingerTime = 10 * time.Millisecond
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
	end := heedStop(p)
	var spec job.Spec
	var a *ahead
	if err == nil {
		spec, a, err = admit(p)
	}
	if err != nil {
		return fail(p.dir, err)
	}
	res, err := run(p, spec, a, end)
	if err != nil {
		return fail(p.dir, err)
	}
	if err := writeJSON(p.dir, job.ResultFile, res); err != nil {
		return fail(p.dir, err)
	}
	ring(p.dir)
	time.Sleep(lingerTime)
	return res.ExitCode
}

// admit returns once there is a job and it may begin; what it needs is ready then.
func admit(p place) (job.Spec, *ahead, error) {
	n, err := openNudges(p.dir)
	if err != nil {
		return job.Spec{}, nil, err
	}
	spec, a, err := awaitSpec(p, n)
	if err == nil {
		err = p.isolate(spec)
	}
	if err == nil {
		a, err = a.take(p, spec)
	}
	if err == nil {
		err = awaitBegin(p, n)
	}
	return spec, a, err
}

// fail leaves the reason for the host and ends the sandbox. Its text is ours:
// nothing of a request ran, or nothing of what it wrote is in the error.
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
type ending struct{ timedOut, stopped, begun atomic.Bool }

// heedStop ends what runs, or init if no job has begun yet, when the host asks for it.
func heedStop(p place) *ending {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGTERM)
	end := &ending{}
	go func() {
		<-stop
		end.stopped.Store(true)
		if !end.begun.Load() {
			os.Exit(job.ExitInit)
		}
		p.killAll()
	}()
	return end
}

// run starts the payload, or has the one begin that took the job ahead, and returns
// when nothing of it lives any more, or what does is halted.
func run(p place, spec job.Spec, a *ahead, end *ending) (job.Result, error) {
	end.begun.Store(true)
	var started time.Time
	announce := func() error {
		var mono unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono); err != nil {
			return fmt.Errorf("read the clock: %w", err)
		}
		started = time.Now()
		return writeJSON(p.dir, job.StartedFile, job.Started{At: started.UTC(), Monotonic: time.Duration(mono.Nano())})
	}
	var l *payload
	var err error
	if a != nil {
		l, err = &a.payload, a.begin(p, spec, announce)
	} else {
		l, err = startNow(p, spec, announce)
	}
	var errno syscall.Errno
	if err != nil && !errors.As(err, &errno) {
		return job.Result{}, err
	}
	go l.stdout.copy(spec.StdoutBytes)
	go l.stderr.copy(spec.StderrBytes)
	res := job.Result{StartedAt: started.UTC()}
	if err != nil {
		recordNoStart(&res, errno)
	} else if err := l.await(p, spec, &res, end); err != nil {
		return job.Result{}, err
	}
	now := time.Now()
	res.FinishedAt, res.Wall = now.UTC(), now.Sub(started)
	if res.Halted {
		l.stdout.cut()
		l.stderr.cut()
	}
	if err := errors.Join(l.stdout.finish(&res.Stdout), l.stderr.finish(&res.Stderr)); err != nil {
		return job.Result{}, err
	}
	if res.Halted {
		return res, nil
	}
	return res, recordUsage(&res)
}

// await waits for the end of all of the payload, which has begun, or for its last word, and
// causes the end if need be.
func (l *payload) await(p place, spec job.Spec, res *job.Result, end *ending) error {
	// If there is but one processor for both, it is the payload's turn.
	_, _, _ = syscall.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	deadline := time.AfterFunc(spec.Time, func() { end.timedOut.Store(true); p.killAll() })
	defer deadline.Stop()
	if end.stopped.Load() { // before there was anything to be killed, perhaps
		p.killAll()
	}
	if !l.settled {
		if err := p.settle(); err != nil {
			p.killAll()
			return err
		}
	}
	code, said := l.lastWord()
	if said {
		res.ExitCode = code
		p.halt()
		if empty(p.out) {
			return ownUsage(res)
		}
		p.killAll()
	}
	status, err := reap(p, l.pid)
	if err == nil && !said {
		recordExit(res, status, end)
	}
	return err
}
