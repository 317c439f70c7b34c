package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// starter is a process that is the payload's in all but its program: its user, its
// session, its streams. It waits for the order to execute one, and so spares the job
// what does not depend on it.
type starter struct {
	pid   int
	order *order
	// release is written to once the order is complete.
	release int
	// failed has what could not be done, if anything.
	failed int
	err    error // why there is nothing to be executed
}

// order is what a starter executes, in memory that it shares with init until then.
type order struct {
	cpu       unix.Rlimit
	dir, path [unix.PathMax]byte
	argv      [maxOrderArgs + 1]uintptr
	text      [maxOrderText]byte
}

// What an order has room for. A payload with more is started without a starter.
const (
	maxOrderArgs = 511
	maxOrderText = 120 << 10
)

// newStarter makes one, with these streams and this environment.
func newStarter(p place, env []string, stdin, stdout, stderr *os.File) (*starter, error) {
	uid, gid, err := p.user()
	if err != nil {
		return nil, ours(err)
	}
	memory, err := unix.Mmap(-1, 0, int(unsafe.Sizeof(order{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("make room for an order: %w", err)
	}
	var release, failed [2]int
	if err := errors.Join(unix.Pipe2(release[:], unix.O_CLOEXEC), unix.Pipe2(failed[:], unix.O_CLOEXEC|unix.O_NONBLOCK)); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	s := &starter{order: (*order)(unsafe.Pointer(&memory[0])), release: release[1], failed: failed[0]}
	restore, err := raiseOOMScore()
	if err != nil {
		return nil, ours(err)
	}
	s.pid, err = s.program(uid, gid, env, [3]*os.File{stdin, stdout, stderr}, release, failed[1]).fork(nil)
	s.take(job.Spec{Argv: []string{"/"}, Dir: "/"}) // so that the memory is there
	return s, errors.Join(err, restore(), unix.Close(release[0]), unix.Close(failed[1]))
}

// program is what the starter does.
func (s *starter) program(uid, gid uint32, env []string, streams [3]*os.File, release [2]int, failed int) *program {
	p := &program{tell: uintptr(failed)}
	var one [1]byte
	p.add("close a pipe", unix.SYS_CLOSE, uintptr(release[1])) // else it would outlive init's end of it
	p.add("begin a session", unix.SYS_SETSID)
	p.add("leave all groups", unix.SYS_SETGROUPS, 0, 0)
	p.add("become the payload's group", unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid))
	p.add("become the payload's user", unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid))
	for i, f := range streams {
		p.add("have its streams", unix.SYS_DUP3, f.Fd(), uintptr(i), 0)
		p.keep = append(p.keep, f)
	}
	p.add("wait for its order", unix.SYS_READ, uintptr(release[0]), pointer(p, &one), 1)
	p.last().want = 1 // else init is gone
	o := s.order
	p.add("limit its cpu time", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CPU, uintptr(unsafe.Pointer(&o.cpu)), 0)
	p.add("enter its folder", unix.SYS_CHDIR, uintptr(unsafe.Pointer(&o.dir)))
	p.add("unblock signals", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, pointer(p, new(uint64)), 0, 8)
	p.add("execute its program", unix.SYS_EXECVE, uintptr(unsafe.Pointer(&o.path)), uintptr(unsafe.Pointer(&o.argv)), p.texts(env))
	return p
}

// take completes the order for a job, and says whether that was possible.
func (s *starter) take(spec job.Spec) bool {
	o := s.order
	var path string
	if path, s.err = lookPath(spec.Argv[0], spec.Env); s.err != nil {
		return true // and begin will say so
	}
	if len(path) >= len(o.path) || len(spec.Dir) >= len(o.dir) || len(spec.Argv) > maxOrderArgs {
		return false
	}
	if unix.Getrlimit(unix.RLIMIT_CPU, &o.cpu) != nil { // init's, which are lowered for the job
		return false
	}
	o.path[copy(o.path[:], path)] = 0
	o.dir[copy(o.dir[:], spec.Dir)] = 0
	used := 0
	for i, arg := range spec.Argv {
		if len(arg) >= len(o.text)-used || strings.Contains(arg, "\x00") {
			return false
		}
		o.argv[i] = uintptr(unsafe.Pointer(&o.text[used]))
		used += copy(o.text[used:], arg)
		o.text[used] = 0
		used++
	}
	o.argv[len(spec.Argv)] = 0
	return true
}

// begin has the order carried out. Whether it could be is known when the starter, or
// what it executes, has ended.
func (s *starter) begin(announce func() error) error {
	if err := announce(); err != nil {
		return ours(err)
	}
	if s.err != nil {
		return s.err
	}
	_, _ = unix.Write(s.release, []byte{'.'}) // if it has just been killed, its end tells
	return nil
}

// failure is why the order, after its process has ended, was not carried out, or 0. The
// last byte that is told of a failure is the number of the error.
func (s *starter) failure() unix.Errno {
	var said [64]byte
	n, _ := unix.Read(s.failed, said[:])
	if n <= 0 {
		return 0
	}
	return unix.Errno(said[n-1])
}

func (s *starter) close() {
	for _, fd := range []int{s.release, s.failed} {
		_ = unix.Close(fd) // nothing is lost
	}
}
