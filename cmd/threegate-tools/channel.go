package main

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

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
