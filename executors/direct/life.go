package direct

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/cgroup"
)

// reapPause lies between the end of process 1 and the taking of its status. Its parent
// is told of the end by its last thread, before that has dropped what /proc knew of it; who
// takes the status meanwhile spins in the kernel until then, which is long if that thread
// has lost its processor.
const reapPause = 10 * time.Millisecond

// Sandbox is one that lives, or lived: a handle on its process 1, which no other
// process can come to be.
type Sandbox struct {
	Pid   int
	pidfd *os.File
	child bool // of this process, which must wait for it

	ended chan struct{}
	once  sync.Once
	// Known once ended is closed, for whose parent this process is.
	status syscall.WaitStatus
	known  bool
	err    error // why it can't be known any more
}

// Find returns the sandbox that an earlier process made, or nil if its process 1
// is gone: it must still be in the sandbox's own control group.
func Find(group string, pid int) (*Sandbox, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find a sandbox: %w", os.NewSyscallError("pidfd_open", err))
	}
	// Only now: the handle is that of a process that was in the group after it was opened.
	pids, err := cgroup.Procs(cgroup.Root, group)
	if err != nil || !slices.Contains(pids, pid) {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return adopt(pid, fd, false)
}

// own gives the handle on a child that nobody has waited for: the pid is its own. A
// child that can't have a handle is ended.
func own(pid int) (*Sandbox, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		end(pid)
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	s, err := adopt(pid, fd, true)
	if err != nil {
		end(pid)
	}
	return s, err
}

// end kills and reaps a child that nobody has waited for and that has no handle.
func end(pid int) {
	_ = unix.Kill(pid, unix.SIGKILL)
	_, _ = syscall.Wait4(pid, nil, 0, nil)
}

func adopt(pid, pidfd int, child bool) (*Sandbox, error) {
	if err := unix.SetNonblock(pidfd, true); err != nil { // for the runtime's poller
		return nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(pidfd))
	}
	s := &Sandbox{Pid: pid, child: child, pidfd: os.NewFile(uintptr(pidfd), "pidfd"), ended: make(chan struct{})}
	conn, err := s.pidfd.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, s.pidfd.Close())
	}
	go func() {
		defer close(s.ended)
		s.err = conn.Read(func(fd uintptr) bool {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(poll, 0)
			return err == nil && n > 0
		})
		if s.err == nil && child {
			time.Sleep(reapPause)
			got, err := syscall.Wait4(pid, &s.status, syscall.WNOHANG, nil)
			s.known = err == nil && got == pid
		}
	}()
	return s, nil
}

// Ended is closed once process 1 has ended, and with it all others of the
// sandbox, or if that can't be told any more (see Exit).
func (s *Sandbox) Ended() <-chan struct{} { return s.ended }

// Exit tells how process 1 ended, after Ended. Known is false if it was started by
// another process; an error means that it may not have ended.
func (s *Sandbox) Exit() (status syscall.WaitStatus, known bool, err error) {
	return s.status, s.known, s.err
}

// Signal sends a signal to process 1. It is no error if that has ended.
func (s *Sandbox) Signal(sig syscall.Signal) error {
	select {
	case <-s.ended:
		return s.err
	default:
	}
	conn, err := s.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	var serr error
	err = conn.Control(func(fd uintptr) { serr = unix.PidfdSendSignal(int(fd), sig, nil, 0) })
	if errors.Is(serr, unix.ESRCH) {
		return err
	}
	return errors.Join(err, os.NewSyscallError("pidfd_send_signal", serr))
}

// Forget gives the handle back; the sandbox goes on if it lives.
func (s *Sandbox) Forget() {
	s.once.Do(func() {
		_ = s.pidfd.Close() // nothing was written
		<-s.ended
		if s.child && !s.known { // it lives, or dies just now
			go func() { _, _ = syscall.Wait4(s.Pid, nil, 0, nil) }()
		}
	})
}
