package posture

import (
	"bytes"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// procTechniques go through /proc, /sys and /dev.
var procTechniques = []technique{
	writes("core-pattern", "EROFS|EACCES", "/proc/sys/kernel/core_pattern", "have the kernel start a program for core dumps"),
	writes("modprobe-path", "EROFS|EACCES|ENOENT", "/proc/sys/kernel/modprobe", "have the kernel start a program for modules"),
	writes("sysctl-net", "EROFS|EACCES", "/proc/sys/net/ipv4/ip_forward", "change a network setting"),
	writes("sysctl-vm", "EROFS|EACCES", "/proc/sys/vm/overcommit_memory", "change a memory setting"),
	writes("sysctl-ns-pid", "EROFS|EACCES|ENOENT", "/proc/sys/kernel/ns_last_pid", "choose the next pid"),
	writes("sysctl-shm", "EROFS|EACCES", "/proc/sys/kernel/shmmax", "change a limit of the ipc namespace"),
	writes("sysctl-userns", "EROFS|EACCES", "/proc/sys/user/max_user_namespaces", "change a limit of the user namespace"),
	writes("binfmt-misc", "EROFS|EACCES|ENOENT", "/proc/sys/fs/binfmt_misc/register", "register an interpreter for programs"),
	writes("sysrq-trigger", "EACCES|ENOENT|EROFS", "/proc/sysrq-trigger", "press the magic key"),
	writes("irq-affinity", "EACCES|ENOENT|EROFS", "/proc/irq/default_smp_affinity", "move interrupts"),
	writes("mtrr", "EACCES|ENOENT|EROFS|EPERM", "/proc/mtrr", "change memory types"),
	writes("scsi", "EACCES|ENOENT|EROFS", "/proc/scsi/scsi", "add and remove disks"),
	writes("self-setgroups", "EACCES|EPERM|EROFS", "/proc/self/setgroups", "allow a change of groups"),
	writes("init-oom-score", "ENOENT|EACCES", "/proc/1/oom_score_adj", "have process 1 killed first"),
	writes("sysctl-hostname", "EROFS|EACCES", "/proc/sys/kernel/hostname", "change the host name by a setting"),
	writes("sysctl-aslr", "EROFS|EACCES|ENOENT", "/proc/sys/kernel/randomize_va_space", "turn address randomisation off for all"),
	writes("sysctl-ptrace", "EROFS|EACCES|ENOENT", "/proc/sys/kernel/yama/ptrace_scope", "let processes be traced"),
	writes("sysctl-suid-dump", "EROFS|EACCES|ENOENT", "/proc/sys/fs/suid_dumpable", "have privileged programs dump core"),
	writes("sysctl-poweroff", "EROFS|EACCES|ENOENT", "/proc/sys/kernel/poweroff_cmd", "have the kernel start a program at power-off"),
	writes("sysctl-panic", "EROFS|EACCES|ENOENT", "/proc/sys/kernel/panic", "have the host start anew"),
	writes("sysctl-drop-caches", "EROFS|EACCES|ENOENT", "/proc/sys/vm/drop_caches", "empty the host's caches"),
	writes("init-exe", "ENOENT|EACCES|ETXTBSY", "/proc/1/exe", "overwrite the runtime through process 1 (CVE-2019-5736)"),
	writes("pressure-cpu", "EACCES|ENOENT|EROFS|EPERM", "/proc/pressure/cpu", "have the kernel watch the host's processors"),
	writes("pressure-memory", "EACCES|ENOENT|EROFS|EPERM", "/proc/pressure/memory", "have the kernel watch the host's memory"),
	writes("pressure-io", "EACCES|ENOENT|EROFS|EPERM", "/proc/pressure/io", "have the kernel watch the host's disks"),
	writes("debugfs", "ENOENT", "/sys/kernel/debug/sched/features", "change the kernel by debugfs"),
	writes("tracefs", "ENOENT", "/sys/kernel/tracing/tracing_on", "trace the kernel"),
	writes("efi-variables", "ENOENT", "/sys/firmware/efi/efivars", "change the firmware"),
	writes("lxcfs", "ENOENT", "/var/lib/lxcfs/cgroup/devices/devices.allow", "allow itself devices through lxcfs"),
	writes("uevent-helper", "ENOENT", "/sys/kernel/uevent_helper", "have the kernel start a program for devices"),
	writes("release-agent", "ENOENT", "/sys/fs/cgroup/memory/release_agent", "have the kernel start a program for empty groups"),
	writes("own-cgroup-limit", "ENOENT", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "raise the own memory limit"),
	writes("own-cgroup-v2", "ENOENT", "/sys/fs/cgroup/memory.max", "raise the own memory limit (v2)"),
	{"lower-oom-score", "procfs", "EACCES|EPERM", "", "have others killed when memory is short", func() error { return writeTo("/proc/self/oom_score_adj", "-1000") }},

	reads("kcore", "EACCES|ENOENT|empty", "/proc/kcore", "read the kernel's memory"),
	reads("kmsg", "EACCES|ENOENT|empty", "/proc/kmsg", "read the kernel's log"),
	reads("kallsyms", "EACCES|ENOENT|empty", "/proc/kallsyms", "read the kernel's addresses"),
	reads("keys", "EACCES|ENOENT|empty", "/proc/keys", "list keys"),
	reads("timer-list", "EACCES|ENOENT|empty", "/proc/timer_list", "list the host's timers"),
	reads("sched-debug", "EACCES|ENOENT|empty", "/proc/sched_debug", "list the host's processes"),
	reads("config-gz", "EACCES|ENOENT|empty", "/proc/config.gz", "read how the kernel was built"),
	reads("cmdline", "EACCES|ENOENT|empty", "/proc/cmdline", "read how the kernel was started"),
	reads("modules", "EACCES|ENOENT|empty", "/proc/modules", "list kernel modules"),
	reads("partitions", "EACCES|ENOENT|empty", "/proc/partitions", "list the host's disks"),
	reads("boot-id", "EACCES|ENOENT|empty", "/proc/sys/kernel/random/boot_id", "recognise the host by its boot id"),
	reads("acpi", "EACCES|ENOENT|empty|EISDIR", "/proc/acpi/wakeup", "read hardware settings"),
	reads("pci", "EACCES|ENOENT|empty|EISDIR", "/proc/bus/pci/devices", "list hardware"),
	reads("sysfs", "ENOENT", "/sys/kernel/uevent_seqnum", "read sysfs"),
	reads("sysfs-dmi", "ENOENT", "/sys/class/dmi/id/product_name", "read what machine this is"),
	reads("kpagecount", "EACCES|ENOENT|empty", "/proc/kpagecount", "read how often pages are used"),
	reads("kpageflags", "EACCES|ENOENT|empty", "/proc/kpageflags", "read what pages are used for"),
	reads("vmallocinfo", "EACCES|ENOENT|empty", "/proc/vmallocinfo", "read where the kernel's memory lies"),
	reads("slabinfo", "EACCES|ENOENT|empty", "/proc/slabinfo", "read what the kernel's memory holds"),
	reads("iomem", "EACCES|ENOENT|empty", "/proc/iomem", "read where devices lie"),
	reads("ioports", "EACCES|ENOENT|empty", "/proc/ioports", "read where ports lie"),
	reads("pagetypeinfo", "EACCES|ENOENT|empty", "/proc/pagetypeinfo", "read what the host's memory is used for"),
	reads("bpf-stats", "ENOENT", "/sys/fs/bpf", "find BPF objects of the host"),
	reads("securityfs", "ENOENT", "/sys/kernel/security/lsm", "read how the host is secured"),
	reads("init-environ", "ENOENT|EACCES", "/proc/1/environ", "read the environment of process 1"),
	reads("init-cmdline", "ENOENT|EACCES", "/proc/1/cmdline", "read the arguments of process 1"),
	reads("init-mem", "ENOENT|EACCES", "/proc/1/mem", "read the memory of process 1"),
	reads("init-mountinfo", "ENOENT|EACCES", "/proc/1/mountinfo", "read the mounts of process 1"),
	reads("init-root", "ENOENT|EACCES", "/proc/1/root/gate/job.json", "reach the root of process 1"),
	reads("init-cwd", "ENOENT|EACCES", "/proc/1/cwd/gate/job.json", "reach the folder of process 1"),
	{"init-fd", "procfs", "ENOENT|EACCES", "", "reach the descriptors of process 1", func() error { return list("/proc/1/fd") }},
	{"init-fd-open", "procfs", "ENOENT|EACCES|none", "", "open a file through a descriptor of process 1", openThroughInit},
	{"foreign-processes", "procfs", "none", "", "see processes of others in /proc", foreignProcesses},

	opens("dev-mem", "/dev/mem", "reach physical memory"),
	opens("dev-kmsg", "/dev/kmsg", "reach the kernel's log"),
	opens("dev-port", "/dev/port", "reach I/O ports"),
	opens("dev-kvm", "/dev/kvm", "make a virtual machine"),
	opens("dev-fuse", "/dev/fuse", "make a file system"),
	opens("dev-tun", "/dev/net/tun", "make a network interface"),
	opens("dev-loop", "/dev/loop-control", "make a block device"),
	opens("dev-vda", "/dev/vda", "reach a disk"),
	opens("dev-sda", "/dev/sda", "reach a disk"),
	opens("dev-nvme", "/dev/nvme0n1", "reach a disk"),
	opens("dev-mapper", "/dev/mapper/control", "make a block device of others"),
	opens("dev-msr", "/dev/cpu/0/msr", "reach the processor's registers"),
	opens("dev-uinput", "/dev/uinput", "type on the host's keyboard"),
	opens("dev-vhost", "/dev/vhost-net", "have the kernel move packets"),
	opens("dev-vfio", "/dev/vfio/vfio", "drive a device"),
	opens("dev-userfaultfd", "/dev/userfaultfd", "stop the kernel in a page fault"),
	opens("dev-autofs", "/dev/autofs", "answer for a file system"),
	opens("dev-ptmx", "/dev/ptmx", "make a terminal, to push input into (TIOCSTI)"),
	opens("dev-tty", "/dev/tty", "reach the terminal of the host"),
	opens("dev-console", "/dev/console", "reach the console"),
}

func writes(name, want, path, what string) technique {
	return technique{name: name, group: "procfs", want: want, what: what, try: func() error {
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // and not written to
		if err == nil {
			f.Close()
		}
		return err
	}}
}

func reads(name, want, path, what string) technique {
	return technique{name: name, group: "procfs", want: want, what: what, try: func() error { return readFrom(path) }}
}

func opens(name, path, what string) technique {
	return technique{name: name, group: "device", want: "ENOENT|ENXIO", what: what, try: func() error {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		return err
	}}
}

// readFrom fails with "empty" if nothing is in the file.
func readFrom(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := f.Read(make([]byte, 1))
	if n == 0 {
		if pe, ok := err.(*os.PathError); ok {
			return pe
		}
		return found("empty")
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

func list(dir string) error {
	_, err := os.ReadDir(dir)
	return err
}

func openThroughInit() error {
	entries, err := os.ReadDir("/proc/1/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if len(e.Name()) == 1 && e.Name() <= "2" { // its streams are the runtime's /dev/null
			continue
		}
		// Not to block on a pipe.
		f, err := os.OpenFile("/proc/1/fd/"+e.Name(), os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		isNull := sameAsNull(f)
		if err := f.Close(); err != nil || !isNull {
			return err
		}
	}
	return none
}

// sameAsNull says whether a file is the device that every process may open by its name.
func sameAsNull(f *os.File) bool {
	var file, null unix.Stat_t
	return unix.Fstat(int(f.Fd()), &file) == nil && unix.Stat(os.DevNull, &null) == nil &&
		file.Mode&unix.S_IFMT == unix.S_IFCHR && file.Rdev == null.Rdev
}

// foreignProcesses looks for processes that are neither this one nor its own.
func foreignProcesses() error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	self, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	uid := uidLine(self)
	for _, e := range entries {
		if strings.Trim(e.Name(), "0123456789") != "" {
			continue
		}
		status, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err == nil && !bytes.Equal(uidLine(status), uid) {
			return nil
		}
	}
	return none
}

func uidLine(status []byte) []byte {
	_, rest, _ := bytes.Cut(status, []byte("\nUid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return line
}
