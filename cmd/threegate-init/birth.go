package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
)

// namespaces that every sandbox has of its own.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// keptCapabilities are those of process 1 in a container, see package sandbox.
const keptCapabilities = 1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETPCAP | 1<<unix.CAP_SETUID

// firstOwnFD is above all descriptors that a process 1 is given.
const firstOwnFD = 10

// birth starts process 1 of a sandbox on a thread that goes where it can't come back
// from. There may be a process, which lives, beside an error.
func birth(b job.Birth, files []int) (pid int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The first thread of a process does not end; while it is held here, another is taken.
			pid, err = birth(b, files)
			runtime.UnlockOSThread()
			return
		}
		// Never unlocked: the thread ends with this function.
		pid, err = bear(b, files)
	}()
	<-done
	return pid, err
}

func bear(b job.Birth, files []int) (int, error) {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_FILES); err != nil {
		return 0, os.NewSyscallError("unshare", err)
	}
	var own [2]int // of orders and ready, above those that they become
	for i, fd := range []int{files[job.BirthOrders], files[job.BirthReady]} {
		var err error
		if own[i], err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, firstOwnFD); err != nil {
			return 0, os.NewSyscallError("fcntl", err)
		}
	}
	var mapped [2]int
	if err := unix.Pipe2(mapped[:], unix.O_CLOEXEC); err != nil {
		return 0, os.NewSyscallError("pipe", err)
	}
	// Of the descriptors of this process init gets those of its program and no other.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return 0, os.NewSyscallError("close_range", err)
	}
	p, err := firstSteps(b, mapped, own[0], own[1])
	if err != nil {
		return 0, err
	}
	// The child is born where the thread is: in the control groups, so that the
	// root of its cgroup namespace is its own, and among the mounts.
	if err := cgroup.EnterThread(cgroup.Root, b.Group); err != nil {
		return 0, err
	}
	if err := unix.Setns(files[job.BirthMounts], unix.CLONE_NEWNS); err != nil {
		return 0, os.NewSyscallError("setns", err)
	}
	// A child of this process's parent, the gate: by clone3 it has the same signal of its end.
	args := cloneArgs{flags: namespaces | unix.CLONE_PARENT}
	if b.Unified {
		args.flags |= unix.CLONE_INTO_CGROUP
		args.cgroup = uint64(files[job.BirthGroup])
	}
	pid, err := p.fork(args)
	if err != nil {
		return pid, err
	}
	for name, ids := range map[string][]job.IDs{"uid_map": b.UIDs, "gid_map": b.GIDs} {
		var rows strings.Builder
		for _, m := range ids {
			fmt.Fprintf(&rows, "%d %d %d\n", m.Inside, m.Host, m.Size)
		}
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, name), []byte(rows.String()), 0); err != nil {
			return pid, err
		}
	}
	_, err = unix.Write(mapped[1], []byte{'.'})
	return pid, os.NewSyscallError("write", err)
}

// firstSteps is what process 1 does before it is threegate-init: what only it can do, its
// own rights last but for the filter. The order matters.
func firstSteps(b job.Birth, mapped [2]int, orders, ready int) (*program, error) {
	p := &program{tell: uintptr(ready)}
	var one [1]byte
	word := pointer(p, &one)
	none, null := p.text(""), p.text(os.DevNull)
	cwd := int64(unix.AT_FDCWD)

	p.add("close a pipe", unix.SYS_CLOSE, uintptr(mapped[1]))
	p.add("wait for its ids", unix.SYS_READ, uintptr(mapped[0]), word, 1)
	p.last().want = 1 // else the forker is gone
	p.add("begin a session", unix.SYS_SETSID)
	p.add("leave all groups", unix.SYS_SETGROUPS, 0, 0)
	p.add("become its group", unix.SYS_SETRESGID, 0, 0, 0)
	p.add("become its user", unix.SYS_SETRESUID, 0, 0, 0)

	// The /proc of this pid namespace, which nobody outside of it can mount.
	fs := uintptr(p.add("open a /proc", unix.SYS_FSOPEN, p.text("proc"), unix.FSOPEN_CLOEXEC))
	p.add("hide processes", unix.SYS_FSCONFIG, fs, unix.FSCONFIG_SET_STRING, p.text("hidepid"), p.text("invisible"), 0)
	p.last().refs = 1
	p.add("make a /proc", unix.SYS_FSCONFIG, fs, unix.FSCONFIG_CMD_CREATE, 0, 0, 0)
	p.last().refs = 1
	mount := uintptr(p.add("make a mount of /proc", unix.SYS_FSMOUNT, fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC))
	p.last().refs = 1
	p.add("mount /proc", unix.SYS_MOVE_MOUNT, mount, none, uintptr(cwd), p.text("/proc"), unix.MOVE_MOUNT_F_EMPTY_PATH)
	p.last().refs = 1
	for _, fd := range []uintptr{fs, mount} {
		p.add("close /proc", unix.SYS_CLOSE, fd)
		p.last().refs = 1
	}
	p.add("say that /proc is there", unix.SYS_WRITE, uintptr(ready), p.text("."), 1)
	p.add("wait for its mounts", unix.SYS_READ, uintptr(orders), word, 1)
	p.last().want = 1 // else the gate is gone
	p.add("enter its root", unix.SYS_CHDIR, p.text("/"))

	// The sandbox's /dev/null in the place of the host's, which lies on a mount of the host.
	fd := uintptr(p.add("open /dev/null", unix.SYS_OPENAT, uintptr(cwd), null, unix.O_RDWR|unix.O_CLOEXEC, 0))
	for stream := range uintptr(3) {
		p.add("have streams of its own", unix.SYS_DUP3, fd, stream, 0)
		p.last().refs = 1
	}
	p.add("set its umask", unix.SYS_UMASK, 0o022)
	// Keys of the host's session are none of its. A kernel without keys has none.
	p.add("have keys of its own", unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0)
	p.last().optional = true
	p.add("set its host name", unix.SYS_SETHOSTNAME, p.text(b.Hostname), uintptr(len(b.Hostname)))

	// The loopback is all that is done to a new network namespace.
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return nil, err
	}
	lo.SetUint16(unix.IFF_UP)
	socket := uintptr(p.add("open a socket", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))
	p.add("raise lo", unix.SYS_IOCTL, socket, unix.SIOCSIFFLAGS, pointer(p, lo))
	p.last().refs = 1
	p.add("close a socket", unix.SYS_CLOSE, socket)
	p.last().refs = 1

	for _, l := range b.Limits {
		which, ok := rlimits[l.Name]
		if !ok {
			return nil, fmt.Errorf("there is no limit %s", l.Name)
		}
		p.add("limit "+l.Name, unix.SYS_PRLIMIT64, 0, uintptr(which), pointer(p, &unix.Rlimit{Cur: l.Soft, Max: l.Hard}), 0)
	}
	p.add("hand on the pipe", unix.SYS_DUP3, uintptr(ready), job.ReadyFD, 0)
	if err := p.dropRights(); err != nil {
		return nil, err
	}
	p.add("unblock signals", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, pointer(p, new(uint64)), 0, 8)
	if err := p.addFilter(b.Filter); err != nil {
		return nil, err
	}
	p.add("execute "+job.InitPath, unix.SYS_EXECVE, p.text(job.InitPath), p.texts([]string{job.InitPath, job.MadeMode}), p.texts(b.Env))
	return p, nil
}

