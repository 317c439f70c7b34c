package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// program is what a new process does between its birth and execve: system calls
// and nothing else. The process is a copy with one thread, and Go's runtime does not work
// in it; but it needs no second start of a Go program, and what a thread is to give up
// there is but one to do.
type program struct {
	calls []call
	// results are those of the calls that were made.
	results []uintptr
	// tell is a descriptor that is told of the call that failed.
	tell uintptr
	keep []any // what calls point to
}

// call is one of them.
type call struct {
	nr   uintptr
	args [6]uintptr
	// refs has a bit for each argument that is the result of an earlier call, by its number.
	refs uint8
	// want, if above zero, is the only good result.
	want uintptr
	// optional: the kernel need not know it.
	optional bool
	// failure is what to say: "!", what was to be done, and room for the error's number.
	failure []byte
}

// add adds a call and gives its number.
func (p *program) add(what string, nr uintptr, args ...uintptr) int {
	c := call{nr: nr, failure: append([]byte("!"+what), 0)}
	copy(c.args[:], args)
	p.calls = append(p.calls, c)
	return len(p.calls) - 1
}

// last is the call that was added last.
func (p *program) last() *call { return &p.calls[len(p.calls)-1] }

// pointer is an argument; what it points to lives as long as the program.
func pointer[T any](p *program, v *T) uintptr {
	p.keep = append(p.keep, v)
	return uintptr(unsafe.Pointer(v))
}

// text is a pointer to a string as C has them.
func (p *program) text(s string) uintptr {
	b := append([]byte(s), 0)
	return pointer(p, &b[0])
}

// texts is a pointer to an array of them.
func (p *program) texts(all []string) uintptr {
	list := make([]uintptr, len(all)+1)
	for i, s := range all {
		list[i] = p.text(s)
	}
	return pointer(p, &list[0])
}

// run makes the calls, and ends the process if one fails, or if none is left.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (p *program) run() {
	for i := range p.calls {
		c := &p.calls[i]
		for j := range c.args {
			if c.refs&(1<<j) != 0 {
				c.args[j] = p.results[c.args[j]]
			}
		}
		r, _, e := syscall.RawSyscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		p.results[i] = r
		if e == unix.ENOSYS && c.optional {
			continue
		}
		if e != 0 || c.want != 0 && r != c.want {
			c.failure[len(c.failure)-1] = byte(e)
			syscall.RawSyscall(unix.SYS_WRITE, p.tell, uintptr(unsafe.Pointer(&c.failure[0])), uintptr(len(c.failure)))
			break
		}
	}
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, exitChild, 0, 0)
	}
}

// exitChild is the exit code of a process whose program failed.
const exitChild = 125

// cloneArgs is struct clone_args.
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// fork starts a process that runs the program. The calling thread must be locked.
func (p *program) fork(args cloneArgs) (pid int, err error) {
	p.results = make([]uintptr, len(p.calls))
	// No handler of this program's may run in the child, which unblocks what it starts.
	var all, old unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old); err != nil {
		return 0, os.NewSyscallError("sigprocmask", err)
	}
	n, e := p.clone(&args)
	runtime.KeepAlive(p)
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil); err != nil {
		return int(n), os.NewSyscallError("sigprocmask", err)
	}
	if e != 0 {
		return 0, fmt.Errorf("clone3: %w", e)
	}
	return int(n), nil
}

//go:noinline
//go:norace
//go:nocheckptr
func (p *program) clone(args *cloneArgs) (pid uintptr, e syscall.Errno) {
	pid, _, e = syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(args)), unsafe.Sizeof(*args), 0)
	if e == 0 && pid == 0 {
		p.run()
	}
	return pid, e
}
