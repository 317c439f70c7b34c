package hostile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// probe tries what must not be possible and prints "name: what came of it".
func probe([]string) {
	try := func(name string, err error) {
		if err == nil {
			fmt.Printf("%s: POSSIBLE\n", name)
			return
		}
		var errno syscall.Errno
		if errors.As(err, &errno) {
			fmt.Printf("%s: %s\n", name, unix.ErrnoName(errno))
			return
		}
		fmt.Printf("%s: %v\n", name, err)
	}
	call := func(nr uintptr, a ...uintptr) error {
		a = append(a, 0, 0, 0, 0, 0, 0)
		if _, _, e := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); e != 0 {
			return e
		}
		return nil
	}
	socket := func(family, kind, proto int) error {
		fd, err := unix.Socket(family, kind, proto)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	write := func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		var st unix.Stat_t
		if unix.Fstat(int(f.Fd()), &st) == nil && st.Rdev == unix.Mkdev(1, 3) && path != os.DevNull {
			return errors.New("masked") // what the runtime hides is /dev/null then
		}
		return nil
	}
	read := func(path string) error {
		data, err := os.ReadFile(path)
		if err == nil && len(data) == 0 {
			return errors.New("empty")
		}
		return err
	}

	try("mount", unix.Mount("tmpfs", "/tmp", "tmpfs", 0, ""))
	try("unshare-user", unix.Unshare(unix.CLONE_NEWUSER))
	try("clone-user", call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD)))
	try("clone3", call(unix.SYS_CLONE3))
	try("ptrace", call(unix.SYS_PTRACE, unix.PTRACE_TRACEME))
	try("bpf", call(unix.SYS_BPF))
	try("keyctl", call(unix.SYS_KEYCTL))
	try("add_key", call(unix.SYS_ADD_KEY))
	try("io_uring", call(unix.SYS_IO_URING_SETUP, 1))
	try("perf", call(unix.SYS_PERF_EVENT_OPEN))
	try("userfaultfd", call(unix.SYS_USERFAULTFD))
	name := []byte("x\x00")
	try("memfd", call(unix.SYS_MEMFD_CREATE, uintptr(unsafe.Pointer(&name[0]))))
	try("chroot", unix.Chroot("/tmp"))
	try("setuid", unix.Setresuid(0, 0, 0))
	try("socket-inet", socket(unix.AF_INET, unix.SOCK_STREAM, 0))
	try("socket-inet6", socket(unix.AF_INET6, unix.SOCK_DGRAM, 0))
	try("socket-raw", socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP))
	try("socket-packet", socket(unix.AF_PACKET, unix.SOCK_RAW, 0))
	try("socket-netlink", socket(unix.AF_NETLINK, unix.SOCK_RAW, 0))
	try("socket-vsock", socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0))
	try("socket-alg", socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0))
	try("mknod", unix.Mknod("/tmp/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	try("write-root", write("/x"))
	try("write-usr", write("/usr/x"))
	try("write-in", write("/in/x"))
	try("write-dev", write("/dev/x"))
	try("write-gate", write("/gate/x"))
	try("read-gate", read("/gate/job.json"))
	try("write-sysctl", write("/proc/sys/kernel/core_pattern"))
	try("sysrq", write("/proc/sysrq-trigger"))
	try("write-masked", write("/proc/cmdline"))
	try("kcore", read("/proc/kcore"))
	try("init-mem", read("/proc/1/mem"))
	try("init-environ", read("/proc/1/environ"))
	_, err := os.ReadDir("/proc/1/fd")
	try("init-fd", err)
	_, err = os.ReadDir("/proc/1/root/")
	try("init-root", err)
	try("kill-init", unix.Kill(1, unix.SIGKILL))
	try("sys", read("/sys/kernel/uevent_seqnum"))
	try("exec-tmp", execIn("/tmp"))
	try("exec-out", execIn("/out"))
	try("exec-shm", execIn("/dev/shm"))
	// These must go on working.
	must("socket-unix", socket(unix.AF_UNIX, unix.SOCK_STREAM, 0))
	must("fifo", unix.Mkfifo("/tmp/fifo", 0o644))
	must("write-tmp", write("/tmp/x"))
	must("write-shm", write("/dev/shm/x"))
	must("write-null", write("/dev/null"))
	must("write-out", write("/out/x"))
}

func must(name string, err error) {
	if err != nil {
		fmt.Printf("%s: MISSING %v\n", name, err)
	}
}

// execIn copies this program to dir and tries to execute it there.
func execIn(dir string) error {
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	path := dir + "/copy"
	if err := os.WriteFile(path, data, 0o755); err != nil {
		return err
	}
	defer os.Remove(path)
	_, err = syscall.ForkExec(path, []string{path, "true"}, &syscall.ProcAttr{})
	return err
}
