package sandbox

import (
	"slices"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
)

const (
	// A short period keeps a throttled program's pauses, and the delay until it
	// notices that it was killed, short.
	cpuPeriod    = 25 * time.Millisecond
	cpuPeriodMax = 100 * time.Millisecond
	cpuQuotaMin  = time.Millisecond // the kernel's own

	initOOMScore = 500

	maxLockedBytes = 64 << 10
	// maxPending bounds queued signals, and with them POSIX timers.
	maxPending = 1024
)

// initCapabilities are what process 1 needs to become somebody else, to end
// what it started, and to give the first two up. The payload has none.
var initCapabilities = []string{"CAP_KILL", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID"}

// maskedPaths and readonlyPaths hide what /proc says or lets change beyond the
// sandbox. There is no /sys at all.
var (
	maskedPaths = []string{
		"/proc/acpi", "/proc/asound", "/proc/bus", "/proc/cmdline", "/proc/config.gz", "/proc/diskstats",
		"/proc/driver", "/proc/fs",
		"/proc/interrupts", "/proc/iomem", "/proc/ioports", "/proc/irq", "/proc/kallsyms", "/proc/kcore",
		"/proc/key-users", "/proc/keys", "/proc/kmsg",
		"/proc/latency_stats", "/proc/mdstat", "/proc/modules", "/proc/partitions", "/proc/pressure",
		"/proc/sched_debug", "/proc/scsi",
		"/proc/softirqs", "/proc/swaps",
		"/proc/sys/kernel/random/boot_id", "/proc/sysrq-trigger", "/proc/sysvipc", "/proc/timer_list",
		"/proc/timer_stats",
	}
	readonlyPaths = []string{"/proc/sys"}
)

// Spec is the OCI configuration of a sandbox. It is a pure function of p: same
// policy, same configuration, on every host of one architecture.
func Spec(p Policy) (*specs.Spec, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	spec := &specs.Spec{
		Version:  OCIVersion,
		Hostname: Hostname,
		// Readonly makes runc mount the root once more and lose its nosuid and
		// nodev. The mount is read-only by itself: CheckRoot looks at it before,
		// threegate-init from the inside.
		Root:    &specs.Root{Path: p.Root, Readonly: p.OwnKernel},
		Process: process(p),
		Mounts:  mounts(p),
		Linux: &specs.Linux{
			CgroupsPath: p.CgroupsPath,
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace},
				{Type: specs.MountNamespace}, {Type: specs.NetworkNamespace}, {Type: specs.CgroupNamespace},
			},
			Resources:         resources(p),
			Seccomp:           seccompProfile(p.Egress, p.OwnKernel),
			MaskedPaths:       slices.Clone(maskedPaths),
			ReadonlyPaths:     slices.Clone(readonlyPaths),
			RootfsPropagation: "rprivate",
		},
	}
	if p.Mapped {
		spec.Linux.Namespaces = append(spec.Linux.Namespaces, specs.LinuxNamespace{Type: specs.UserNamespace})
		spec.Linux.UIDMappings = idMappings(p.FirstID, job.PayloadUID)
		spec.Linux.GIDMappings = idMappings(p.FirstID, job.PayloadGID)
	}
	return spec, nil
}

// idMappings are those of process 1 and of the payload; there is nobody else.
func idMappings(first int, payload uint32) []specs.LinuxIDMapping {
	return []specs.LinuxIDMapping{
		{ContainerID: 0, HostID: uint32(first), Size: 1},
		{ContainerID: payload, HostID: uint32(first) + 1, Size: 1},
	}
}

