package posture

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// processTechniques go for other processes and for privileges.
var processTechniques = []technique{
	{"setuid-root", "privilege", "EPERM|EINVAL", "", "become root", func() error { return call(unix.SYS_SETRESUID, 0, 0, 0) }},
	{"setgid-root", "privilege", "EPERM|EINVAL", "", "join root's group", func() error { return call(unix.SYS_SETRESGID, 0, 0, 0) }},
	{"setgroups", "privilege", "EPERM|EINVAL", "", "join more groups", func() error { var g uint32; return call(unix.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&g))) }},
	{"capset", "privilege", "EPERM", "", "gain capabilities", func() error {
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		data := [2]unix.CapUserData{{Effective: 1 << unix.CAP_SYS_ADMIN, Permitted: 1 << unix.CAP_SYS_ADMIN}}
		return unix.Capset(&hdr, &data[0])
	}},
	{"ambient-capability", "privilege", "EPERM|EINVAL", "", "keep a capability over exec", func() error {
		return call(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_SYS_ADMIN, 0, 0)
	}},
	{"clear-no-new-privs", "privilege", "EINVAL|EPERM", "", "take no_new_privs back", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) }},
	{"capabilities-held", "privilege", "none", "", "find capabilities that were left", capabilitiesHeld},
	{"securebits", "privilege", "EPERM", "", "change what an exec keeps", func() error { return unix.Prctl(unix.PR_SET_SECUREBITS, 0x1, 0, 0, 0) }},
	{"set-mm", "privilege", "EPERM|EINVAL", "", "change what /proc says of the own program", func() error { return call(unix.SYS_PRCTL, unix.PR_SET_MM, unix.PR_SET_MM_EXE_FILE, 0, 0, 0) }},
	{"ptrace-traceme", "process", "EPERM", "", "trace processes", func() error { return call(unix.SYS_PTRACE, unix.PTRACE_TRACEME) }},
	{"ptrace-init", "process", "EPERM", "", "trace process 1", func() error { return unix.PtraceAttach(1) }},
	{"process-vm-readv", "process", "EPERM", "", "read another process's memory", func() error { return call(unix.SYS_PROCESS_VM_READV, 1, 0, 0, 0, 0, 0) }},
	{"process-vm-writev", "process", "EPERM", "", "write another process's memory", func() error { return call(unix.SYS_PROCESS_VM_WRITEV, 1, 0, 0, 0, 0, 0) }},
	{"pidfd-getfd", "process", "EPERM", "", "take another process's descriptor", func() error { return newFD(unix.SYS_PIDFD_GETFD, ^uintptr(0), 0, 0) }},
	{"process-madvise", "process", "EPERM", "", "push another process's memory out", func() error { return call(unix.SYS_PROCESS_MADVISE, ^uintptr(0), 0, 0, 0, 0) }},
	{"kcmp", "process", "EPERM", "", "compare kernel objects of processes", func() error { return call(unix.SYS_KCMP, 1, 1, 0, 0, 0) }},
	{"kill-init", "process", "EPERM", "", "kill process 1", func() error { return unix.Kill(1, unix.SIGKILL) }},
	{"stop-init", "process", "EPERM", "", "ask process 1 to end", func() error { return unix.Kill(1, unix.SIGTERM) }},
	{"pidfd-signal-init", "process", "EPERM", "", "signal process 1 through a pidfd", pidfdSignal},
	{"queue-signal-init", "process", "EPERM", "", "queue a forged signal for process 1", func() error {
		var info [128]byte
		return call(unix.SYS_RT_SIGQUEUEINFO, 1, 10, uintptr(unsafe.Pointer(&info)))
	}},
	{"init-priority", "process", "EPERM|EACCES|ESRCH", "", "slow process 1 down", func() error { return unix.Setpriority(unix.PRIO_PROCESS, 1, 19) }},
	{"init-affinity", "process", "EPERM", "", "move process 1 to a processor", func() error {
		var set unix.CPUSet
		set.Set(0)
		return unix.SchedSetaffinity(1, &set)
	}},
	{"init-robust-list", "process", "EPERM", "", "learn addresses of process 1", func() error {
		return call(unix.SYS_GET_ROBUST_LIST, 1, scratch(), scratch())
	}},
	{"raise-cpu-time", "limit", "EPERM", "", "raise the limit of cpu time", func() error { return raise(unix.RLIMIT_CPU) }},
	{"raise-memlock", "limit", "EPERM", "", "raise the limit of locked memory", func() error { return raise(unix.RLIMIT_MEMLOCK) }},
	{"raise-sigpending", "limit", "EPERM", "", "raise the limit of queued signals and timers", func() error { return raise(unix.RLIMIT_SIGPENDING) }},
	{"raise-msgqueue", "limit", "EPERM", "", "raise the limit of message queues", func() error { return raise(unix.RLIMIT_MSGQUEUE) }},
	{"raise-nice", "limit", "EPERM", "", "raise the limit of priority", func() error { return raise(unix.RLIMIT_NICE) }},
	{"raise-rtprio", "limit", "EPERM", "", "raise the limit of real-time priority", func() error { return raise(unix.RLIMIT_RTPRIO) }},
	{"raise-nofile", "limit", "EPERM", "", "raise the limit of open files", func() error { return raise(unix.RLIMIT_NOFILE) }},
	{"raise-fsize", "limit", "EPERM", "", "raise the limit of a file's size", func() error { return raise(unix.RLIMIT_FSIZE) }},
	{"raise-core", "limit", "EPERM", "", "turn core dumps on", func() error { return raise(unix.RLIMIT_CORE) }},
	{"init-rlimit", "limit", "EPERM", "", "change a limit of process 1", func() error {
		return unix.Prlimit(1, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: 0}, nil)
	}},
	{"nice", "limit", "EACCES|EPERM", "", "go before others", func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -20) }},
	{"realtime", "limit", "EPERM", "", "run in real time", func() error {
		priority := int32(1)
		return call(unix.SYS_SCHED_SETSCHEDULER, 0, 1, uintptr(unsafe.Pointer(&priority)))
	}},
	{"deadline", "limit", "EPERM", "", "run with deadlines, before all others", func() error {
		return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_DEADLINE, Runtime: 1e7, Deadline: 3e7, Period: 3e7}, 0)
	}},
	{"ioprio-realtime", "limit", "EPERM", "", "go before others at the disk", func() error { return call(unix.SYS_IOPRIO_SET, 1, 0, 1<<13) }},
	{"tiocsti", "process", "ENOTTY|EPERM|EIO", "", "push input into a terminal", func() error {
		c := byte('\n')
		return call(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
	}},
	{"core-dump", "process", "none", "", "have core dumped", func() error {
		var r unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_CORE, &r); err != nil {
			return err
		}
		if r.Max != 0 {
			return nil
		}
		return none
	}},
}

func raise(resource int) error {
	var r unix.Rlimit
	if err := unix.Getrlimit(resource, &r); err != nil {
		return err
	}
	r.Max++
	return unix.Setrlimit(resource, &r)
}

func pidfdSignal() error {
	fd, err := unix.PidfdOpen(1, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}

func capabilitiesHeld() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return err
	}
	for c := uintptr(0); ; c++ {
		held, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			break
		}
		if held != 0 {
			return nil
		}
	}
	for _, d := range data {
		if d.Effective|d.Permitted|d.Inheritable != 0 {
			return nil
		}
	}
	if os.Getuid() == 0 || os.Getgid() == 0 || syscall.Geteuid() == 0 {
		return nil
	}
	return none
}
