package posture

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelTechniques ask the kernel for what only a host may have.
var kernelTechniques = []technique{
	{"mount-tmpfs", "mount", "EPERM", "", "mount a file system", func() error { return unix.Mount("tmpfs", "/tmp", "tmpfs", 0, "") }},
	{"mount-bind", "mount", "EPERM", "", "bind-mount the root over /tmp", func() error { return unix.Mount("/", "/tmp", "", unix.MS_BIND, "") }},
	{"mount-proc", "mount", "EPERM", "", "mount another /proc, without masks", func() error { return unix.Mount("proc", "/tmp", "proc", 0, "") }},
	{"mount-cgroup", "mount", "EPERM", "", "mount a cgroup hierarchy, for its release_agent", func() error { return unix.Mount("cgroup", "/tmp", "cgroup", 0, "memory") }},
	{"remount-root-rw", "mount", "EPERM", "", "make the root writable", func() error { return unix.Mount("", "/", "", unix.MS_REMOUNT, "") }},
	{"remount-tmp-exec", "mount", "EPERM", "", "take noexec away from /tmp", func() error { return unix.Mount("", "/tmp", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
	{"umount-mask", "mount", "EPERM", "", "unmount what masks /proc/kcore", func() error { return unix.Unmount("/proc/kcore", unix.MNT_DETACH) }},
	{"umount-readonly-sys", "mount", "EPERM", "", "unmount what makes /proc/sys read-only", func() error { return unix.Unmount("/proc/sys", unix.MNT_DETACH) }},
	{"pivot-root", "mount", "EPERM", "", "change the root by pivot_root", func() error { return unix.PivotRoot("/", "/") }},
	{"chroot", "mount", "EPERM", "", "change the root by chroot", func() error { return unix.Chroot("/") }},
	{"fsopen", "mount", "EPERM", "", "open a new file system (new mount interface)", func() error { return newFD(unix.SYS_FSOPEN, text("tmpfs"), 0) }},
	{"fspick", "mount", "EPERM", "", "open a mounted file system to change it", func() error { return newFD(unix.SYS_FSPICK, fdCWD, text("/tmp"), 0) }},
	{"open-tree", "mount", "EPERM", "", "clone a mount", func() error { return newFD(unix.SYS_OPEN_TREE, fdCWD, text("/"), unix.OPEN_TREE_CLONE) }},
	{"move-mount", "mount", "EPERM", "", "move a mount", func() error { return call(unix.SYS_MOVE_MOUNT, fdCWD, text("/tmp"), fdCWD, text("/tmp"), 0) }},
	{"mount-setattr", "mount", "EPERM", "", "change a mount's attributes", func() error {
		attr := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
		return call(unix.SYS_MOUNT_SETATTR, fdCWD, text("/"), 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	}},
	{"list-mounts", "mount", "EPERM|ENOSYS", "", "list mounts and their sources by listmount", func() error { return call(sysListmount, 0, 0, 0, 0) }},

	{"unshare-user", "namespace", "EPERM", "", "make a user namespace", func() error { return onThread(func() error { return unix.Unshare(unix.CLONE_NEWUSER) }) }},
	{"unshare-mount", "namespace", "EPERM", "", "make a mount namespace", func() error { return onThread(func() error { return unix.Unshare(unix.CLONE_NEWNS) }) }},
	{"unshare-net", "namespace", "EPERM", "", "make a network namespace", func() error { return onThread(func() error { return unix.Unshare(unix.CLONE_NEWNET) }) }},
	{"unshare-pid", "namespace", "EPERM", "", "make a pid namespace", func() error { return onThread(func() error { return unix.Unshare(unix.CLONE_NEWPID) }) }},
	{"unshare-cgroup", "namespace", "EPERM", "", "make a cgroup namespace", func() error { return onThread(func() error { return unix.Unshare(unix.CLONE_NEWCGROUP) }) }},
	{"unshare-ipc", "namespace", "EPERM", "", "make an ipc namespace", func() error { return onThread(func() error { return unix.Unshare(unix.CLONE_NEWIPC) }) }},
	{"unshare-uts", "namespace", "EPERM", "", "make a uts namespace", func() error { return onThread(func() error { return unix.Unshare(unix.CLONE_NEWUTS) }) }},
	{"unshare-time", "namespace", "EPERM", "", "make a time namespace", func() error { return onThread(func() error { return unix.Unshare(unix.CLONE_NEWTIME) }) }},
	{"setns-pidfd", "namespace", "EPERM", "", "enter the namespaces of process 1 through a pidfd", setnsPidfd},
	{"clone-newuser", "namespace", "EPERM", "", "start a child in a user namespace", func() error { return clone(unix.CLONE_NEWUSER) }},
	{"clone-newnet", "namespace", "EPERM", "", "start a child in a network namespace", func() error { return clone(unix.CLONE_NEWNET) }},
	{"clone3", "namespace", "ENOSYS", "", "clone3, whose flags a filter can't read", func() error { return call(unix.SYS_CLONE3, 0, 0) }},
	{"setns-own", "namespace", "EPERM", "", "enter a namespace through a descriptor", func() error { return setns("/proc/self/ns/net") }},
	{"setns-init", "namespace", "ENOENT", "", "enter the namespaces of process 1 (nsenter)", func() error { return setns("/proc/1/ns/mnt") }},
	{hostIDs, "namespace", "none", "", "be in the user namespace of the host, where root is its root", inHostIDs},
	{"write-uid-map", "namespace", "EPERM|EACCES", "", "map ids", func() error { return writeTo("/proc/self/uid_map", "0 0 1\n") }},

	{"bpf", "kernel", "EPERM", "", "load a BPF program", func() error { return newFD(unix.SYS_BPF, 0, 0, 0) }},
	{"perf-event-open", "kernel", "EPERM", "", "measure the kernel by perf", func() error { return newFD(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0) }},
	{"io-uring", "kernel", "ENOSYS", "", "io_uring, which filters don't see", func() error { return newFD(unix.SYS_IO_URING_SETUP, 1, scratch()) }},
	{"userfaultfd", "kernel", "ENOSYS", "", "stop the kernel in a page fault", func() error { return newFD(unix.SYS_USERFAULTFD, 0) }},
	{"userfaultfd-user", "kernel", "ENOSYS", "", "the same for user faults only", func() error { return newFD(unix.SYS_USERFAULTFD, 1) }},
	{"init-module", "kernel", "EPERM", "", "load a kernel module from memory", func() error { return unix.InitModule(nil, "") }},
	{"finit-module", "kernel", "EPERM", "", "load a kernel module from a file", func() error { return unix.FinitModule(0, "", 0) }},
	{"delete-module", "kernel", "EPERM", "", "unload a kernel module", func() error { return unix.DeleteModule("none_such", 0) }},
	{"kexec-load", "kernel", "EPERM", "", "load another kernel", func() error { return call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0) }},
	{"kexec-file-load", "kernel", "EPERM", "", "load another kernel from a file", func() error { return call(unix.SYS_KEXEC_FILE_LOAD, ^uintptr(0), ^uintptr(0), 0, 0, 0) }},
	{"reboot", "kernel", "EPERM", "", "reboot", func() error { return call(unix.SYS_REBOOT, 0, 0, 0, 0) }},
	{"swapon", "kernel", "EPERM", "", "turn swap on", func() error { return call(unix.SYS_SWAPON, text("/tmp/none"), 0) }},
	{"swapoff", "kernel", "EPERM", "", "turn swap off", func() error { return call(unix.SYS_SWAPOFF, text("/tmp/none")) }},
	{"acct", "kernel", "EPERM", "", "turn process accounting on", func() error { return call(unix.SYS_ACCT, 0) }},
	{"quotactl", "kernel", "EPERM", "", "change quotas", func() error { return call(unix.SYS_QUOTACTL, 0, 0, 0, 0) }},
	{"syslog", "kernel", "EPERM", "", "read the kernel's log", func() error { return call(unix.SYS_SYSLOG, 3, scratch(), 64) }},
	{"iopl", "kernel", "EPERM", "", "reach I/O ports (iopl)", func() error { return call(sysIopl, 3) }},
	{"ioperm", "kernel", "EPERM", "", "reach I/O ports (ioperm)", func() error { return call(sysIoperm, 0x80, 1, 1) }},
	{"modify-ldt", "kernel", "EPERM", "", "change segment descriptors", func() error { return call(sysModifyLdt, 0, scratch(), 16) }},
	{"personality", "kernel", "EPERM", "", "turn address randomisation off", func() error { return call(unix.SYS_PERSONALITY, 0x0040000) }},
	{"clock-settime", "kernel", "EPERM", "", "set the clock", func() error {
		now := unix.NsecToTimespec(time.Now().UnixNano())
		return unix.ClockSettime(unix.CLOCK_REALTIME, &now)
	}},
	{"adjtimex", "kernel", "EPERM", "", "bend the clock", func() error { _, err := unix.Adjtimex(&unix.Timex{Modes: unix.ADJ_STATUS}); return err }},
	{"sethostname", "kernel", "EPERM", "", "change the host name", func() error { return unix.Sethostname([]byte("sandbox")) }},
	{"settimeofday", "kernel", "EPERM", "", "set the clock (settimeofday)", func() error { return call(unix.SYS_SETTIMEOFDAY, 0, 0) }},
	{"setdomainname", "kernel", "EPERM", "", "change the domain name", func() error { return unix.Setdomainname([]byte("(none)")) }},
	{"vhangup", "kernel", "EPERM", "", "hang up the terminal", func() error { return call(unix.SYS_VHANGUP) }},
	{"quotactl-fd", "kernel", "EPERM", "", "change quotas by a descriptor", func() error { return call(unix.SYS_QUOTACTL_FD, ^uintptr(0), 0, 0, 0) }},
	{"lookup-dcookie", "kernel", "EPERM|ENOSYS", "", "learn paths from the profiler's cookies", func() error { return call(sysLookupDcookie, 0, scratch(), 4096) }},
	{"move-pages", "kernel", "EPERM", "", "move pages between nodes of memory", func() error { return call(unix.SYS_MOVE_PAGES, 0, 0, 0, 0, 0, 0) }},
	{"migrate-pages", "kernel", "EPERM", "", "move a process between nodes of memory", func() error { return call(unix.SYS_MIGRATE_PAGES, 1, 0, 0, 0) }},
	{"set-mempolicy", "kernel", "EPERM", "", "choose nodes of memory", func() error { return call(unix.SYS_SET_MEMPOLICY, 0, 0, 0) }},
	{"vmsplice", "kernel", "EPERM", "", "give own pages to the kernel (vmsplice)", func() error { return call(unix.SYS_VMSPLICE, ^uintptr(0), 0, 0, 0) }},
	{"aio", "kernel", "EPERM", "", "asynchronous I/O of the old kind", func() error { return call(unix.SYS_IO_SETUP, 1, scratch()) }},
	{"remap-file-pages", "kernel", "EPERM", "", "rearrange mappings (remap_file_pages)", func() error { return call(unix.SYS_REMAP_FILE_PAGES, 0, 0, 0, 0, 0) }},
	{"fanotify", "kernel", "EPERM", "", "watch a whole file system", func() error { return newFD(unix.SYS_FANOTIFY_INIT, 0, 0) }},
	{"sysv-shm", "ipc", "ENOSYS", "", "make shared memory outside of /tmp's limit (System V)", func() error { return call(unix.SYS_SHMGET, 0, 4096, 0o1600) }},
	{"sysv-sem", "ipc", "ENOSYS", "", "make semaphores outside of any limit (System V)", func() error { return call(unix.SYS_SEMGET, 0, 1, 0o1600) }},
	{"sysv-msg", "ipc", "ENOSYS", "", "make a message queue outside of any limit (System V)", func() error { return call(unix.SYS_MSGGET, 0, 0o1600) }},
	{"posix-mq", "ipc", "ENOSYS", "", "make a message queue outside of any limit (POSIX)", func() error {
		return newFD(unix.SYS_MQ_OPEN, text("threegate-posture"), unix.O_CREAT|unix.O_RDWR, 0o600, 0)
	}},
	{"inotify", "kernel", "ENOSYS", "", "watch what other runs read in the same image", func() error { return newFD(unix.SYS_INOTIFY_INIT1, 0) }},
	{"add-key", "keyring", "EPERM", "", "put a key into a keyring", func() error {
		_, err := unix.AddKey("user", "threegate", []byte("x"), unix.KEY_SPEC_SESSION_KEYRING)
		return err
	}},
	{"keyctl", "keyring", "EPERM", "", "look at the session keyring", func() error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		return err
	}},
	{"request-key", "keyring", "EPERM", "", "make the host run its key helper", func() error {
		_, err := unix.RequestKey("user", "threegate", "", unix.KEY_SPEC_SESSION_KEYRING)
		return err
	}},
	{"seccomp-listener", "kernel", "EPERM", "", "answer system calls instead of the kernel", seccompListener},
	{"x32-abi", "kernel", "killed|EPERM|ENOSYS", "", "call the kernel by the numbers of another ABI (x32)", func() error { return inChild(0x40000000 + unix.SYS_GETPID) }},
}

const fdCWD = ^uintptr(99) // AT_FDCWD

// text is a C string for a system call. It is kept for the life of the process.
func text(s string) uintptr {
	b := append([]byte(s), 0)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

var kept [][]byte

// scratch is room that the kernel may write to.
func scratch() uintptr {
	b := make([]byte, 4096)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// onThread calls f on a thread that ends with it.
func onThread(f func() error) error {
	c := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: what f has changed goes with the thread
		c <- f()
	}()
	return <-c
}

// seccompListener installs a filter that allows everything, on a thread that ends.
func seccompListener() error {
	return onThread(func() error {
		const setModeFilter, newListener = 1, 8
		allow := unix.SockFilter{Code: 0x06, K: 0x7fff0000}
		prog := unix.SockFprog{Len: 1, Filter: &allow}
		return newFD(unix.SYS_SECCOMP, setModeFilter, newListener, uintptr(unsafe.Pointer(&prog)))
	})
}

// clone starts a child with flags that ends at once.
func clone(flags uintptr) error {
	_, err := fork(flags, unix.SYS_GETPID)
	return err
}

// inChild makes a system call that may be the end of who makes it.
func inChild(nr uintptr) error {
	ws, err := fork(0, nr)
	switch {
	case err != nil:
		return err
	case ws.Signaled():
		return found("killed")
	case ws.ExitStatus() != 0:
		return syscall.Errno(ws.ExitStatus())
	}
	return nil
}

// fork starts a child that makes one system call and exits with its errno.
func fork(flags, nr uintptr) (syscall.WaitStatus, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ws syscall.WaitStatus
	pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 {
		return ws, e
	}
	if pid == 0 {
		_, _, e := unix.RawSyscall(nr, 0, 0, 0)
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(e), 0, 0)
		}
	}
	_, err := syscall.Wait4(int(pid), &ws, 0, nil)
	return ws, err
}

func setns(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return onThread(func() error { return unix.Setns(int(f.Fd()), 0) })
}

const hostIDs = "host-user-namespace"

// inHostIDs: in the host's own user namespace every id is mapped to itself.
func inHostIDs() error {
	text, err := readAll("/proc/self/uid_map")
	if err != nil {
		return err
	}
	if f := strings.Fields(text); len(f) == 3 && f[0] == "0" && f[1] == "0" {
		return nil
	}
	return none
}

func setnsPidfd() error {
	fd, err := unix.PidfdOpen(1, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return onThread(func() error { return unix.Setns(fd, unix.CLONE_NEWNS|unix.CLONE_NEWPID) })
}

func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
