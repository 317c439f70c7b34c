package posture

import (
	_ "embed"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

//go:embed attempts.txt
var attemptsText string

// technique is one thing that must not be possible.
type technique struct {
	group, name string
	// want lists the outcomes that are meant, with |. Networked is the same for
	// a sandbox with an egress proxy, if that differs.
	want, networked string
	// attempt is a verb and its arguments, see verbs.
	attempt []string
	// what says it for people.
	what string
}

const columns = 5

// techniques reads the table. It is read when it is used: threegate-payload has other work, too.
var techniques = sync.OnceValue(func() []technique {
	var all []technique
	for line := range strings.Lines(attemptsText) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != columns {
			continue // a comment or an empty line; a test counts
		}
		want, networked, _ := strings.Cut(f[2], "/")
		all = append(all, technique{f[0], f[1], want, networked, strings.Fields(f[3]), f[4]})
	}
	return all
})

// try makes the attempt. No error means that it was possible.
func (t technique) try() error {
	if t.attempt[0] == "find" {
		return searches[t.name]()
	}
	return verbs[t.attempt[0]](t.attempt[1:])
}

// verbs are what an attempt can be, or "find", which is one of searches.
var verbs = map[string]func(args []string) error{
	"write":     func(a []string) error { return openFile(a[0], os.O_WRONLY) }, // opened, and not written to
	"open":      func(a []string) error { return openFile(a[0], os.O_RDWR) },
	"read":      func(a []string) error { return readFrom(a[0]) },
	"create":    func(a []string) error { return openFile(a[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL) },
	"put":       func(a []string) error { return writeTo(a[0], strings.Join(a[1:], " ")+"\n") },
	"table":     func(a []string) error { return longer(a[0]) },
	"call":      func(a []string) error { _, err := systemCall(a); return err },
	"fd":        newDescriptor,
	"thread":    func(a []string) error { return onThread(func() error { _, err := systemCall(a); return err }) },
	"child":     func(a []string) error { return inChild(0, number(a[0])) },
	"clone":     func(a []string) error { return inChild(number(a[0]), unix.SYS_GETPID) },
	"setns":     func(a []string) error { return enter(a[0]) },
	"limit":     func(a []string) error { return raise(int(number(a[0]))) },
	"dial":      func(a []string) error { return dial(a[0], a[1]) },
	"resolve":   func(a []string) error { return resolve(a[0]) },
	"exec":      func(a []string) error { return execWritten(a[0], os.FileMode(number(a[1]))) },
	"flags":     func(a []string) error { return setFlags(int(number(a[0]))) },
	"attribute": func(a []string) error { return setAttribute(a[0], a[1]) },
}

func number(s string) uintptr {
	n, _ := strconv.ParseInt(s, 0, 64) // a test reads them all
	return uintptr(n)
}

// systemCall makes a call by its name. Arguments are numbers, "text" as C has it, or
// & for 4 KiB that begin with the bytes that follow, in hexadecimal.
func systemCall(words []string) (uintptr, error) {
	nr, ok := callNumbers[words[0]]
	if !ok {
		return 0, unix.ENOSYS // as the kernel of this architecture would say
	}
	var args [6]uintptr
	var kept [6][]byte
	for i, w := range words[1:] {
		switch {
		case w[0] == '"':
			kept[i] = append([]byte(strings.Trim(w, `"`)), 0)
		case w[0] == '&':
			const page = 4096
			kept[i] = make([]byte, page)
			_, _ = hex.Decode(kept[i], []byte(w[1:]))
		default:
			args[i] = number(w)
			continue
		}
		args[i] = uintptr(unsafe.Pointer(&kept[i][0]))
	}
	r, _, e := unix.Syscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5])
	runtime.KeepAlive(kept)
	if e != 0 {
		return 0, e
	}
	return r, nil
}

