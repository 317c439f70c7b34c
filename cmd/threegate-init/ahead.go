package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// ahead is a payload that was started before there is a job. Nothing of a request
// is in it yet: it waits for its standard input, which a job brings.
type ahead struct {
	job.Ahead
	pid            int
	stdin          *os.File // our end
	stdout, stderr *pump
}

// startAhead starts what job.AheadFile asks for. It gives nil if that asks for
// nothing, or what it asks for can't be executed: then the job starts its payload
// itself, and says why it could not.
func startAhead(p place) (*ahead, error) {
	f, err := os.Open(filepath.Join(p.dir, job.AheadFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("start ahead of a job: %w", err)
	}
	defer f.Close()
	a := &ahead{}
	dec := json.NewDecoder(io.LimitReader(f, job.MaxFileBytes))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a.Ahead); err != nil {
		return nil, fmt.Errorf("start ahead of a job: %w", err)
	}
	spec := job.Spec{Argv: a.Argv, Env: a.Env, Dir: "/", HostKernel: a.HostKernel}
	if err := p.isolate(spec); err != nil {
		return nil, err
	}
	if a.stdout, err = newPump(); err != nil {
		return nil, err
	}
	if a.stderr, err = newPump(); err != nil {
		return nil, err
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	stdin := os.NewFile(uintptr(fds[0]), "pipe")
	a.stdin = os.NewFile(uintptr(fds[1]), "pipe")
	a.pid, err = start(p, spec, stdin, a.stdout.writeEnd, a.stderr.writeEnd, func() error { return nil })
	stdin.Close()
	a.stdout.closeWriteEnd()
	a.stderr.closeWriteEnd()
	var errno syscall.Errno
	if errors.As(err, &errno) {
		a.close()
		return nil, nil
	}
	return a, err
}

// fits says whether it is what a job would start, and lives.
func (a *ahead) fits(spec job.Spec) bool {
	if !slices.Equal(a.For, spec.Argv) || !slices.Equal(a.Env, spec.Env) {
		return false
	}
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, a.pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo == 0
}

// begin gives it the job's standard input.
func (a *ahead) begin(input *os.File, announce func() error) (int, error) {
	if err := announce(); err != nil {
		return 0, ours(err)
	}
	go func() {
		_, _ = io.Copy(a.stdin, input) // if it does not read all of it, that is its affair
		_ = a.stdin.Close()
	}()
	return a.pid, nil
}

// discard ends it, with all that it has started, before a job begins.
func (a *ahead) discard(p place) error {
	p.killAll()
	for {
		_, err := syscall.Wait4(-1, nil, 0, nil)
		switch {
		case errors.Is(err, unix.ECHILD):
			a.close()
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("end what was started ahead: %w", err)
		}
	}
}

func (a *ahead) close() {
	for _, f := range []*os.File{a.stdin, a.stdout.readEnd, a.stderr.readEnd} {
		_ = f.Close()
	}
}
