package direct

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/moby/sys/mountinfo"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
)

// Check looks at a finished sandbox from outside, and believes the kernel only: that
// of the configuration, of which Make took its orders, nothing is missing. It does not
// know how Make works. All faults are reported, joined.
func Check(p sandbox.Policy, spec *specs.Spec, s *Sandbox) error {
	c, err := look(s.Pid)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("it has ended: %w", err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnsound, err)
	}
	defer c.close()
	c.threads(p)
	c.namespaces()
	c.program(p)
	c.identity(spec)
	mounts := c.mounts(p, spec)
	c.group(p)
	c.limits(spec)
	c.descriptors(mounts)
	c.network()
	// Were it gone, another process could have been looked at.
	select {
	case <-s.Ended():
		c.must(false, "it has ended")
	default:
	}
	return errors.Join(c.errs...)
}

// checker looks at one process, through descriptors: the way to each file is short.
type checker struct {
	pid  int
	proc int // its folder in /proc
	root int // its root
	buf  []byte
	errs []error
}

// look opens a process that is to be looked at.
func look(pid int) (*checker, error) {
	c := &checker{pid: pid, root: -1, buf: make([]byte, 16<<10)}
	var err error
	if c.proc, err = unix.Open(procFile(pid, ""), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return nil, &fs.PathError{Op: "open", Path: procFile(pid, ""), Err: err}
	}
	if c.root, err = unix.Openat(c.proc, "root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		c.close()
		return nil, &fs.PathError{Op: "open", Path: procFile(pid, "root"), Err: err}
	}
	return c, nil
}

func (c *checker) close() {
	for _, fd := range []int{c.proc, c.root} {
		if fd >= 0 {
			_ = unix.Close(fd) // nothing was written
		}
	}
}

func (c *checker) must(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf("%w: %s", ErrUnsound, fmt.Sprintf(format, args...)))
	}
}

func procFile(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// text gives the text of a file of the process.
func (c *checker) text(name string) (string, error) {
	fd, err := unix.Openat(c.proc, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", &fs.PathError{Op: "open", Path: procFile(c.pid, name), Err: err}
	}
	defer unix.Close(fd)
	for n := 0; ; {
		if n == len(c.buf) {
			c.buf = append(c.buf, make([]byte, n)...)
		}
		got, err := unix.Read(fd, c.buf[n:])
		if err != nil {
			return "", &fs.PathError{Op: "read", Path: procFile(c.pid, name), Err: err}
		}
		if got == 0 {
			return strings.TrimSpace(string(c.buf[:n])), nil
		}
		n += got
	}
}

// read is text, or "" and a fault.
func (c *checker) read(name string) string {
	text, err := c.text(name)
	c.must(err == nil, "%v", err)
	return text
}

// link reads a symbolic link of the process.
func (c *checker) link(name string) (string, error) {
	n, err := unix.Readlinkat(c.proc, name, c.buf)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: procFile(c.pid, name), Err: err}
	}
	return string(c.buf[:n]), nil
}

// names lists a folder of the process.
func (c *checker) names(name string) ([]string, error) {
	fd, err := unix.Openat(c.proc, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: procFile(c.pid, name), Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return f.Readdirnames(-1)
}

// inside is a path below the root of the process.
func inside(path string) string {
	if path = strings.TrimPrefix(path, "/"); path != "" {
		return path
	}
	return "."
}

// keyed reads lines of "key: value".
func keyed(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		out[key] = strings.Join(strings.Fields(value), " ")
	}
	return out
}

// rights are the capabilities of process 1, as the kernel prints them: kill, setgid,
// setuid and setpcap.
const rights = "00000000000001e0"

// kinds of namespaces.
var kinds = []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"}