// newDescriptor is systemCall for calls that give a descriptor.
func newDescriptor(words []string) error {
	fd, err := systemCall(words)
	if err != nil {
		return err
	}
	return unix.Close(int(fd))
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

// inChild starts a child with clone's flags, which makes one system call and ends.
func inChild(flags, nr uintptr) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 {
		return e
	}
	if pid == 0 {
		_, _, e := unix.RawSyscall(nr, 0, 0, 0)
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(e), 0, 0)
		}
	}
	var ws syscall.WaitStatus
	_, err := syscall.Wait4(int(pid), &ws, 0, nil)
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

func enter(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return onThread(func() error { return unix.Setns(int(f.Fd()), 0) })
}

func raise(resource int) error {
	var r unix.Rlimit
	if err := unix.Getrlimit(resource, &r); err != nil {
		return err
	}
	r.Max++
	return unix.Setrlimit(resource, &r)
}

// openFile opens a file and does nothing with it. What leads to the sandbox's /dev/null
// leads nowhere: runtimes mask files with it.
func openFile(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if isNull(f) {
		return found("null")
	}
	if flags&os.O_CREATE != 0 {
		_ = os.Remove(path)
	}
	return nil
}

// isNull says whether a file is the device that every process may open by its name.
func isNull(f *os.File) bool {
	var file, null unix.Stat_t
	return unix.Fstat(int(f.Fd()), &file) == nil && unix.Stat(os.DevNull, &null) == nil &&
		file.Mode&unix.S_IFMT == unix.S_IFCHR && file.Rdev == null.Rdev
}

// readFrom fails with "empty" if nothing is in the file.
func readFrom(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if n, err := f.Read(make([]byte, 1)); n == 0 {
		if errors.Is(err, io.EOF) {
			return found("empty")
		}
		return err
	}
	return nil
}

func writeTo(path, s string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(s)
	return err
}

// longer finds more in a table of the kernel's than its heading.
func longer(path string) error {
	text, err := readAll(path)
	if errors.Is(err, os.ErrNotExist) {
		return none
	}
	return reported(strings.Count(text, "\n") > 1, err)
}

// dialTime is short: where there is no route the kernel says so at once.
const dialTime = 2 * time.Second

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, dialTime)
	if err == nil {
		return c.Close()
	}
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
		return found("timeout")
	}
	return err
}

func resolve(host string) error {
	_, err := net.LookupHost(host)
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return found("unresolved")
	}
	return err
}

const noFile = found("no file to try with")

// withFile makes a file and has it tried with.
func withFile(path string, content []byte, mode os.FileMode, try func(*os.File) error) error {
	if err := os.WriteFile(path, content, mode); err != nil {
		return noFile
	}
	defer os.Remove(path)
	if err := os.Chmod(path, mode); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return try(f)
}

// execWritten makes a program in dir and executes it there.
func execWritten(dir string, mode os.FileMode) error {
	return withProgram(dir, mode, func(f *os.File) error { return run(f.Name()) })
}

// withProgram makes a program, a script of this one's, which takes no room.
func withProgram(dir string, mode os.FileMode, try func(*os.File) error) error {
	const bits = 0o7000
	script := []byte("#!/gate-payload posture\n")
	return withFile(filepath.Join(dir, "threegate-posture-exec"), script, mode&^bits, func(f *os.File) error {
		if err := unix.Chmod(f.Name(), uint32(mode)); err != nil {
			return err
		}
		return try(f)
	})
}

func run(path string) error {
	pid, err := syscall.ForkExec(path, []string{path}, &syscall.ProcAttr{})
	if err == nil {
		_, err = syscall.Wait4(pid, nil, 0, nil)
	}
	return err
}

const flagsFile = "/out/threegate-posture-flags"

// setFlags sets the flags that chattr sets, and takes them away again.
func setFlags(flags int) error {
	return withFile(flagsFile, nil, 0o600, func(f *os.File) error {
		if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags); err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0)
	})
}

func setAttribute(name, value string) error {
	data, err := hex.DecodeString(value)
	if err != nil {
		return err
	}
	return withFile(flagsFile, nil, 0o600, func(f *os.File) error { return unix.Setxattr(f.Name(), name, data, 0) })
}

const maxReadBytes = 1 << 20

func readAll(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxReadBytes))
	return string(data), err
}
