package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// ErrForbidden is in every error of Check.
var ErrForbidden = errors.New("sandbox configuration is refused")

// Terms are what Check must be told of a sandbox: nothing else may differ.
type Terms struct {
	Mapped    bool // there must be a user namespace
	Egress    bool // TCP is meant
	OwnKernel bool // clone3 reaches no kernel of the host
	ExecTmp   bool // TmpDir must not be noexec; otherwise it must
}

// Check refuses a configuration that is weaker than a sandbox must be. It does
// not know how Spec works: it is called on the final configuration, just before
// a container is made of it, and also catches what was changed in between.
// All faults are reported, joined.
func Check(s *specs.Spec, t Terms) error {
	c := &checker{}
	if s == nil || s.Process == nil || s.Root == nil || s.Linux == nil || s.Linux.Resources == nil ||
		s.Linux.Seccomp == nil {
		return fmt.Errorf("%w: process, root, linux, resources or seccomp is missing", ErrForbidden)
	}
	c.must(s.Version == OCIVersion, "version is %q", s.Version)
	c.must(s.Hostname == Hostname && s.Domainname == "", "host name is %q", s.Hostname)
	c.must(filepath.IsAbs(s.Root.Path) && !hostPlace(s.Root.Path), "root is %q of the host", s.Root.Path)
	c.must(s.Hooks == nil, "there are hooks")
	c.must(len(s.Annotations) == 0, "there are annotations, which runtimes can take as orders")
	c.must(s.VM == nil && s.Windows == nil && s.Solaris == nil && s.ZOS == nil && s.FreeBSD == nil,
		"there are settings of other platforms")
	c.process(s.Process)
	c.mounts(s.Mounts, t)
	c.linux(s.Linux, t.Mapped)
	c.resources(s.Linux.Resources)
	c.seccomp(s.Linux.Seccomp, t.Egress, t.OwnKernel)
	return errors.Join(c.errs...)
}

// CheckRoot refuses a root file system that is not mounted read-only, without
// setuid and without devices.
func CheckRoot(path string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return fmt.Errorf("%w: root %s: %w", ErrForbidden, path, err)
	}
	const want = unix.ST_RDONLY | unix.ST_NOSUID | unix.ST_NODEV
	if fs.Flags&want != want {
		return fmt.Errorf("%w: root %s is not mounted ro, nosuid and nodev", ErrForbidden, path)
	}
	return nil
}

type checker struct{ errs []error }

func (c *checker) must(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf("%w: %s", ErrForbidden, fmt.Sprintf(format, args...)))
	}
}

func (c *checker) process(p *specs.Process) {
	c.must(!p.Terminal && p.ConsoleSize == nil, "there is a terminal")
	c.must(p.NoNewPrivileges, "no_new_privs is off")
	c.must(p.User.UID == 0 && p.User.GID == 0 && len(p.User.AdditionalGids) == 0,
		"process 1 is another user or has more groups")
	c.must(len(p.Args) == 1 && p.Args[0] == job.InitPath && p.CommandLine == "", "process 1 is not %s", job.InitPath)
	c.must(p.Scheduler == nil && p.IOPriority == nil && p.ExecCPUAffinity == nil, "there are scheduling privileges")
	c.must(p.OOMScoreAdj != nil && *p.OOMScoreAdj >= 0, "the kernel would rather kill others when memory is short")
	if caps := p.Capabilities; caps == nil {
		c.must(false, "capabilities are left to the runtime")
	} else {
		c.must(len(caps.Inheritable) == 0 && len(caps.Ambient) == 0, "capabilities can be inherited")
		for _, name := range slices.Concat(caps.Bounding, caps.Effective, caps.Permitted) {
			switch name {
			case "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_KILL":
			default:
				c.must(false, "capability %s", name)
			}
		}
	}
	core, files, size, user := false, false, false, 0
	for _, r := range p.Rlimits {
		c.must(r.Hard >= r.Soft, "%s: soft is above hard", r.Type)
		switch r.Type {
		case "RLIMIT_CORE":
			core = r.Hard == 0
		case "RLIMIT_NOFILE":
			files = r.Hard > 0 && r.Hard <= 1<<20
		case "RLIMIT_FSIZE":
			size = r.Hard > 0 && r.Hard < 1<<50
		case "RLIMIT_MEMLOCK", "RLIMIT_SIGPENDING":
			if r.Hard <= 1<<20 {
				user++
			}
		case "RLIMIT_MSGQUEUE", "RLIMIT_NICE", "RLIMIT_RTPRIO":
			if r.Hard == 0 {
				user++
			}
		}
	}
	c.must(core && files && size, "core dumps, open files or file size have no limit")
	c.must(user == 5, "locked memory, pending signals, message queues or priorities have no limit")
}