// threads wants every thread of process 1 to have the same identity, and to have
// given up the same rights.
func (c *checker) threads(p sandbox.Policy) {
	all, err := c.names("task")
	c.must(err == nil && len(all) > 0 && len(all) <= job.InitPids, "process 1 has %d threads, %v", len(all), err)
	id := strconv.Itoa(p.FirstID)
	id = strings.Join([]string{id, id, id, id}, " ")
	const none = "0000000000000000"
	first := map[string]string{}
	for _, ns := range kinds {
		first[ns], _ = c.link("ns/" + ns)
	}
	filters := c.filters()
	for _, t := range all {
		at := "task/" + t + "/"
		st := keyed(c.read(at + "status"))
		for key, want := range map[string]string{
			"Uid": id, "Gid": id, "Groups": "", "NoNewPrivs": "1", "Seccomp": "2", "Seccomp_filters": filters, "TracerPid": "0",
			"CapInh": none, "CapAmb": none, "CapBnd": none,
		} {
			c.must(st[key] == want, "%s of a thread is %q, not %q", key, st[key], want)
		}
		c.must(st["CapPrm"] == rights && st["CapEff"] == rights, "capabilities of a thread are %s %s", st["CapPrm"], st["CapEff"])
		if t == strconv.Itoa(c.pid) {
			continue // the first
		}
		for _, ns := range kinds {
			its, err := c.link(at + "ns/" + ns)
			c.must(err == nil && its == first[ns], "a thread has another %s namespace", ns)
		}
	}
	ns := strings.Fields(keyed(c.read("status"))["NSpid"])
	c.must(len(ns) >= 2 && ns[len(ns)-1] == "1", "it is not process 1 of a pid namespace: %v", ns)
}

// filters is how many seccomp filters a thread must have: those that this process was
// started with itself, as by systemd, and one more.
func (c *checker) filters() string {
	own, err := os.ReadFile("/proc/thread-self/status")
	c.must(err == nil, "%v", err)
	n, err := strconv.Atoi(keyed(string(own))["Seccomp_filters"])
	c.must(err == nil, "this kernel does not count filters: %v", err)
	return strconv.Itoa(n + 1)
}

// hostNamespaces are those of this process, by kind, as far as they can be read.
var hostNamespaces = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, ns := range append([]string{"pid_for_children"}, kinds...) {
		all[ns], _ = os.Readlink("/proc/self/ns/" + ns)
	}
	return all
})

// namespaces wants seven of its own.
func (c *checker) namespaces() {
	for _, ns := range append([]string{"pid_for_children"}, kinds...) {
		its, err := c.link("ns/" + ns)
		ours := hostNamespaces()[ns]
		c.must(err == nil && ours != "" && its != "" && its != ours, "its %s namespace is the host's", ns)
	}
	root, err := c.link("root")
	c.must(err == nil && root == "/", "its root is %q, %v", root, err)
	cwd, err := c.link("cwd")
	c.must(err == nil && cwd == "/", "its working folder is %q, %v", cwd, err)
	// Through the sandbox's own /proc: process 1 of it is process 1 there, and this
	// process does not exist.
	st := keyed(c.read("root/proc/1/status"))
	c.must(st["NSpid"] == "1", "its /proc is that of another pid namespace: %q", st["NSpid"])
	_, err = c.link("root/proc/self")
	c.must(errors.Is(err, unix.ENOENT), "its /proc knows processes of the host")
}

