package sandbox

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

func policy() Policy {
	return Policy{
		Root: "/run/threegate/roots/0123", Dev: "/run/threegate/boxes/j1/scratch/dev",
		Gate: "/run/threegate/boxes/j1/gate", In: "/run/threegate/boxes/j1/in", Out: "/run/threegate/boxes/j1/out",
		FirstID: FirstHostID + 84, Mapped: true,
		Tmp: "/run/threegate/boxes/j1/scratch/tmp", Shm: "/run/threegate/boxes/j1/scratch/shm",
		CgroupsPath: "/threegate/j1",
		MilliCPU:    500, MemoryBytes: 256 << 20, Pids: 64, OpenFiles: 1024, FileBytes: 64 << 20,
		CPUTime:     31 * time.Second,
		SwapControl: true,
	}
}

func mustSpec(t *testing.T, p Policy) *specs.Spec {
	t.Helper()
	s, err := Spec(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The whole configuration, as it goes to the runtime, is compared with a file
// that people read: whatever changes a sandbox shows up in review.
func TestGolden(t *testing.T) {
	egress, execTmp := policy(), policy()
	egress.Egress, execTmp.ExecTmp = true, true
	for name, p := range map[string]Policy{"none": policy(), "egress": egress, "exectmp": execTmp} {
		got, err := json.MarshalIndent(mustSpec(t, p), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		file := filepath.Join("testdata", name+"."+runtime.GOARCH+".json")
		want, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, want) {
			if werr := os.WriteFile(file+".got", got, 0o644); werr != nil {
				t.Fatal(werr)
			}
			t.Errorf("%s differs (%v): compare it with %s.got, and replace it if that is what you want", file, err,
				file)
		}
	}
}

func TestSpecPassesCheck(t *testing.T) {
	for _, egress := range []bool{false, true} {
		for _, swap := range []bool{false, true} {
			p := policy()
			p.Egress, p.SwapControl = egress, swap
			if err := Check(mustSpec(t, p), Terms{Mapped: true, Egress: egress}); err != nil {
				t.Error(err)
			}
		}
	}
	p := policy()
	p.Egress = true
	if err := Check(mustSpec(t, p), Terms{Mapped: true}); err == nil {
		t.Error("TCP sockets passed as no network")
	}
}

// /tmp is noexec, or not, as it is meant, and nothing else can be executed either way.
func TestCheckExecTmp(t *testing.T) {
	for _, says := range []bool{false, true} {
		for _, meant := range []bool{false, true} {
			p := policy()
			p.ExecTmp = says
			if err := Check(mustSpec(t, p), Terms{Mapped: true, ExecTmp: meant}); (err == nil) != (says == meant) {
				t.Errorf("executable %v, meant %v: %v", says, meant, err)
			}
		}
	}
	for _, at := range []string{"/in", "/out", "/dev/shm", "/gate", "/proc", "/dev"} {
		p := policy()
		p.ExecTmp = true
		s := mustSpec(t, p)
		for i, m := range s.Mounts {
			if m.Destination == at {
				s.Mounts[i].Options = slices.DeleteFunc(slices.Clone(m.Options),
					func(o string) bool { return o == "noexec" })
			}
		}
		if err := Check(s, Terms{Mapped: true, ExecTmp: true}); err == nil ||
			!strings.Contains(err.Error(), at+" is not noexec") {
			t.Errorf("%s without noexec: %v", at, err)
		}
	}
}

func TestPolicyIsComplete(t *testing.T) {
	for name, change := range map[string]func(*Policy){
		"Root": func(p *Policy) { p.Root = "" }, "Dev": func(p *Policy) { p.Dev = "relative" },
		"Gate": func(p *Policy) { p.Gate = "/a/../b" },
		"In":   func(p *Policy) { p.In = "/" }, "Out": func(p *Policy) { p.Out = "/x\x00" },
		"CgroupsPath": func(p *Policy) { p.CgroupsPath = "/" },
		"MilliCPU":    func(p *Policy) { p.MilliCPU = 0 }, "MemoryBytes": func(p *Policy) { p.MemoryBytes = -1 },
		"Pids":      func(p *Policy) { p.Pids = 0 },
		"FirstID":   func(p *Policy) { p.FirstID = 0 },
		"OpenFiles": func(p *Policy) { p.OpenFiles = 0 }, "FileBytes": func(p *Policy) { p.FileBytes = 0 },
		"CPUTime": func(p *Policy) { p.CPUTime = 0 },
	} {
		p := policy()
		change(&p)
		if _, err := Spec(p); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCPUBandwidth(t *testing.T) {
	for _, tt := range []struct {
		milli  int
		quota  int64
		period uint64
	}{{1000, 25000, 25000}, {500, 12500, 25000}, {4000, 100000, 25000}, {40, 1000, 25000}, {20, 2000, 100000},
		{1, 1000, 100000}} {
		p := policy()
		p.MilliCPU = tt.milli
		s, err := Spec(p)
		if err != nil {
			t.Fatal(err)
		}
		if c := s.Linux.Resources.CPU; *c.Quota != tt.quota || *c.Period != tt.period {
			t.Errorf("%d: %d/%d, want %d/%d", tt.milli, *c.Quota, *c.Period, tt.quota, tt.period)
		}
	}
}

// Every way to weaken a sandbox that Check knows of, applied alone, is refused.
func TestCheckRefuses(t *testing.T) {
	mount := func(s *specs.Spec, at string) *specs.Mount {
		i := slices.IndexFunc(s.Mounts, func(m specs.Mount) bool { return m.Destination == at })
		return &s.Mounts[i]
	}
	drop := func(m *specs.Mount, option string) {
		m.Options = slices.DeleteFunc(slices.Clone(m.Options), func(o string) bool { return o == option })
	}
	yes := true
	for name, weaken := range map[string]func(*specs.Spec){
		"version":         func(s *specs.Spec) { s.Version = "1.3.0" },
		"hostname":        func(s *specs.Spec) { s.Hostname = "prod-7" },
		"root of host":    func(s *specs.Spec) { s.Root.Path = "/" },
		"root relative":   func(s *specs.Spec) { s.Root.Path = "rootfs" },
		"hooks":           func(s *specs.Spec) { s.Hooks = &specs.Hooks{} },
		"annotations":     func(s *specs.Spec) { s.Annotations = map[string]string{"a": "b"} },
		"terminal":        func(s *specs.Spec) { s.Process.Terminal = true },
		"nnp":             func(s *specs.Spec) { s.Process.NoNewPrivileges = false },
		"groups":          func(s *specs.Spec) { s.Process.User.AdditionalGids = []uint32{0} },
		"args":            func(s *specs.Spec) { s.Process.Args = []string{"/bin/sh"} },
		"more args":       func(s *specs.Spec) { s.Process.Args = append(s.Process.Args, "x") },
		"capability":      func(s *specs.Spec) { s.Process.Capabilities.Bounding = []string{"CAP_SYS_ADMIN"} },
		"ambient":         func(s *specs.Spec) { s.Process.Capabilities.Ambient = []string{"CAP_KILL"} },
		"no capabilities": func(s *specs.Spec) { s.Process.Capabilities = nil },
		"oom score":       func(s *specs.Spec) { score := -1000; s.Process.OOMScoreAdj = &score },
		"core":            func(s *specs.Spec) { s.Process.Rlimits[0].Hard = 1 },
		"memlock": func(s *specs.Spec) {
			for i := range s.Process.Rlimits {
				if s.Process.Rlimits[i].Type == "RLIMIT_MEMLOCK" {
					s.Process.Rlimits[i].Hard = 1 << 40
				}
			}
		},
		"sigpending": func(s *specs.Spec) { s.Process.Rlimits = s.Process.Rlimits[:len(s.Process.Rlimits)-1] },
		"pressure": func(s *specs.Spec) {
			s.Linux.MaskedPaths = slices.DeleteFunc(s.Linux.MaskedPaths,
				func(p string) bool { return p == "/proc/pressure" })
		},
		"rlimits":       func(s *specs.Spec) { s.Process.Rlimits = nil },
		"in writable":   func(s *specs.Spec) { drop(mount(s, "/in"), "ro") },
		"in both":       func(s *specs.Spec) { m := mount(s, "/in"); m.Options = append(m.Options, "rw") },
		"out exec":      func(s *specs.Spec) { drop(mount(s, "/out"), "noexec") },
		"tmp exec":      func(s *specs.Spec) { drop(mount(s, "/tmp"), "noexec") },
		"tmp gone exec": func(s *specs.Spec) { m := mount(s, "/tmp"); m.Options = append(m.Options, "exec") },
		"in exec":       func(s *specs.Spec) { drop(mount(s, "/in"), "noexec") },
		"out dev":       func(s *specs.Spec) { drop(mount(s, "/out"), "nodev") },
		"tmp suid":      func(s *specs.Spec) { drop(mount(s, "/tmp"), "nosuid") },
		"shared":        func(s *specs.Spec) { m := mount(s, "/out"); m.Options = append(m.Options, "rshared") },
		"recursive":     func(s *specs.Spec) { m := mount(s, "/out"); m.Options = append(m.Options, "rbind") },
		"host folder":   func(s *specs.Spec) { mount(s, "/out").Source = "/etc" },
		"host socket": func(s *specs.Spec) {
			s.Mounts = append(s.Mounts, specs.Mount{Destination: "/run/docker.sock", Type: "bind",
				Source: "/run/docker.sock"})
		},
		"sysfs": func(s *specs.Spec) {
			s.Mounts = append(s.Mounts, specs.Mount{Destination: "/sys", Type: "sysfs", Source: "sysfs"})
		},
		"mounted twice":  func(s *specs.Spec) { s.Mounts = append(s.Mounts, *mount(s, "/in")) },
		"mount missing":  func(s *specs.Spec) { s.Mounts = s.Mounts[1:] },
		"proc shows all": func(s *specs.Spec) { drop(mount(s, "/proc"), "hidepid=2") },
		"host network":   func(s *specs.Spec) { s.Linux.Namespaces = s.Linux.Namespaces[:4] },
		"no user namespace": func(s *specs.Spec) {
			s.Linux.Namespaces = slices.DeleteFunc(s.Linux.Namespaces,
				func(n specs.LinuxNamespace) bool { return n.Type == specs.UserNamespace })
		},
		"mapped to root":    func(s *specs.Spec) { s.Linux.UIDMappings[0].HostID = 0 },
		"mapped to a user":  func(s *specs.Spec) { s.Linux.GIDMappings[1].HostID = 1000 },
		"mapped widely":     func(s *specs.Spec) { s.Linux.UIDMappings[1].Size = 65536 },
		"mapped to one":     func(s *specs.Spec) { s.Linux.UIDMappings[1].HostID = s.Linux.UIDMappings[0].HostID },
		"mapped not at all": func(s *specs.Spec) { s.Linux.UIDMappings = nil },
		"joined namespace":  func(s *specs.Spec) { s.Linux.Namespaces[0].Path = "/proc/1/ns/pid" },
		"device":            func(s *specs.Spec) { s.Linux.Devices = []specs.LinuxDevice{{Path: "/dev/kvm"}} },
		"device rule": func(s *specs.Spec) {
			s.Linux.Resources.Devices = append(s.Linux.Resources.Devices, specs.LinuxDeviceCgroup{Allow: true})
		},
		"no device rule":  func(s *specs.Spec) { s.Linux.Resources.Devices = nil },
		"sysctl":          func(s *specs.Spec) { s.Linux.Sysctl = map[string]string{"net.ipv4.ip_forward": "1"} },
		"propagation":     func(s *specs.Spec) { s.Linux.RootfsPropagation = "shared" },
		"cgroup":          func(s *specs.Spec) { s.Linux.CgroupsPath = "/" },
		"kcore":           func(s *specs.Spec) { s.Linux.MaskedPaths = s.Linux.MaskedPaths[:3] },
		"proc sys":        func(s *specs.Spec) { s.Linux.ReadonlyPaths = nil },
		"cpu":             func(s *specs.Spec) { s.Linux.Resources.CPU = nil },
		"cpu quota":       func(s *specs.Spec) { n := int64(-1); s.Linux.Resources.CPU.Quota = &n },
		"memory":          func(s *specs.Spec) { s.Linux.Resources.Memory = nil },
		"swap":            func(s *specs.Spec) { n := int64(-1); s.Linux.Resources.Memory.Swap = &n },
		"oom killer":      func(s *specs.Spec) { s.Linux.Resources.Memory.DisableOOMKiller = &yes },
		"pids":            func(s *specs.Spec) { s.Linux.Resources.Pids = nil },
		"unified":         func(s *specs.Spec) { s.Linux.Resources.Unified = map[string]string{"memory.max": "max"} },
		"no seccomp":      func(s *specs.Spec) { s.Linux.Seccomp = nil },
		"seccomp default": func(s *specs.Spec) { s.Linux.Seccomp.DefaultAction = specs.ActAllow },
		"seccomp log":     func(s *specs.Spec) { s.Linux.Seccomp.DefaultAction = specs.ActLog },
		"seccomp flag": func(s *specs.Spec) {
			s.Linux.Seccomp.Flags = []specs.LinuxSeccompFlag{
				specs.LinuxSeccompFlagSpecAllow}
		},
		"seccomp abi": func(s *specs.Spec) {
			s.Linux.Seccomp.Architectures = []specs.Arch{specs.ArchX86_64,
				specs.ArchX86}
		},
		"mount allowed": func(s *specs.Spec) {
			s.Linux.Seccomp.Syscalls = append(s.Linux.Seccomp.Syscalls,
				allow("mount"))
		},
		"listener": func(s *specs.Spec) {
			s.Linux.Seccomp.Syscalls = append(s.Linux.Seccomp.Syscalls,
				allow("seccomp"))
		},
		"syncfs allowed": func(s *specs.Spec) {
			s.Linux.Seccomp.Syscalls = append(s.Linux.Seccomp.Syscalls,
				allow("syncfs"))
		},
		"shmget allowed": func(s *specs.Spec) {
			s.Linux.Seccomp.Syscalls = append(s.Linux.Seccomp.Syscalls,
				allow("shmget"))
		},
		"clone3 allowed": func(s *specs.Spec) {
			s.Linux.Seccomp.Syscalls = append(s.Linux.Seccomp.Syscalls,
				allow("clone3"))
		},
		"fcntl allowed": func(s *specs.Spec) {
			s.Linux.Seccomp.Syscalls = append(s.Linux.Seccomp.Syscalls,
				allow("fcntl"))
		},
		"fcntl notifies": func(s *specs.Spec) {
			s.Linux.Seccomp.Syscalls = append(s.Linux.Seccomp.Syscalls,
				allow("fcntl", masked(1, 0xffffffff, unix.F_NOTIFY)))
		},
		"clone allowed": func(s *specs.Spec) {
			s.Linux.Seccomp.Syscalls = append(s.Linux.Seccomp.Syscalls,
				allow("clone"))
		},
		"clone user": func(s *specs.Spec) {
			s.Linux.Seccomp.Syscalls = append(s.Linux.Seccomp.Syscalls,
				allow("clone", masked(0, newNamespaces&^unix.CLONE_NEWUSER, 0)))
		},
		"socket allowed": func(s *specs.Spec) {
			s.Linux.Seccomp.Syscalls = append(s.Linux.Seccomp.Syscalls,
				allow("socket"))
		},
		"netlink": func(s *specs.Spec) {
			s.Linux.Seccomp.Syscalls = append(s.Linux.Seccomp.Syscalls, allow("socket", equal(0, unix.AF_NETLINK)))
		},
		"raw": func(s *specs.Spec) {
			s.Linux.Seccomp.Syscalls = append(s.Linux.Seccomp.Syscalls,
				allow("socket", equal(0, unix.AF_INET), masked(1, socketTypeMask, unix.SOCK_RAW)))
		},
		"notify": func(s *specs.Spec) {
			s.Linux.Seccomp.Syscalls = append(s.Linux.Seccomp.Syscalls,
				specs.LinuxSyscall{Names: []string{"openat"}, Action: specs.ActNotify})
		},
	} {
		for _, egress := range []bool{false, true} {
			p := policy()
			p.Egress = egress
			s := mustSpec(t, p)
			weaken(s)
			if err := Check(s, Terms{Mapped: true, Egress: egress}); err == nil {
				t.Errorf("%s (egress %v) passed", name, egress)
			}
		}
	}
	if Check(nil, Terms{Mapped: true}) == nil || Check(&specs.Spec{}, Terms{Mapped: true}) == nil {
		t.Error("an empty configuration passed")
	}
}

// Spec must hand out nothing that a caller could change for everybody.
func TestSpecsAreIndependent(t *testing.T) {
	a := mustSpec(t, policy())
	a.Linux.MaskedPaths[0] = "/changed"
	a.Process.Capabilities.Bounding[0] = "CAP_SYS_ADMIN"
	b := mustSpec(t, policy())
	if b.Linux.MaskedPaths[0] == "/changed" || b.Process.Capabilities.Bounding[0] == "CAP_SYS_ADMIN" {
		t.Error("two configurations share memory")
	}
	if b.Process.Capabilities.Effective[0] == "CAP_SYS_ADMIN" {
		t.Error("two capability sets share memory")
	}
}

func TestProbe(t *testing.T) {
	if _, err := Probe(); err != nil {
		t.Error(err)
	}
	swaps := filepath.Join(t.TempDir(), "swaps")
	if err := os.WriteFile(swaps, []byte("Filename Type Size Used Priority\n/dev/sdb partition 1 0 -2\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if _, err := probe(root, swaps); err == nil || !strings.Contains(err.Error(), "cpu.cfs_quota_us") {
		t.Errorf("a host without hierarchies: %v", err)
	}
	for _, f := range []string{"cpu/cpu.cfs_quota_us", "memory/memory.limit_in_bytes", "pids/x",
		"devices/devices.deny", "freezer/x"} {
		path := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := probe(root, swaps); err == nil || !strings.Contains(err.Error(), "swapoff") {
		t.Errorf("a host with swap that can't be limited: %v", err)
	}
	if h, err := probe(root, "/nonexistent"); err != nil || h.SwapControl || h.Unified {
		t.Errorf("a host without swap: %+v %v", h, err)
	}
}

func TestCheckRoot(t *testing.T) {
	if err := CheckRoot(t.TempDir()); err == nil {
		t.Error("an ordinary folder passed")
	}
	if err := CheckRoot("/nonexistent"); err == nil {
		t.Error("nothing passed")
	}
}