// allowedMounts is every mount point there may be, and what it must say.
var allowedMounts = map[string]struct {
	kind    string
	options []string
}{
	"/proc": {"proc", []string{"nosuid", "nodev", "noexec", "hidepid=2"}},
	"/dev":  {"bind", []string{"nosuid", "noexec", "ro"}}, // or a tmpfs: see mounts
	ShmDir:  {"bind", []string{"nosuid", "nodev", "noexec"}},
	InDir:   {"bind", []string{"nosuid", "nodev", "noexec", "ro"}},
	OutDir:  {"bind", []string{"nosuid", "nodev", "noexec"}},
	TmpDir:  {"bind", []string{"nosuid", "nodev"}}, // and noexec, or not: see mounts
	job.Dir: {"bind", []string{"nosuid", "nodev", "noexec"}},
}

// knownOptions are the only words that a mount may have.
var knownOptions = []string{"bind", "nosuid", "nodev", "noexec", "ro", "rw", "strictatime", "mode=755", "size=64k",
	"hidepid=2"}

func (c *checker) mounts(ms []specs.Mount, t Terms) {
	seen := map[string]bool{}
	for _, m := range ms {
		want, ok := allowedMounts[m.Destination]
		c.must(ok, "mount on %q", m.Destination)
		c.must(!seen[m.Destination], "%s is mounted twice", m.Destination)
		seen[m.Destination] = true
		if m.Destination == "/dev" && t.OwnKernel {
			want.kind = "tmpfs"
		}
		c.must(m.Type == want.kind, "%s is of type %q", m.Destination, m.Type)
		c.must(len(m.UIDMappings) == 0 && len(m.GIDMappings) == 0, "%s maps ids", m.Destination)
		for _, o := range want.options {
			c.must(slices.Contains(m.Options, o), "%s is not %s", m.Destination, o)
		}
		c.must(!slices.Contains(want.options, "ro") || !slices.Contains(m.Options, "rw"), "%s is both ro and rw",
			m.Destination)
		for _, o := range m.Options {
			c.must(slices.Contains(knownOptions, o), "%s has option %q", m.Destination, o)
		}
		if m.Destination == TmpDir {
			c.must(slices.Contains(m.Options, "noexec") != t.ExecTmp, "%s is noexec or not, unlike what is meant",
				TmpDir)
		}
		if m.Type == "bind" {
			c.must(filepath.IsAbs(m.Source) && filepath.Clean(m.Source) == m.Source && !hostPlace(m.Source),
				"%s shows %q of the host", m.Destination, m.Source)
		}
	}
	c.must(len(seen) == len(allowedMounts), "%d of %d mounts are there", len(seen), len(allowedMounts))
}

// hostPlace says that a path is one of the host's own places, as a whole.
func hostPlace(path string) bool {
	return slices.Contains([]string{"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/media", "/mnt", "/opt",
		"/proc",
		"/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var", "/var/lib", "/var/run"}, path)
}

