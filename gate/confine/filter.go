package confine

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// denied are system calls for which nothing here has a use: other programs, sockets of
// any kind, and ways into the kernel or other processes that need no file.
var denied = []string{
	"execve", "execveat",
	"socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendto", "sendmsg", "sendmmsg",
	"io_uring_setup", "io_uring_enter", "io_uring_register",
	"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "bpf", "perf_event_open", "userfaultfd",
	"add_key", "request_key", "keyctl", "unshare", "setns", "mount", "umount2", "pivot_root", "chroot",
	"open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
}

// typed are requests that put text into a terminal's input as if it were typed. The shell
// would run it when the program has ended.
var typed = []uint32{unix.TIOCSTI, unix.TIOCLINUX}

// Where the kernel puts what a filter sees; see struct seccomp_data.
const (
	nrAt      = 0
	archAt    = 4
	requestAt = 24 // lower half of the second argument: of a request, ioctl looks at that only
	wordBytes = 4
)

// x32Bit is set in system calls of the x32 ABI, which shares amd64's architecture number.
const x32Bit = 0x40000000

// program is the filter; accept leaves the right to take connections. What is denied fails
// with EPERM; a call of another ABI, where the numbers mean other things, ends the process.
func program(accept bool) ([]bpf.RawInstruction, error) {
	abi, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	deny := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	end := bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}
	list := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archAt, Size: wordBytes},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(abi.ID), SkipTrue: 1},
		end,
		bpf.LoadAbsolute{Off: nrAt, Size: wordBytes},
	}
	if abi.ID == arch.X86_64.ID {
		list = append(list, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32Bit, SkipFalse: 1}, end)
	}
	for _, name := range denied {
		if accept && (name == "accept" || name == "accept4") {
			continue
		}
		nr, ok := abi.SyscallNames[name]
		if !ok {
			return nil, fmt.Errorf("no system call %q", name)
		}
		list = append(list, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(nr), SkipFalse: 1}, deny)
	}
	list = append(list,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_IOCTL, SkipTrue: uint8(1 + 2*len(typed))},
		bpf.LoadAbsolute{Off: requestAt, Size: wordBytes})
	for _, request := range typed {
		list = append(list, bpf.JumpIf{Cond: bpf.JumpEqual, Val: request, SkipFalse: 1}, deny)
	}
	return bpf.Assemble(append(list, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}))
}

// filter denies system calls to all threads, if the kernel can.
func filter(accept bool) error {
	if !seccomp.Supported() {
		return nil
	}
	raw, err := program(accept)
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return load(raw)
}

// load gives all threads a filter.
func load(raw []bpf.RawInstruction) error {
	list := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		list[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	runtime.LockOSThread() // no_new_privs is set for one thread, the filter then gives it to all
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	if thread != 0 {
		return fmt.Errorf("seccomp: thread %d has a filter of its own", thread)
	}
	return nil
}
