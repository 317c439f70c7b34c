package containerd

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process is a handle of a process, a child or not, that stays true even if
// the pid is used again.
type process struct {
	pid int
	fd  *os.File
}

func openProcess(pid int) (*process, error) {
	// Non-blocking, so that the runtime's poller waits and no thread does.
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	return &process{pid: pid, fd: os.NewFile(uintptr(fd), "pidfd")}, nil
}

// birthOf is the start time of a process, in the kernel's own unit.
func birthOf(pid int) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The name, in parentheses, may hold anything: count from its end.
	_, rest, _ := strings.Cut(string(data[strings.LastIndexByte(string(data), ')')+1:]), " ")
	const startTime = 22 - 3 // field 22, the first one here being field 3
	fields := strings.Fields(rest)
	if len(fields) <= startTime {
		return "", fmt.Errorf("/proc/%d/stat is too short", pid)
	}
	return fields[startTime], nil
}

// ended says that the process has exited, whether or not it was reaped.
func (p *process) ended() bool {
	over := false
	if c, err := p.fd.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { over = readable(fd) })
	}
	return over
}

func readable(fd uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}

// wait blocks until the process has exited, at most for limit unless that is
// zero, or until interrupt is called, and reaps it if it is a child.
func (p *process) wait(limit time.Duration) error {
	deadline := time.Time{}
	if limit > 0 {
		deadline = time.Now().Add(limit)
		if err := p.fd.SetReadDeadline(deadline); err != nil {
			return err
		}
	}
	c, err := p.fd.SyscallConn()
	if err != nil {
		return err
	}
	if err := c.Read(readable); err != nil {
		return err
	}
	var ws unix.WaitStatus
	_, _ = unix.Wait4(p.pid, &ws, unix.WNOHANG, nil) // no child of ours: somebody else reaps it
	return nil
}

// interrupt makes a wait without limit, and any later one, return an error.
func (p *process) interrupt() { _ = p.fd.SetReadDeadline(time.Now()) }

// signal sends s; it is no error if the process is gone.
func (p *process) signal(s unix.Signal) error {
	c, err := p.fd.SyscallConn()
	if err != nil {
		return err
	}
	var serr error
	err = c.Control(func(fd uintptr) { serr = unix.PidfdSendSignal(int(fd), s, nil, 0) })
	if err == nil && !errors.Is(serr, unix.ESRCH) {
		err = serr
	}
	return err
}

func (p *process) close() { p.fd.Close() }