func (c *checker) linux(l *specs.Linux, mapped bool) {
	var got []string
	for _, n := range l.Namespaces {
		c.must(n.Path == "", "%s namespace is somebody else's", n.Type)
		got = append(got, string(n.Type))
	}
	slices.Sort(got)
	want := []string{"cgroup", "ipc", "mount", "network", "pid", "uts"}
	if mapped {
		want = []string{"cgroup", "ipc", "mount", "network", "pid", "user", "uts"}
	}
	c.must(slices.Equal(got, want), "namespaces are %v", got)
	c.mapping(l.UIDMappings, job.PayloadUID, mapped)
	c.mapping(l.GIDMappings, job.PayloadGID, mapped)
	c.must(len(l.Devices) == 0, "there are devices")
	c.must(len(l.NetDevices) == 0, "there are network devices")
	c.must(len(l.Sysctl) == 0, "there are sysctls")
	c.must(l.IntelRdt == nil && l.Personality == nil && l.MountLabel == "" && l.MemoryPolicy == nil,
		"there are settings that no sandbox needs")
	c.must(len(l.TimeOffsets) == 0, "there are offsets without a namespace")
	c.must(l.RootfsPropagation == "rprivate", "root propagation is %q", l.RootfsPropagation)
	c.must(filepath.IsAbs(l.CgroupsPath) && filepath.Clean(l.CgroupsPath) != "/", "cgroup is %q", l.CgroupsPath)
	for _, p := range []string{"/proc/kcore", "/proc/keys", "/proc/sysrq-trigger", "/proc/timer_list",
		"/proc/kallsyms", "/proc/scsi", "/proc/pressure", "/proc/iomem"} {
		c.must(slices.Contains(l.MaskedPaths, p), "%s is not masked", p)
	}
	c.must(slices.Contains(l.ReadonlyPaths, "/proc/sys"), "/proc/sys is writable")
}

// mapping wants two ids of the run's own, none of which is somebody's on the host.
func (c *checker) mapping(m []specs.LinuxIDMapping, payload uint32, mapped bool) {
	if !mapped {
		c.must(len(m) == 0, "there are mappings without a namespace")
		return
	}
	ok := len(m) == 2 && m[0].ContainerID == 0 && m[1].ContainerID == payload
	for _, r := range m {
		ok = ok && r.Size == 1 && r.HostID >= FirstHostID
	}
	c.must(ok && m[0].HostID != m[1].HostID, "ids are mapped as %v", m)
}

func (c *checker) resources(r *specs.LinuxResources) {
	for _, d := range r.Devices {
		c.must(!d.Allow, "device %s is allowed", d.Type)
	}
	c.must(len(r.Devices) == 1 && r.Devices[0].Type == "" && r.Devices[0].Major == nil &&
		r.Devices[0].Access == "rwm", "devices are not denied as a whole")
	c.must(r.CPU != nil && r.CPU.Quota != nil && *r.CPU.Quota > 0 && r.CPU.Period != nil && *r.CPU.Period > 0,
		"cpu has no limit")
	c.must(r.Pids != nil && r.Pids.Limit != nil && *r.Pids.Limit > 0, "processes have no limit")
	c.must(r.Memory != nil && r.Memory.Limit != nil && *r.Memory.Limit > 0, "memory has no limit")
	if m := r.Memory; m != nil && m.Limit != nil {
		c.must(m.Swap == nil || *m.Swap == *m.Limit, "there is swap")
		c.must(m.DisableOOMKiller == nil || !*m.DisableOOMKiller, "the out-of-memory killer is off")
	}
	c.must(len(r.Unified) == 0, "there are raw cgroup settings")
}

