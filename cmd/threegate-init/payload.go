package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// payloadOOMScore makes the kernel choose the payload, not init, when memory is short.
const payloadOOMScore = 1000

// start executes the payload and gives its pid. announce comes last before
// anything of the payload could run: if that fails, or was not reached, nothing
// of it did. A syscall.Errno in the error means that the program could not be
// executed; anything else is trouble of ours.
func start(p place, pay job.Payload, streams []*pump, announce func() error) (int, error) {
	stdin, err := os.Open(filepath.Join(p.dir, job.StdinFile))
	if errors.Is(err, os.ErrNotExist) {
		stdin, err = os.Open(os.DevNull)
	}
	if err != nil {
		return 0, ours(err)
	}
	defer stdin.Close()
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
	files := []uintptr{stdin.Fd()} // then stdout, stderr and, if it has one, job.TimelineFD
	for _, s := range streams {
		files = append(files, s.writeEnd.Fd())
	}
	pid := 0
	argv0, err := lookPath(pay.Argv[0], pay.Env)
	if err == nil {
		pid, err = syscall.ForkExec(argv0, pay.Argv, &syscall.ProcAttr{
			Dir:   pay.Dir,
			Env:   pay.Env,
			Files: files,
			Sys: &syscall.SysProcAttr{
				Setsid:     true,
				Credential: &syscall.Credential{Uid: uid, Gid: gid}, // and no supplementary groups
			},
		})
	}
	if rerr := restore(); rerr != nil {
		return pid, ours(rerr)
	}
	return pid, err
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

// reap collects every dead process until the main one has ended, then ends and
// collects all the others: as process 1, init is the parent of orphans.
func reap(p place, main int) (syscall.WaitStatus, error) {
	var status syscall.WaitStatus
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			return status, nil
		case err != nil:
			return status, fmt.Errorf("wait for the payload: %w", err)
		case pid == main:
			status, main = ws, -1
		}
		if main < 0 {
			p.killAll() // and again after each that ends, until there is none
		}
	}
}
