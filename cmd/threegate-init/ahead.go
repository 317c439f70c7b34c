package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// ahead is what there is of a payload before there is a job: its streams, and perhaps
// its process, in which nothing of a request is yet: it waits for its standard input,
// which a job brings, and for the word behind it, by which the job begins.
type ahead struct {
	job.Ahead
	payload
	stdin *os.File // our end, of one that was started
	// rest and then input are what the pipe to it had no room for, if any.
	rest  []byte
	input *os.File
}

// startAhead makes ready what job.AheadFile asks for. It gives nil if that asks for
// nothing, or what it asks for can't be executed: then the job starts its payload
// itself, and says why it could not.
func startAhead(p place) (*ahead, error) {
	a := &ahead{}
	err := readJSON(p.dir, job.AheadFile, &a.Ahead)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("start ahead of a job: %w", err)
	}
	spec := job.Spec{Argv: a.Argv, Env: a.Env, Dir: "/", HostKernel: a.HostKernel}
	if err := p.isolate(spec); err != nil {
		return nil, err
	}
	if a.stdout, a.stderr, err = newPumps(p.dir); err != nil {
		return nil, err
	}
	rehearse()
	if len(a.Argv) == 0 {
		return a, nil
	}
	err = a.start(p, spec)
	var errno syscall.Errno
	if errors.As(err, &errno) {
		a.close()
		return nil, nil
	}
	return a, err
}

func (a *ahead) start(p place, spec job.Spec) error {
	defer a.closeWriteEnds()
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	stdin := os.NewFile(uintptr(fds[0]), "pipe")
	defer stdin.Close()
	err := unix.SetNonblock(fds[1], true) // our end only
	a.stdin = os.NewFile(uintptr(fds[1]), "pipe")
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	files := []*os.File{stdin, a.stdout.writeEnd, a.stderr.writeEnd}
	if a.Ahead.LastWord {
		last, err := a.openLast()
		if err != nil {
			return err
		}
		defer last.Close()
		files = append(files, last) // which is job.LastWordFD then
	}
	a.pid, err = start(p, spec, files, func() error { return nil })
	return err
}

// rehearse does once what a job will have init do, so that memory and code are there then.
func rehearse() {
	var spec job.Spec
	now := time.Now()
	_, _ = json.Marshal(job.Started{At: now.UTC()})
	_, _ = json.Marshal(job.Result{StartedAt: now.UTC(), FinishedAt: now.UTC()})
	text, _ := json.Marshal(job.Spec{ID: "none", Argv: []string{"none"}, Env: []string{"A=1"}})
	_ = decode(bytes.NewReader(text), &spec)
}

// take hands a job over to what fits it, but does not let it begin. What does not fit, or
// has died, is ended, and there is nothing ahead any more then. What took the job is the
// payload, however it ends.
func (a *ahead) take(p place, spec job.Spec) (*ahead, error) {
	if a == nil || len(a.Argv) == 0 {
		return a, nil
	}
	if !slices.Equal(a.For, spec.Argv) || !slices.Equal(a.Env, spec.Env) || a.end() != lives {
		return nil, a.discard(p)
	}
	if err := p.settle(); err != nil {
		return nil, err
	}
	a.settled = true
	input, err := openStdin(p.dir)
	if err != nil {
		return nil, err
	}
	first := make([]byte, pipeBytes) // most often goes into the pipe at once, and is all
	n, err := io.ReadFull(input, first)
	a.rest = first[a.offer(first[:n]):n]
	if err != nil && len(a.rest) == 0 {
		return a, input.Close()
	}
	a.input = input
	return a, nil
}

// How a child has ended, in the terms of waitid(2).
const (
	lives  = 0
	exited = 1 // by itself; all else is by a signal
)

// end says how a payload that was started has ended, and leaves it to be collected. What
// can't be told counts as killed.
func (a *ahead) end() int32 {
	info := unix.Siginfo{Code: lives} // as it stays if there is nothing to tell
	if err := unix.Waitid(unix.P_PID, a.pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil {
		return -1
	}
	return info.Code
}

// begin has the job that it took begin, and never waits for it to read. The errors are
// those of start.
func (a *ahead) begin(p place, spec job.Spec, announce func() error) error {
	if len(a.Argv) == 0 {
		return a.execute(p, spec, announce)
	}
	if end := a.end(); end != lives && end != exited {
		return ours(errors.New("what waited for the job was killed"))
	}
	if err := announce(); err != nil {
		return ours(err)
	}
	if a.input == nil && a.offer([]byte(a.Word)) == len(a.Word) {
		_ = a.stdin.Close() // nothing is buffered
		return nil
	}
	left := []io.Reader{bytes.NewReader(a.rest)}
	if a.input != nil {
		left = append(left, a.input)
	}
	go func() {
		// If it does not read all of it, that is its affair.
		_, _ = io.Copy(a.stdin, io.MultiReader(append(left, strings.NewReader(a.Word))...))
		a.closeInput()
	}()
	return nil
}

// offer writes what the pipe to it takes without waiting, and says how much that is.
func (a *ahead) offer(data []byte) (n int) {
	conn, err := a.stdin.SyscallConn()
	if err != nil {
		return 0
	}
	_ = conn.Write(func(fd uintptr) bool {
		n, _ = unix.Write(int(fd), data) // what is wrong with the pipe shows at the next write
		return true
	})
	return max(n, 0)
}

// pipeBytes is what a pipe holds.
const pipeBytes = 64 << 10

// discard ends it, with all that it has started, before a job begins.
func (a *ahead) discard(p place) error {
	defer a.close()
	return endAll(p)
}

func (a *ahead) close() {
	a.stdout.close()
	a.stderr.close()
	if a.last != nil {
		_ = a.last.Close() // nothing was written
	}
	a.closeInput()
}

func (a *ahead) closeInput() {
	for _, f := range []*os.File{a.stdin, a.input} {
		if f != nil {
			_ = f.Close() // nothing is buffered
		}
	}
}
