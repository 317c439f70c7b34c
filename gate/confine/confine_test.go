package confine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// place is what a confined process is given to try.
type place struct {
	Dir, Address, Socket, Abstract, Link string
	// OtherMount is a folder on a mount below /dev.
	OtherMount string
	// NoLandlock makes the kernel look like one without it.
	NoLandlock bool
}

// TestMain lets the test binary be the process that is confined.
func TestMain(m *testing.M) {
	if arg := os.Getenv("CONFINE_PLACE"); arg != "" {
		var p place
		if err := json.Unmarshal([]byte(arg), &p); err != nil {
			panic(err)
		}
		p.try()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// try confines itself and prints what came of each attempt, "name: outcome".
func (p place) try() {
	if p.NoLandlock {
		if err := withoutLandlock(); err != nil {
			panic(err)
		}
	}
	in := func(elem ...string) string { return filepath.Join(append([]string{p.Dir}, elem...)...) }
	// Threads that are there before, and each wait in the kernel: they must be confined, too.
	const threads = 8
	ask, answers := make(chan bool), make(chan error)
	for range threads {
		ready := make(chan bool)
		go func() {
			runtime.LockOSThread()
			close(ready)
			<-ask
			_, err := os.ReadFile(in("secret"))
			answers <- err
		}()
		<-ready
	}
	open, err := os.Open(in("secret"))
	if err != nil {
		panic(err)
	}
	needs := Needs{Read: []string{in("read"), in("one"), p.Link, "/dev", in("missing"), "/dev/stdin"},
		Write: []string{in("write")}}
	if err := Apply(needs); err != nil {
		panic(err)
	}
	report := func(name string, err error) {
		words := "done"
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			words = unix.ErrnoName(errno)
		} else if err != nil {
			words = err.Error()
		}
		fmt.Printf("%s: %s\n", name, words)
	}
	read := func(name, path string) { _, err := os.ReadFile(path); report(name, err) }
	call := func(name string, nr uintptr, args ...uintptr) {
		var a [3]uintptr
		copy(a[:], args)
		_, _, errno := unix.Syscall(nr, a[0], a[1], a[2])
		var err error
		if errno != 0 {
			err = errno
		}
		report(name, err)
	}
	socket := func(name string, domain, kind, proto int) {
		fd, err := unix.Socket(domain, kind, proto)
		if err == nil {
			_ = unix.Close(fd)
		}
		report(name, err)
	}

	read("read what was named", in("one"))
	read("read below a folder that was named", in("read", "below", "file"))
	read("read what a named link leads to", p.Link)
	read("read below another mount", filepath.Join(p.OtherMount, "file"))
	read("read outside", in("secret"))
	read("read /etc/passwd", "/etc/passwd")
	read("read next to what was named", in("two"))
	read("read through a link below", in("read", "link"))
	read("read where only writing is allowed", in("write", "old"))
	_, err = os.ReadDir(p.Dir)
	report("list outside", err)
	_, err = os.Stat(in("secret"))
	report("stat outside", err)
	_, err = open.Read(make([]byte, 1))
	report("read what was open before", err)
	read("read by a descriptor of the process", fmt.Sprintf("/proc/self/fd/%d", open.Fd()))
	read("read another process", fmt.Sprintf("/proc/%d/environ", os.Getppid()))

	report("write where it is allowed", os.WriteFile(in("write", "new"), []byte("x"), 0o600))
	report("make a folder where it is allowed", os.Mkdir(in("write", "dir"), 0o700))
	report("rename where it is allowed", os.Rename(in("write", "new"), in("write", "renamed")))
	report("remove where it is allowed", os.Remove(in("write", "renamed")))
	report("write where reading is allowed", os.WriteFile(in("read", "new"), nil, 0o600))
	report("write what may be read", os.WriteFile(in("one"), nil, 0o600))
	report("write outside", os.WriteFile(in("new"), nil, 0o600))
	report("truncate outside", os.Truncate(in("secret"), 0))
	report("remove outside", os.Remove(in("two")))
	report("rename to the outside", os.Rename(in("write", "old"), in("read", "old")))
	report("link the outside in", os.Link(in("secret"), in("write", "hard")))
	report("make a link", os.Symlink("x", in("write", "soft")))
	report("make a pipe", unix.Mkfifo(in("write", "pipe"), 0o600))

	_, err = net.Dial("tcp", p.Address)
	report("connect by TCP", err)
	_, err = net.Dial("udp", p.Address)
	report("connect by UDP", err)
	_, err = net.Dial("unix", p.Socket)
	report("connect to a socket file", err)
	_, err = net.Dial("unix", p.Abstract)
	report("connect to an abstract socket", err)
	_, err = net.Listen("tcp", "127.0.0.1:0")
	report("listen", err)
	socket("netlink", unix.AF_NETLINK, unix.SOCK_RAW, 0)
	socket("raw", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
	socket("packet", unix.AF_PACKET, unix.SOCK_RAW, 0)
	socket("mptcp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
	call("io_uring", unix.SYS_IO_URING_SETUP, 1)

	report("start a program", unix.Exec("/bin/true", []string{"true"}, nil))
	call("ptrace", unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(os.Getppid()))
	report("signal another process", unix.Kill(os.Getppid(), 0))
	report("mount", unix.Mount("tmpfs", in("write"), "tmpfs", 0, ""))
	report("unshare", unix.Unshare(unix.CLONE_NEWUSER))
	letter := byte('x')
	// Garbage above the lower half of the request must not get by.
	call("type into a terminal", unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<32, uintptr(unsafe.Pointer(&letter)))
	call("paste into a console", unix.SYS_IOCTL, 0, unix.TIOCLINUX, uintptr(unsafe.Pointer(&letter)))

	close(ask)
	allowed := 0
	for range threads {
		if err := <-answers; err == nil {
			allowed++
		}
	}
	fmt.Printf("threads that may read outside: %d\n", allowed)
}

// withoutLandlock makes its system calls fail as those of a kernel that lacks it.
func withoutLandlock() error {
	prog, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: nrAt, Size: wordBytes},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_LANDLOCK_CREATE_RULESET, SkipFalse: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	if err != nil {
		return err
	}
	return load(prog, unix.SECCOMP_FILTER_FLAG_TSYNC)
}

// TestApply confines a process and wants each attempt to end as it must.
func TestApply(t *testing.T) {
	got := attempts(t, false)
	abi := ABI()
	t.Logf("the kernel has Landlock ABI %d", abi)
	since := func(abiNeeded int, denied string) string {
		if abi >= abiNeeded {
			return denied
		}
		return "done"
	}
	want := map[string]string{
		"read outside":                        since(1, "EACCES"),
		"read /etc/passwd":                    since(1, "EACCES"),
		"read next to what was named":         since(1, "EACCES"),
		"read through a link below":           since(1, "EACCES"),
		"read where only writing is allowed":  since(1, "EACCES"),
		"list outside":                        since(1, "EACCES"),
		"read by a descriptor of the process": since(1, "EACCES"),
		"read another process":                since(1, "EACCES"),
		"write where reading is allowed":      since(1, "EACCES"),
		"write what may be read":              since(1, "EACCES"),
		"write outside":                       since(1, "EACCES"),
		"truncate outside":                    since(3, "EACCES"),
		"remove outside":                      since(1, "EACCES"),
		"rename to the outside":               since(1, "EACCES"),
		"link the outside in":                 since(1, "EXDEV"),
		"make a link":                         since(1, "EACCES"),
		"make a pipe":                         since(1, "EACCES"),
		"signal another process":              since(6, "EPERM"),
		"threads that may read outside":       "8",
	}
	if abi >= 1 {
		want["threads that may read outside"] = "0"
	}
	for name, errno := range always {
		want[name] = errno
	}
	compare(t, got, want)
}

// TestApplyWithoutLandlock: what does not hang on it is denied by older kernels, too.
func TestApplyWithoutLandlock(t *testing.T) {
	want := map[string]string{"threads that may read outside": "8"}
	for name, errno := range always {
		want[name] = errno
	}
	compare(t, attempts(t, true), want)
}

// always is what the filter denies.
var always = map[string]string{
	"connect by TCP": "EPERM", "connect by UDP": "EPERM", "connect to a socket file": "EPERM",
	"connect to an abstract socket": "EPERM",
	"listen":                        "EPERM", "netlink": "EPERM", "raw": "EPERM", "packet": "EPERM", "mptcp": "EPERM",
	"io_uring":        "EPERM",
	"start a program": "EPERM", "ptrace": "EPERM", "mount": "EPERM", "unshare": "EPERM",
	"type into a terminal": "EPERM", "paste into a console": "EPERM",
}

// compare wants the outcomes of want, and "done" of all other attempts.
func compare(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s was not tried", name)
		}
	}
	for name, outcome := range got {
		expected, ok := want[name]
		if !ok {
			expected = "done"
		}
		if outcome != expected {
			t.Errorf("%s: %s, want %s", name, outcome, expected)
		}
	}
}

// attempts runs a confined process and returns what came of what.
func attempts(t *testing.T, noLandlock bool) map[string]string {
	dir := t.TempDir()
	for _, d := range []string{"read/below", "write"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"secret", "one", "two", "linked", "read/below/file", "write/old"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"link": "linked", "read/link": "../secret"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	p := place{Dir: dir, Link: filepath.Join(dir, "link"), Socket: filepath.Join(dir, "socket"), Abstract: "@" + dir,
		NoLandlock: noLandlock}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	p.Address = tcp.Addr().String()
	for _, name := range []string{p.Socket, p.Abstract} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	// /dev is one mount and /dev/shm another: what is allowed above holds below, too.
	shm, err := os.MkdirTemp("/dev/shm", "confine-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(shm)
	if err := os.WriteFile(filepath.Join(shm, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.OtherMount = shm
	arg, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CONFINE_PLACE="+string(arg))
	cmd.Stdin = bytes.NewReader(nil) // a pipe, behind /dev/stdin
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, outcome, _ := strings.Cut(strings.TrimSpace(line), ": ")
		got[name] = outcome
	}
	return got
}
