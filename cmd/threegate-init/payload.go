package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// payloadOOMScore makes the kernel choose the payload, not init, when memory is short.
const payloadOOMScore = 1000

// payload is one that was started, or has its streams.
type payload struct {
	pid            int
	stdout, stderr *pump
	// settled: init has given up already what only a start needs.
	settled bool
	// last is what its last word comes from, or nil.
	last *os.File
}

// startNow executes the payload of a job. The errors are those of start; there is a
// payload that did not start if that is a syscall.Errno.
func startNow(p place, spec job.Spec, announce func() error) (*payload, error) {
	l := &payload{}
	var err error
	if l.stdout, l.stderr, err = newPumps(p.dir); err != nil {
		return nil, ours(err)
	}
	return l, l.execute(p, spec, announce)
}

// execute starts the process of a payload that has its streams.
func (l *payload) execute(p place, spec job.Spec, announce func() error) error {
	defer l.closeWriteEnds()
	stdin, err := openStdin(p.dir)
	if err != nil {
		return err
	}
	defer stdin.Close()
	l.pid, err = start(p, spec, []*os.File{stdin, l.stdout.writeEnd, l.stderr.writeEnd}, announce)
	return err
}

func (l *payload) closeWriteEnds() {
	l.stdout.closeWriteEnd()
	l.stderr.closeWriteEnd()
}

// start executes the payload with these files and returns its pid. announce comes last before
// anything of the payload could run: if that fails, or was not reached, nothing
// of it did. A syscall.Errno in the error means that the program could not be
// executed; anything else is trouble of ours.
func start(p place, spec job.Spec, files []*os.File, announce func() error) (int, error) {
	uid, gid, err := p.user()
	if err != nil {
		return 0, ours(err)
	}
	restore, err := raiseOOMScore()
	if err != nil {
		return 0, ours(err)
	}
	if err := announce(); err != nil {
		return 0, ours(err)
	}
	argv0, err := lookPath(spec.Argv[0], spec.Env)
	if err != nil {
		if rerr := restore(); rerr != nil {
			return 0, ours(rerr)
		}
		return 0, err
	}
	fds := make([]uintptr, len(files))
	for i, f := range files {
		fds[i] = f.Fd()
	}
	pid, err := syscall.ForkExec(argv0, spec.Argv, &syscall.ProcAttr{
		Dir:   spec.Dir,
		Env:   spec.Env,
		Files: fds,
		Sys: &syscall.SysProcAttr{
			Setsid:     true,
			Credential: &syscall.Credential{Uid: uid, Gid: gid}, // and no supplementary groups
		},
	})
	if rerr := restore(); rerr != nil && err == nil {
		return pid, ours(rerr)
	}
	return pid, err
}

// openStdin opens the payload's standard input.
func openStdin(dir string) (*os.File, error) {
	stdin, err := os.Open(filepath.Join(dir, job.StdinFile))
	if errors.Is(err, os.ErrNotExist) {
		stdin, err = os.Open(os.DevNull)
	}
	if err != nil {
		return nil, ours(err)
	}
	return stdin, nil
}

// outOwner is who the payload is: the owner of /out, which the host made its own.
func outOwner() (uid, gid uint32, err error) {
	var st unix.Stat_t
	if err := unix.Stat(job.OutDir, &st); err != nil {
		return 0, 0, fmt.Errorf("whose is %s: %w", job.OutDir, err)
	}
	if st.Uid == 0 || st.Gid == 0 {
		return 0, 0, fmt.Errorf("%s is root's", job.OutDir)
	}
	return st.Uid, st.Gid, nil
}

// ours hides an errno that was not the payload's.
func ours(err error) error { return fmt.Errorf("prepare the payload: %s", err) }

// lookPath finds a program as execvp does. Whether it may be executed is for
// the kernel to say, with the payload's identity.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	var path string
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	err := error(unix.ENOENT)
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		st, serr := os.Stat(file)
		switch {
		case serr != nil || st.IsDir():
		case st.Mode()&0o111 == 0:
			err = unix.EACCES
		default:
			return file, nil
		}
	}
	return "", err
}

// raiseOOMScore sets the score that the next child inherits: a child's own file
// belongs to the payload's uid, and init has no capability to write to it.
func raiseOOMScore() (restore func() error, err error) {
	const file = "/proc/self/oom_score_adj"
	old, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(payloadOOMScore)), 0); err != nil {
		return nil, err
	}
	return func() error { return os.WriteFile(file, old, 0) }, nil
}

// endAll ends and collects every process but init, whose children all are in the end.
func endAll(p place) error {
	for {
		pid, err := syscall.Wait4(-1, nil, unix.WNOHANG|unix.WALL, nil)
		if pid == 0 && err == nil { // something lives
			p.killAll()
			_, err = syscall.Wait4(-1, nil, unix.WALL, nil)
		}
		switch {
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("end what was started: %w", err)
		}
	}
}

// reap collects every dead process until the main one has ended, then ends and
// collects all the others: as process 1, init is the parent of orphans.
func reap(p place, main int) (syscall.WaitStatus, error) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return ws, fmt.Errorf("wait for the payload: %w", err)
		case pid == main:
			return ws, endAll(p)
		}
	}
}

// recordExit turns a wait status into the exit code and its reason.
func recordExit(res *job.Result, ws syscall.WaitStatus, end *ending) {
	res.ExitCode = ws.ExitStatus()
	if ws.Signaled() {
		res.Signal = int(ws.Signal())
		res.ExitCode = job.ExitSignalBase + res.Signal
	}
	// A payload that ended by itself in the same instant has ended by itself.
	killed := ws.Signaled() && ws.Signal() == unix.SIGKILL
	switch {
	case killed && end.timedOut.Load():
		res.TimedOut, res.ExitCode = true, job.ExitTime
	case killed && end.stopped.Load():
		res.Stopped = true
	}
}

// recordNoStart says that the payload could not be executed.
func recordNoStart(res *job.Result, errno syscall.Errno) {
	res.StartErrno, res.ExitCode = errno, job.ExitNotExec
	if errno == unix.ENOENT || errno == unix.ENOTDIR {
		res.ExitCode = job.ExitNotFound
	}
}

// recordUsage adds what the payload and all of its children used; every one of
// them has been waited for.
func recordUsage(res *job.Result) error {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru); err != nil {
		return fmt.Errorf("read resource usage: %w", err)
	}
	res.CPU = time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	res.MaxRSS = ru.Maxrss << 10
	return nil
}