// program wants process 1 to be the node's own init, in its place in the sandbox.
func (c *checker) program(p sandbox.Policy) {
	exe, err := c.link("exe")
	c.must(err == nil && exe == job.InitPath, "process 1 is %q, %v", exe, err)
	var a, b unix.Stat_t
	c.must(unix.Stat(p.Init, &a) == nil && unix.Stat(procFile(c.pid, "exe"), &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino, "process 1 is not %s of the host", p.Init)
}

// identity wants the two ids that the run has for itself.
func (c *checker) identity(spec *specs.Spec) {
	want := func(ms []specs.LinuxIDMapping) string {
		var words []string
		for _, m := range ms {
			words = append(words, fmt.Sprint(m.ContainerID, m.HostID, m.Size))
		}
		return strings.Join(words, " ")
	}
	for name, ms := range map[string][]specs.LinuxIDMapping{"uid_map": spec.Linux.UIDMappings, "gid_map": spec.Linux.GIDMappings} {
		got := strings.Join(strings.Fields(c.read(name)), " ")
		c.must(got == want(ms), "%s is %q, not %q", name, got, want(ms))
	}
	c.must(c.read("oom_score_adj") == strconv.Itoa(*spec.Process.OOMScoreAdj), "the kernel would rather kill others when memory is short")
}

// mounts wants those of the configuration, of the very files, and no other. It tells
// their ids.
func (c *checker) mounts(p sandbox.Policy, spec *specs.Spec) map[string]bool {
	ids := map[string]bool{}
	list, err := mountinfo.GetMountsFromReader(strings.NewReader(c.read("mountinfo")), nil)
	c.must(err == nil, "%v", err)
	from := map[string]string{
		"/": p.Root, sandbox.ShmDir: p.Shm, sandbox.InDir: p.In, sandbox.OutDir: p.Out, sandbox.TmpDir: p.Tmp, job.Dir: p.Gate, job.InitPath: p.Init,
	}
	need := map[string]string{"/": "ro,nosuid,nodev", "/dev": "ro,nosuid,noexec", "/proc": "nosuid,nodev,noexec"}
	// Those that are new have settings of the file system's, too.
	made := map[string]string{"/dev": "tmpfs,size=64k,mode=755", "/proc": "proc,hidepid=invisible"}
	for _, d := range devices {
		from[d], need[d] = d, "nosuid,noexec"
	}
	for _, m := range spec.Mounts {
		if m.Type == "bind" {
			var words []string
			for _, o := range m.Options {
				if o != "bind" && o != "rw" {
					words = append(words, o)
				}
			}
			need[m.Destination] = strings.Join(words, ",")
		}
	}
	hidden := map[string]bool{}
	for _, at := range slices.Concat(spec.Linux.MaskedPaths, spec.Linux.ReadonlyPaths) {
		hidden[at] = true
	}
	seen := map[string]int{}
	for _, m := range list {
		seen[m.Mountpoint]++
		ids[strconv.Itoa(m.ID)] = true
		c.must(m.Optional == "", "%s is shared with others: %s", m.Mountpoint, m.Optional)
		options := strings.Split(m.Options, ",")
		words, known := need[m.Mountpoint]
		if hidden[m.Mountpoint] {
			words, known = "ro,nosuid,noexec", true
		}
		c.must(known, "there is a mount on %q", m.Mountpoint)
		for _, w := range strings.Split(words, ",") {
			c.must(slices.Contains(options, w), "%s is not %s but %s", m.Mountpoint, w, m.Options)
		}
		if m.Mountpoint == sandbox.TmpDir {
			c.must(slices.Contains(options, "noexec") != p.ExecTmp, "%s is noexec or not, unlike what is meant: %s", m.Mountpoint, m.Options)
		}
		if kind, is := made[m.Mountpoint]; is {
			super := strings.Split(m.FSType+","+m.VFSOptions, ",")
			for _, w := range strings.Split(kind, ",") {
				c.must(slices.Contains(super, w), "%s is not %s but %s", m.Mountpoint, w, super)
			}
		}
		if host := from[m.Mountpoint]; host != "" {
			c.must(c.same(host, m.Mountpoint), "%s is not %s of the host", m.Mountpoint, host)
		}
	}
	for at := range need {
		c.must(seen[at] == 1, "%s is mounted %d times", at, seen[at])
	}
	c.hidden(spec, seen)
	return ids
}

// hidden wants everything that is to be hidden to have a mount of its own, that
// shows nothing.
func (c *checker) hidden(spec *specs.Spec, seen map[string]int) {
	for _, at := range spec.Linux.ReadonlyPaths {
		c.must(seen[at] == 1, "%s can be written to", at)
	}
	for _, at := range spec.Linux.MaskedPaths {
		var st unix.Stat_t
		err := unix.Fstatat(c.root, inside(at), &st, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, unix.ENOENT) {
			continue // this kernel has none
		}
		if err != nil || seen[at] != 1 {
			c.must(false, "%s is mounted %d times, %v", at, seen[at], err)
			continue
		}
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			entries, err := c.names("root" + at)
			c.must(err == nil && len(entries) == 0, "%s shows %d entries, %v", at, len(entries), err)
			continue
		}
		c.must(c.same(os.DevNull, at), "%s shows something", at)
	}
}

