package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// errNoJob means that there is no job, and no pipe to wait on for one.
var errNoJob = errors.New("no job was handed over")

// nudges is the pipe by which the host has init look again, in a sandbox that was made
// ahead of need. Others have none.
type nudges int

const noNudges nudges = -1

// openNudges comes before anything is looked for, so that nothing comes unseen.
func openNudges(dir string) (nudges, error) {
	// For writing too: so it never ends, whoever of the host goes.
	fd, err := unix.Open(filepath.Join(dir, job.NudgeFile), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return noNudges, nil
	}
	if err != nil {
		return noNudges, fmt.Errorf("open the nudge pipe: %w", err)
	}
	return nudges(fd), nil
}

func (n nudges) wait() error {
	var b [1]byte
	if _, err := unix.Read(int(n), b[:]); err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("wait for the host: %w", err)
	}
	return nil
}

// awaitSpec reads the job. A sandbox made ahead of need has none yet: then it waits, and
// looks for what is to be started before there is one.
func awaitSpec(p place, n nudges) (job.Spec, *ahead, error) {
	var a *ahead
	for {
		spec, err := readSpec(p.dir)
		if !errors.Is(err, os.ErrNotExist) {
			return spec, a, err
		}
		if a == nil {
			if a, err = startAhead(p); err != nil {
				return spec, nil, err
			}
		}
		if n == noNudges {
			return spec, a, errNoJob
		}
		if err := n.wait(); err != nil {
			return spec, a, err
		}
	}
}

// awaitBegin waits until the host lets the job begin.
func awaitBegin(p place, n nudges) error {
	if n == noNudges {
		return nil
	}
	for {
		var st unix.Stat_t
		err := unix.Lstat(filepath.Join(p.dir, job.BeginFile), &st)
		if err == nil {
			return unix.Close(int(n))
		}
		if !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("wait for the host: %w", err)
		}
		if err := n.wait(); err != nil {
			return err
		}
	}
}

// ring tells a host that listens that the result is there. One that does not
// hears of the end by other means.
func ring(dir string) {
	bell, err := unix.Open(filepath.Join(dir, job.DoneFile), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = unix.Write(bell, []byte{'.'})
	_ = unix.Close(bell)
}

func readSpec(dir string) (job.Spec, error) {
	var spec job.Spec
	if err := readJSON(dir, job.SpecFile, &spec); err != nil {
		return spec, fmt.Errorf("read the job: %w", err)
	}
	if len(spec.Argv) == 0 || spec.Argv[0] == "" || spec.Time <= 0 || spec.StdoutBytes < 0 || spec.StderrBytes < 0 {
		return spec, errors.New("read the job: it lacks a program or a limit")
	}
	return spec, nil
}

// readJSON decodes a file. os.ErrNotExist tells that it is not there.
func readJSON(dir, name string, v any) error {
	fd, err := unix.Open(filepath.Join(dir, name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return decode(io.LimitReader(descriptor(fd), job.MaxFileBytes), v)
}

func decode(r io.Reader, v any) error {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// descriptor is a file that no poller knows: each of its system calls is one.
type descriptor int

func (d descriptor) Read(b []byte) (int, error) {
	n, err := unix.Read(int(d), b)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}

// writeJSON makes the file appear complete or not at all. The folder is tmpfs:
// there is nothing to sync, and what it holds outlives init.
func writeJSON(dir, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	tmp := filepath.Join(dir, "."+name)
	fd, err := unix.Open(tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	n, err := unix.Write(fd, data)
	if err == nil && n < len(data) { // nothing interrupts a write to tmpfs but that it is full
		err = unix.ENOSPC
	}
	if err = errors.Join(err, unix.Close(fd)); err == nil {
		err = unix.Rename(tmp, filepath.Join(dir, name))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
