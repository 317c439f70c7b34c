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
	// isolate gives up what init does not need, before there is a payload.
	isolate func() error
	// check refuses if the sandbox lacks what it must have.
	check func(job.Payload) error
	// confine gives up what only the start of the payload needed.
	confine func() error
}

var sandboxed = place{
	dir:     job.Dir,
	user:    outOwner,
	killAll: func() { _ = unix.Kill(-1, unix.SIGKILL) },
	isolate: emptyBoundingSet,
	check:   checkInside,
	confine: keepOnlyKill,
}

// spareThreads are made before the payload starts: with the process limit
// reached, the Go runtime could not make one more and would abort.
const spareThreads = 6

// supervise runs the one payload of this sandbox and returns the exit code.
func supervise(p place) int {
	runtime.LockOSThread() // the payload is forked from the thread that was isolated
	debug.SetGCPercent(-1) // nothing below allocates without bound
	exit, err := serve(p)
	if err == nil {
		err = writeJSON(p.dir, job.ExitFile, exit)
	}
	if err != nil {
		// The text is ours: nothing of a request ran, or nothing of what it wrote is in it.
		_ = os.WriteFile(filepath.Join(p.dir, job.FailureFile), []byte(err.Error()+"\n"), 0o600)
		return job.ExitInit
	}
	notify(p.dir)
	return exit.ExitCode
}

func serve(p place) (job.Exit, error) {
	if err := p.isolate(); err != nil { // while there are few threads: each has to do it
		return job.Exit{}, err
	}
	spawnThreads(spareThreads)
	end := heedStop(p)
	if err := os.WriteFile(filepath.Join(p.dir, job.ReadyFile), nil, 0o600); err != nil {
		return job.Exit{}, err
	}
	notify(p.dir)
	pay, err := awaitPayload(p.dir)
	if err == nil {
		err = p.check(pay)
	}
	if err != nil {
		return job.Exit{}, err
	}
	return run(p, pay, end)
}

// spawnThreads makes the runtime own n more threads, which it then keeps.
func spawnThreads(n int) {
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	for range n {
		ready.Add(1)
		done.Go(func() {
			runtime.LockOSThread()
			ready.Done()
			<-release
			runtime.UnlockOSThread()
		})
	}
	ready.Wait()
	close(release)
	done.Wait()
}

// ending says who ended the run early.
type ending struct{ timedOut, stopped, running atomic.Bool }

// heedStop ends what runs, or init if nothing does yet, when the host asks for it.
func heedStop(p place) *ending {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGTERM)
	end := &ending{}
	go func() {
		<-stop
		end.stopped.Store(true)
		if !end.running.Load() {
			os.Exit(job.ExitInit)
		}
		p.killAll()
	}()
	return end
}

// run starts the payload and returns when nothing of it lives any more.
func run(p place, pay job.Payload, end *ending) (job.Exit, error) {
	end.running.Store(true)
	var exit job.Exit
	streams, err := newPumps(p.dir, pay)
	if err != nil {
		return exit, err
	}
	var started time.Time
	pid, err := start(p, pay, streams, func() error {
		var mono unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono); err != nil {
			return fmt.Errorf("read the clock: %w", err)
		}
		started = time.Now()
		return writeJSON(p.dir, job.StartedFile, job.Started{At: started.UTC(), Monotonic: time.Duration(mono.Nano())})
	})
	for _, s := range streams {
		_ = s.writeEnd.Close()
		go s.copy()
	}
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		exit.StartErrno, exit.ExitCode = errno, job.ExitNotExec
		if errno == unix.ENOENT || errno == unix.ENOTDIR {
			exit.ExitCode = job.ExitNotFound
		}
	case err == nil:
		err = await(p, pay, pid, &exit, end)
	}
	if err != nil && exit.StartErrno == 0 {
		p.killAll()
		return exit, err
	}
	now := time.Now()
	exit.StartedAt, exit.FinishedAt, exit.Wall = started.UTC(), now.UTC(), now.Sub(started)
	var counts [3]job.Stream
	var errs [3]error
	for i, s := range streams {
		counts[i], errs[i] = s.finish()
	}
	exit.Stdout, exit.Stderr, exit.Timeline = counts[0], counts[1], counts[2]
	return exit, errors.Join(errors.Join(errs[:]...), recordUsage(&exit))
}

// await waits for the end of all of the payload, and causes it if need be.
func await(p place, pay job.Payload, pid int, exit *job.Exit, end *ending) error {
	deadline := time.AfterFunc(pay.Time, func() { end.timedOut.Store(true); p.killAll() })
	defer deadline.Stop()
	if end.stopped.Load() { // before there was anything to be killed, perhaps
		p.killAll()
	}
	if err := p.confine(); err != nil {
		return err
	}
	ws, err := reap(p, pid)
	if err != nil {
		return err
	}
	exit.ExitCode = ws.ExitStatus()
	if ws.Signaled() {
		exit.Signal = int(ws.Signal())
		exit.ExitCode = job.ExitSignalBase + exit.Signal
	}
	// A payload that ended by itself in the same instant has ended by itself.
	killed := ws.Signaled() && ws.Signal() == unix.SIGKILL
	switch {
	case killed && end.timedOut.Load():
		exit.TimedOut, exit.ExitCode = true, job.ExitTime
	case killed && end.stopped.Load():
		exit.Stopped = true
	}
	return nil
}

// recordUsage adds what the payload and all of its children used; every one of
// them has been waited for.
func recordUsage(exit *job.Exit) error {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru); err != nil {
		return fmt.Errorf("read resource usage: %w", err)
	}
	exit.CPU = time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	exit.MaxRSS = ru.Maxrss << 10
	return nil
}