// same says whether a path of the sandbox is the very file of the host's.
func (c *checker) same(host, path string) bool {
	var a, b unix.Stat_t
	return unix.Stat(host, &a) == nil && unix.Fstatat(c.root, inside(path), &b, 0) == nil && a.Dev == b.Dev && a.Ino == b.Ino && a.Rdev == b.Rdev
}

// group wants process 1, alone, in the control group in every hierarchy.
func (c *checker) group(p sandbox.Policy) {
	for line := range strings.Lines(c.read("cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		c.must(len(parts) == 3 && parts[2] == p.CgroupsPath, "it is in the group %q", line)
	}
	pids, err := cgroup.Procs(cgroup.Root, p.CgroupsPath)
	c.must(err == nil && slices.Equal(pids, []int{c.pid}), "others are in its group: %v, %v", pids, err)
	c.must(cgroup.Holds(cgroup.Root, p.CgroupsPath, sandbox.Limits(p)) == nil, "its group has other limits")
}

// limitNames are the rows of /proc/PID/limits.
var limitNames = map[string]string{
	"RLIMIT_CORE": "Max core file size", "RLIMIT_CPU": "Max cpu time", "RLIMIT_FSIZE": "Max file size",
	"RLIMIT_MEMLOCK": "Max locked memory", "RLIMIT_MSGQUEUE": "Max msgqueue size", "RLIMIT_NICE": "Max nice priority",
	"RLIMIT_NOFILE": "Max open files", "RLIMIT_RTPRIO": "Max realtime priority", "RLIMIT_SIGPENDING": "Max pending signals",
}

func (c *checker) limits(spec *specs.Spec) {
	rows := strings.Split(c.read("limits"), "\n")
	for _, r := range spec.Process.Rlimits {
		name := limitNames[r.Type]
		i := slices.IndexFunc(rows, func(row string) bool { return name != "" && strings.HasPrefix(row, name+" ") })
		if i < 0 {
			c.must(false, "%s is not known", r.Type)
			continue
		}
		f := strings.Fields(strings.TrimPrefix(rows[i], name))
		c.must(len(f) >= 2 && f[0] == strconv.FormatUint(r.Soft, 10) && f[1] == strconv.FormatUint(r.Hard, 10), "%s is %v", r.Type, f)
	}
}

// descriptors wants process 1 to have nothing open but what it opened in the
// sandbox: a name alone could be that of a file of the host.
func (c *checker) descriptors(mounts map[string]bool) {
	fds, err := c.names("fd")
	c.must(err == nil, "%v", err)
	for _, fd := range fds {
		to, err := c.link("fd/" + fd)
		if errors.Is(err, unix.ENOENT) || strings.HasPrefix(to, "anon_inode:[event") {
			continue
		}
		c.must(err == nil && (to == os.DevNull || filepath.Dir(to) == job.Dir), "descriptor %s is %s, %v", fd, to, err)
		info, err := c.text("fdinfo/" + fd)
		c.must(errors.Is(err, unix.ENOENT) || mounts[keyed(info)["mnt_id"]], "descriptor %s lies outside of its mounts", fd)
	}
}

// network wants nothing but the loopback.
func (c *checker) network() {
	lines := strings.Split(c.read("net/dev"), "\n")
	c.must(len(lines) == 3 && strings.HasPrefix(strings.TrimSpace(lines[2]), "lo:"), "it has a network: %q", lines)
}