func process(p Policy) *specs.Process {
	limit := func(name string, n uint64) specs.POSIXRlimit {
		return specs.POSIXRlimit{Type: name, Hard: n, Soft: n}
	}
	score := initOOMScore
	cpu := CPUSeconds(p)
	return &specs.Process{
		User: specs.User{UID: 0, GID: 0},
		Args: []string{job.InitPath},
		// One thread at a time is enough for init, and keeps its thread count small.
		Env: []string{"PATH=/usr/bin:/bin", "GOMAXPROCS=1", "GOTRACEBACK=none"},
		Cwd: "/",
		Capabilities: &specs.LinuxCapabilities{
			Bounding: slices.Clone(initCapabilities), Effective: slices.Clone(initCapabilities),
			Permitted: slices.Clone(initCapabilities),
		},
		Rlimits: []specs.POSIXRlimit{
			limit("RLIMIT_CORE", 0),
			// SIGXCPU first: it tells why. SIGKILL would say nothing.
			{Type: "RLIMIT_CPU", Soft: cpu, Hard: cpu + job.CPUHardLater},
			limit("RLIMIT_FSIZE", uint64(p.FileBytes)),
			// Of what the kernel counts for a user, apart from the control group: little or
			// nothing, whatever the daemon's own limits are.
			limit("RLIMIT_MEMLOCK", maxLockedBytes),
			limit("RLIMIT_MSGQUEUE", 0),
			limit("RLIMIT_NICE", 0),
			limit("RLIMIT_NOFILE", uint64(p.OpenFiles)),
			limit("RLIMIT_RTPRIO", 0),
			limit("RLIMIT_SIGPENDING", maxPending),
		},
		NoNewPrivileges: true,
		OOMScoreAdj:     &score,
	}
}

func mounts(p Policy) []specs.Mount {
	bind := func(dst, src string, options ...string) specs.Mount {
		return specs.Mount{Destination: dst, Type: "bind", Source: src,
			Options: append([]string{"bind", "nosuid", "nodev"}, options...)}
	}
	tmp := bind(TmpDir, p.Tmp, "noexec", "rw")
	if p.ExecTmp {
		tmp = bind(TmpDir, p.Tmp, "rw")
	}
	// Devices are files of the sandbox's own: locks on the host's would be seen by other runs.
	dev := specs.Mount{Destination: "/dev", Type: "bind", Source: p.Dev,
		Options: []string{"bind", "nosuid", "noexec", "ro"}}
	if p.OwnKernel { // which makes devices itself
		dev = specs.Mount{Destination: "/dev", Type: "tmpfs", Source: "tmpfs",
			Options: []string{"nosuid", "noexec", "strictatime", "mode=755", "size=64k", "ro"}}
	}
	return []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc",
			Options: []string{"nosuid", "noexec", "nodev", "hidepid=2"}},
		dev,
		bind(ShmDir, p.Shm, "noexec", "rw"),
		bind(InDir, p.In, "noexec", "ro"),
		bind(OutDir, p.Out, "noexec", "rw"),
		tmp,
		bind(job.Dir, p.Gate, "noexec", "rw"),
	}
}

func resources(p Policy) *specs.LinuxResources {
	l := Limits(p)
	period := uint64(l.CPUPeriodMicros)
	r := &specs.LinuxResources{
		Devices: []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}},
		CPU:     &specs.LinuxCPU{Quota: &l.CPUQuotaMicros, Period: &period},
		Memory:  &specs.LinuxMemory{Limit: &l.MemoryBytes},
		Pids:    &specs.LinuxPids{Limit: &l.Pids},
	}
	if p.SwapControl {
		swap := l.MemoryBytes // memory and swap together: no swap
		r.Memory.Swap = &swap
	}
	return r
}

// Limits are the limits of a sandbox's control group, as Spec has them.
func Limits(p Policy) cgroup.Limits {
	quota, period := cpuBandwidth(p.MilliCPU)
	return cgroup.Limits{
		CPUQuotaMicros: quota, CPUPeriodMicros: int64(period),
		MemoryBytes: p.MemoryBytes + job.InitMemoryBytes, Pids: int64(p.Pids) + job.InitPids,
	}
}

// CPUSeconds is the limit of each process's cpu time.
func CPUSeconds(p Policy) uint64 { return uint64((p.CPUTime + time.Second - 1) / time.Second) }

// cpuBandwidth is quota and period in microseconds.
func cpuBandwidth(milliCPU int) (int64, uint64) {
	period := cpuPeriod
	if cpuPeriod*time.Duration(milliCPU)/1000 < cpuQuotaMin {
		period = cpuPeriodMax
	}
	quota := max(period*time.Duration(milliCPU)/1000, cpuQuotaMin)
	return quota.Microseconds(), uint64(period.Microseconds())
}
