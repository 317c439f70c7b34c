package confine

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// programs are the system calls that start another program.
var programs = []string{"execve", "execveat"}

// denied are system calls for which nothing here has a use: sockets of any kind, and ways into
// the kernel or other processes that need no file.
var denied = []string{
	"socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendto", "sendmsg", "sendmmsg",
	"io_uring_setup", "io_uring_enter", "io_uring_register",
	"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "bpf", "perf_event_open", "userfaultfd",
	"shmget", // its memory stays when nobody has it, and counts for no limit
	"add_key", "request_key", "keyctl", "unshare", "setns", "mount", "umount2", "pivot_root", "chroot",
	"open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
	"clone3", // see behind
}

// changing are system calls that change files, or what is told of them, of which Landlock
// knows nothing, at least in its first versions. Not every architecture has all.
var changing = []string{"truncate", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat",
	"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat",
	"utime", "utimes", "utimensat", "futimesat", "openat2",
	"flock"} // who can read a file could hold it locked for those who write to it

// locking is how else a file is locked.
var locking = condition{"fcntl", secondAt, math.MaxUint32,
	[]uint32{unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_SETLK, unix.F_OFD_SETLKW, unix.F_SETLEASE}}

// typed are requests that put text into a terminal's input as if it were typed. The shell
// would run it when the program has ended.
var typed = []uint32{unix.TIOCSTI, unix.TIOCLINUX}

// Where the kernel puts what a filter sees; see struct seccomp_data.
const (
	nrAt      = 0
	archAt    = 4
	firstAt   = 16 // lower half of the first argument: all that clone, open and ioctl look at of flags and requests
	secondAt  = 24
	thirdAt   = 32
	wordBytes = 4
)

// x32Bit is set in system calls of the x32 ABI, which shares amd64's architecture number.
const x32Bit = 0x40000000

// behind are calls whose flags lie behind a pointer. They fail with ENOSYS: programs then use clone and
// openat.
var behind = []string{"clone3", "openat2"}

// condition denies a call whose argument, masked, is one of these.
type condition struct {
	call     string
	at, mask uint32
	deny     []uint32
}

// program is a filter that denies these system calls, and others under these conditions. What is denied fails with
// EPERM; a call of another ABI, where the numbers mean other things, ends the process.
func program(calls []string, also ...condition) ([]bpf.RawInstruction, error) {
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
	absent := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
	for _, name := range calls {
		answer := deny
		if slices.Contains(behind, name) {
			answer = absent
		}
		nr, ok := abi.SyscallNames[name]
		if !ok && slices.Contains(changing, name) {
			continue
		}
		if !ok {
			return nil, fmt.Errorf("no system call %q", name)
		}
		list = append(list, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(nr), SkipFalse: 1}, answer)
	}
	for _, c := range append(also, []condition{
		{"clone", firstAt, unix.CLONE_NEWUSER, []uint32{unix.CLONE_NEWUSER}},
		// A file that is open for reading only is truncated: early versions of Landlock don't see that.
		{"open", secondAt, unix.O_ACCMODE | unix.O_TRUNC, []uint32{unix.O_RDONLY | unix.O_TRUNC}},
		{"openat", thirdAt, unix.O_ACCMODE | unix.O_TRUNC, []uint32{unix.O_RDONLY | unix.O_TRUNC}},
		{"ioctl", secondAt, math.MaxUint32, typed},
	}...) {
		nr, ok := abi.SyscallNames[c.call]
		if !ok { // not every architecture has open
			continue
		}
		list = append(list, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(nr), SkipTrue: uint8(3 + 2*len(c.deny))},
			bpf.LoadAbsolute{Off: c.at, Size: wordBytes}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.mask})
		for _, bits := range c.deny {
			list = append(list, bpf.JumpIf{Cond: bpf.JumpEqual, Val: bits, SkipFalse: 1}, deny)
		}
		list = append(list, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
	}
	return bpf.Assemble(append(list, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}))
}

// filter denies system calls to all threads, if the kernel can; accept leaves the right to take connections.
func filter(accept bool) error {
	if !seccomp.Supported() {
		return nil
	}
	raw, err := program(slices.DeleteFunc(slices.Concat(programs, denied), func(name string) bool {
		return accept && (name == "accept" || name == "accept4")
	}))
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return load(raw, unix.SECCOMP_FILTER_FLAG_TSYNC)
}

// load gives this thread a filter, or all threads with SECCOMP_FILTER_FLAG_TSYNC.
func load(raw []bpf.RawInstruction, flags uintptr) error {
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
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	if thread != 0 {
		return fmt.Errorf("seccomp: thread %d has a filter of its own", thread)
	}
	return nil
}