// dropRights leaves the kept capabilities, also after execve, which gives root none
// then that it has not been left as an ambient one; init takes those back from itself.
func (p *program) dropRights() error {
	p.add("renounce new rights", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	const noRoot = 1<<0 | 1<<1 // SECBIT_NOROOT, and that this stays
	p.add("be no root for execve", unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0)
	head := pointer(p, &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3})
	// What the bounding set lacks can't be made inheritable any more.
	all := ^uint32(0)
	last, err := lastCapability()
	if err != nil {
		return err
	}
	high := uint32(1)<<(last-31) - 1
	p.add("keep some capabilities", unix.SYS_CAPSET, head, pointer(p, &[2]unix.CapUserData{
		{Effective: all, Permitted: all, Inheritable: keptCapabilities}, {Effective: high, Permitted: high},
	}))
	for c := range uintptr(last + 1) {
		p.add("drop a capability", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	p.add("give up capabilities", unix.SYS_CAPSET, head, pointer(p, &[2]unix.CapUserData{
		{Effective: keptCapabilities, Permitted: keptCapabilities, Inheritable: keptCapabilities},
	}))
	for c := range uintptr(32) {
		if keptCapabilities&(1<<c) != 0 {
			p.add("keep a capability", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, c, 0, 0)
		}
	}
	return nil
}

// lastCapability is the highest that this kernel has.
func lastCapability() (int, error) {
	const most = 63
	for c := range most {
		if _, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0); err != nil {
			if c <= 32 {
				return 0, fmt.Errorf("capability %d: %w", c, err)
			}
			return c - 1, nil
		}
	}
	return most, nil
}

// addFilter puts a seccomp filter, an array of struct sock_filter, over the process.
func (p *program) addFilter(filter []byte) error {
	size := int(unsafe.Sizeof(unix.SockFilter{}))
	n := len(filter) / size
	if n == 0 || n*size != len(filter) || n > unix.BPF_MAXINSNS {
		return fmt.Errorf("a seccomp filter of %d bytes", len(filter))
	}
	instructions := make([]unix.SockFilter, n)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&instructions[0])), len(filter)), filter)
	pointer(p, &instructions[0])
	p.add("filter system calls", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, pointer(p, &unix.SockFprog{Len: uint16(n), Filter: &instructions[0]}))
	return nil
}

var rlimits = map[string]int{
	"RLIMIT_CORE": unix.RLIMIT_CORE, "RLIMIT_CPU": unix.RLIMIT_CPU, "RLIMIT_FSIZE": unix.RLIMIT_FSIZE,
	"RLIMIT_MEMLOCK": unix.RLIMIT_MEMLOCK, "RLIMIT_MSGQUEUE": unix.RLIMIT_MSGQUEUE, "RLIMIT_NICE": unix.RLIMIT_NICE,
	"RLIMIT_NOFILE": unix.RLIMIT_NOFILE, "RLIMIT_RTPRIO": unix.RLIMIT_RTPRIO, "RLIMIT_SIGPENDING": unix.RLIMIT_SIGPENDING,
}

// made is the place of an init that no container runtime has started, but the forker.
func made() place {
	p := sandboxed
	p.strip = func() error {
		// What execve was to leave, and no program that is started from here.
		if err := keepCapabilities(keptCapabilities); err != nil {
			return err
		}
		return strip()
	}
	p.ready = func() error {
		answer := os.NewFile(job.ReadyFD, "ready")
		_, err := answer.Write([]byte{'.'})
		return errors.Join(err, answer.Close())
	}
	return p
}
