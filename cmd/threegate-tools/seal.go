package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

// sweepTime bounds how long processes that a command left are killed.
const sweepTime = 30 * time.Second

// seal keeps the programs that are started, which have the same user, from reading or writing this process and
// its streams, and from outliving it unseen: they inherit no descriptor, and become its children when their
// parents end.
func seal() error {
	return errors.Join(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0),
		unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC))
}

// sweep kills every process that is left of what was started, and waits for its end.
func sweep() error {
	for deadline := time.Now().Add(sweepTime); ; {
		switch pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); {
		case errors.Is(err, unix.ECHILD):
			return nil
		case errors.Is(err, unix.EINTR), pid > 0:
			continue
		case err != nil:
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes that a command started did not end within %s", sweepTime)
		}
		all, err := procfs.AllProcs()
		if err != nil {
			return err
		}
		for _, p := range all {
			if stat, err := p.Stat(); err == nil && stat.PPID == os.Getpid() {
				unix.Kill(p.PID, unix.SIGKILL)
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// channel is the descriptor for the timeline that process 1 of the sandbox gave, or nil. It is to be called before
// any program is started: none inherits it, and none can reach it by /proc, whose user is the same.
func channel() (*os.File, error) {
	value, ok := os.LookupEnv(contract.TimelineEnv)
	if !ok {
		return nil, nil
	}
	fd, err := strconv.Atoi(value)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
	}
	if err == nil {
		err = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	}
	if err == nil {
		err = os.Unsetenv(contract.TimelineEnv)
	}
	if err != nil {
		return nil, fmt.Errorf("the timeline's descriptor %q: %w", value, err)
	}
	return os.NewFile(uintptr(fd), "timeline"), nil
}
