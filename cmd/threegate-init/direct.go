package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// direct is the first half of an init that no container runtime has started: it has
// all capabilities of its own user namespace yet, and orders to give them up. It does
// that for its first thread alone and executes itself anew: so all threads of the
// second half are born with what is left. To have each thread of a Go program do
// forty calls takes longer than all else that init does.
func direct() int {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	err := obey(os.NewFile(job.ReadyFD, "ready"))
	if err == nil {
		err = os.NewSyscallError("execve", syscall.Exec(job.InitPath, []string{job.InitPath, job.MadeMode}, os.Environ()))
	}
	return fail(job.Dir, fmt.Errorf("make the sandbox: %w", err))
}

// made is the place of the second half.
func made() place {
	p := sandboxed
	p.ready = func() error {
		answer := os.NewFile(job.ReadyFD, "ready")
		return errors.Join(say(answer), answer.Close())
	}
	return p
}

func say(answer *os.File) error {
	_, err := answer.Write([]byte{'.'})
	return err
}

// keptCapabilities are those of process 1 in a container, see package sandbox.
const keptCapabilities = 1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETPCAP | 1<<unix.CAP_SETUID

// obey does to this process, or else to the calling thread, what only it can do. Its
// rights go last but for the filter.
func obey(answer *os.File) error {
	if os.Getpid() != 1 {
		return errors.New("threegate-init must be process 1 of a sandbox")
	}
	if err := mountProc(); err != nil {
		return err
	}
	if err := say(answer); err != nil {
		return err
	}
	f := os.NewFile(job.OrdersFD, "orders")
	orders, err := job.ReadOrders(f) // and so waits until the mounts are there
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := ownStreams(); err != nil {
		return err
	}
	unix.Umask(0o022)
	// Keys of the host's session are none of ours. A kernel without keys has none.
	if _, _, e := unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0); e != 0 && e != unix.ENOSYS {
		return os.NewSyscallError("keyctl", e)
	}
	if err := unix.Sethostname([]byte(orders.Hostname)); err != nil {
		return os.NewSyscallError("sethostname", err)
	}
	if err := raiseLoopback(); err != nil {
		return err
	}
	for _, l := range orders.Limits {
		which, ok := rlimits[l.Name]
		if !ok {
			return fmt.Errorf("there is no limit %s", l.Name)
		}
		if err := syscall.Setrlimit(which, &syscall.Rlimit{Cur: l.Soft, Max: l.Hard}); err != nil {
			return os.NewSyscallError("setrlimit "+l.Name, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("no_new_privs", err)
	}
	// What is kept here as well, a program of root's has again after execve; strip drops that.
	if err := dropBounds(keptCapabilities, dropOne); err != nil {
		return err
	}
	if err := capset(syscall.RawSyscall, keptCapabilities); err != nil {
		return err
	}
	return filter(orders.Filter)
}

// ownStreams takes the sandbox's /dev/null in the place of the host's, which lies on
// a mount of the host.
func ownStreams() error {
	fd, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	for stream := range 3 {
		if err := unix.Dup3(fd, stream, 0); err != nil {
			return os.NewSyscallError("dup3", err)
		}
	}
	return unix.Close(fd)
}

// mountProc mounts the /proc of this pid namespace, which nobody outside of it can.
func mountProc() error {
	fs, err := unix.Fsopen("proc", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("fsopen", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigSetString(fs, "hidepid", "invisible"); err != nil {
		return os.NewSyscallError("fsconfig", err)
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return os.NewSyscallError("fsconfig", err)
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return os.NewSyscallError("fsmount", err)
	}
	defer unix.Close(mount)
	return os.NewSyscallError("move_mount", unix.MoveMount(mount, "", unix.AT_FDCWD, "/proc", unix.MOVE_MOUNT_F_EMPTY_PATH))
}

var rlimits = map[string]int{
	"RLIMIT_CORE": unix.RLIMIT_CORE, "RLIMIT_CPU": unix.RLIMIT_CPU, "RLIMIT_FSIZE": unix.RLIMIT_FSIZE,
	"RLIMIT_MEMLOCK": unix.RLIMIT_MEMLOCK, "RLIMIT_MSGQUEUE": unix.RLIMIT_MSGQUEUE, "RLIMIT_NICE": unix.RLIMIT_NICE,
	"RLIMIT_NOFILE": unix.RLIMIT_NOFILE, "RLIMIT_RTPRIO": unix.RLIMIT_RTPRIO, "RLIMIT_SIGPENDING": unix.RLIMIT_SIGPENDING,
}

// raiseLoopback is all that is done to a new network namespace.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return os.NewSyscallError("raise lo", unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo))
}

// filter puts a seccomp filter, an array of struct sock_filter, over the calling thread.
func filter(program []byte) error {
	size := int(unsafe.Sizeof(unix.SockFilter{}))
	n := len(program) / size
	if n == 0 || n*size != len(program) || n > unix.BPF_MAXINSNS {
		return fmt.Errorf("a seccomp filter of %d bytes", len(program))
	}
	instructions := make([]unix.SockFilter, n)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&instructions[0])), len(program)), program)
	prog := unix.SockFprog{Len: uint16(n), Filter: &instructions[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(instructions)
	if e != 0 {
		return os.NewSyscallError("seccomp", e)
	}
	return nil
}