// neverAllowed are system calls that no sandbox may make whatever their arguments are.
var neverAllowed = []string{
	"acct", "add_key", "bpf", "chroot", "clone3", "delete_module", "fanotify_init", "finit_module", "fsconfig",
	"fsmount", "fsopen", "fspick",
	"init_module", "io_uring_enter", "io_uring_register", "io_uring_setup", "inotify_add_watch", "ioperm", "iopl",
	"kcmp", "kexec_file_load", "kexec_load", "keyctl",
	"listmount", "lookup_dcookie", "memfd_create", "execveat", "mount", "mount_setattr", "move_mount", "mq_open",
	"msgget", "nfsservctl", "open_by_handle_at", "open_tree",
	"perf_event_open", "pidfd_getfd", "pivot_root", "process_vm_readv", "process_vm_writev", "ptrace", "quotactl",
	"quotactl_fd", "reboot",
	"request_key", "semget", "setdomainname", "sethostname", "setns", "settimeofday", "shmget", "clock_settime",
	"statmount", "stime", "socketcall", "swapoff", "swapon", "sync", "syncfs", "syslog",
	"umount", "umount2", "unshare", "userfaultfd", "vhangup",
}

func (c *checker) seccomp(s *specs.LinuxSeccomp, egress, ownKernel bool) {
	c.must(s.DefaultAction == specs.ActErrno || s.DefaultAction == specs.ActKillProcess, "seccomp: default is %s",
		s.DefaultAction)
	c.must(len(s.Architectures) <= 1, "seccomp: system calls of other ABIs are allowed")
	c.must(len(s.Flags) == 0 && s.ListenerPath == "" && s.ListenerMetadata == "",
		"seccomp: there are flags or a listener")
	for _, rule := range s.Syscalls {
		if rule.Action == specs.ActErrno || rule.Action == specs.ActKillProcess {
			continue
		}
		c.must(rule.Action == specs.ActAllow, "seccomp: action %s", rule.Action)
		for _, name := range rule.Names {
			c.must(!slices.Contains(neverAllowed, name) || ownKernel && name == "clone3", "seccomp: %s is allowed",
				name)
			switch name {
			case "fcntl":
				c.must(!slices.ContainsFunc(fcntlForbidden,
					func(command uint64) bool { return permits(rule.Args, 1, command) }),
					"seccomp: fcntl may watch files")
			case "clone":
				const ns = 0x7e020000 // every CLONE_NEW flag
				c.must(slices.ContainsFunc(rule.Args, func(a specs.LinuxSeccompArg) bool {
					return a.Index == 0 && a.Op == specs.OpMaskedEqual && a.Value&ns == ns && a.ValueTwo == 0
				}), "seccomp: clone may make namespaces")
			case "seccomp":
				c.must(slices.ContainsFunc(rule.Args, func(a specs.LinuxSeccompArg) bool {
					return a.Index == 1 && a.Op == specs.OpMaskedEqual && a.Value&newListener != 0 && a.ValueTwo == 0
				}), "seccomp: filters with a listener are allowed")
			case "socket":
				c.socket(rule.Args, egress)
			}
		}
	}
}

// fcntlForbidden are commands that tell of what others do to a file.
var fcntlForbidden = []uint64{unix.F_NOTIFY, unix.F_SETLEASE}

// permits says whether a rule of these conditions lets an argument of 32 bits have a value.
func permits(args []specs.LinuxSeccompArg, index uint, value uint64) bool {
	return !slices.ContainsFunc(args, func(a specs.LinuxSeccompArg) bool {
		return a.Index == index && a.Op == specs.OpMaskedEqual && value&a.Value != a.ValueTwo
	})
}

// socket wants the family named, and for other families than UNIX the type too.
func (c *checker) socket(args []specs.LinuxSeccompArg, egress bool) {
	family, stream := uint64(unix.AF_MAX), false
	for _, a := range args {
		if a.Index == 0 && a.Op == specs.OpEqualTo {
			family = a.Value
		}
		if a.Index == 1 && a.Op == specs.OpMaskedEqual && a.Value == socketTypeMask && a.ValueTwo == unix.SOCK_STREAM {
			stream = true
		}
	}
	inet := family == unix.AF_INET || family == unix.AF_INET6
	c.must(family == unix.AF_UNIX || egress && inet && stream, "seccomp: sockets of family %d are allowed", family)
}
