package posture

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// searches are the attempts that take more than one step, by name. Most look for what tools that
// test containers look for first: anything of the host or of other containers within reach.
var searches = map[string]func() error{
	hostIDs:              inHostIDs,
	"setns-pidfd":        setnsPidfd,
	"pidfd-signal-init":  pidfdSignal,
	"clock-settime":      setClock,
	"seccomp-listener":   seccompListener,
	"capabilities-held":  capabilitiesHeld,
	"core-dump":          coreDumps,
	"groups":             moreGroups,
	"syncfs":             syncInputs,
	"chown-root":         chownToRoot,
	"map-exec-tmp":       mapExec,
	"protect-exec-tmp":   protectExec,
	"exec-descriptor":    execDescriptor,
	"init-fd-open":       openThroughInit,
	"foreign-processes":  foreignProcesses,
	"kernel-threads":     kernelThreads,
	"leaked-descriptors": leakedDescriptors,
	"interfaces":         interfaces,
	"tcp-table":          tcpTable,
	"foreign-devices":    foreignDevices,
	"foreign-mounts":     foreignMounts,
	"mount-names":        mountNames,
	"cgroup-path":        cgroupPath,
	"environment":        environment,
	"setuid-files":       setuidFiles,
	"writable-folders":   writableFolders,
	"sockets-in-files": func() error {
		return walkFiles(func(_ string, d fs.DirEntry) bool { return d.Type()&fs.ModeSocket != 0 })
	},
	"credentials":        credentials,
	"folder-outside":     folderOutside,
	"descriptor-outside": descriptorOutside,
	"dirty-pipe":         dirtyPipe,
	"dirty-cow":          dirtyCow,
	"physical-addresses": physicalAddresses,
}

// reported ends a search: Possible if something was found, else none.
func reported(found bool, err error) error {
	switch {
	case found:
		return nil
	case err != nil:
		return err
	}
	return none
}

const hostIDs = "host-user-namespace"

// inHostIDs: in the host's own user namespace every id is mapped to itself.
func inHostIDs() error {
	text, err := readAll("/proc/self/uid_map")
	f := strings.Fields(text)
	return reported(len(f) == 3 && f[0] == "0" && f[1] == "0", err)
}

// withInit has something tried with a handle of process 1.
func withInit(try func(pidfd int) error) error {
	fd, err := unix.PidfdOpen(1, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return try(fd)
}

func setnsPidfd() error {
	return withInit(func(fd int) error {
		return onThread(func() error { return unix.Setns(fd, unix.CLONE_NEWNS|unix.CLONE_NEWPID) })
	})
}

func pidfdSignal() error {
	return withInit(func(fd int) error { return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) })
}

// setClock sets the clock to what it says.
func setClock() error {
	now := unix.NsecToTimespec(time.Now().UnixNano())
	return unix.ClockSettime(unix.CLOCK_REALTIME, &now)
}

// seccompListener installs a filter that allows everything, on a thread that ends.
func seccompListener() error {
	return onThread(func() error {
		const setModeFilter, newListener = 1, 8
		allow := unix.SockFilter{Code: 0x06, K: 0x7fff0000}
		prog := unix.SockFprog{Len: 1, Filter: &allow}
		fd, _, e := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, newListener, uintptr(unsafe.Pointer(&prog)))
		if e != 0 {
			return e
		}
		return unix.Close(int(fd))
	})
}

func capabilitiesHeld() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return err
	}
	hit := os.Getuid() == 0 || os.Getgid() == 0 || os.Geteuid() == 0
	for _, d := range data {
		hit = hit || d.Effective|d.Permitted|d.Inheritable != 0
	}
	for c := uintptr(0); ; c++ {
		held, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil { // past the last
			return reported(hit, nil)
		}
		hit = hit || held != 0
	}
}

func coreDumps() error {
	var r unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_CORE, &r)
	return reported(r.Max != 0, err)
}

func moreGroups() error {
	groups, err := os.Getgroups()
	return reported(len(groups) > 0, err)
}

func syncInputs() error {
	f, err := os.Open("/in")
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

func chownToRoot() error {
	return withFile("/tmp/threegate-posture-own", nil, 0o600,
		func(f *os.File) error { return os.Chown(f.Name(), 0, 0) })
}

const (
	mapFile = "/tmp/threegate-posture-map"
	page    = 4096
)

func mapExec() error {
	return withFile(mapFile, make([]byte, page), 0o600, func(f *os.File) error {
		mem, err := unix.Mmap(int(f.Fd()), 0, page, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		return unix.Munmap(mem)
	})
}

// protectExec maps a file as data and then asks for it to be code.
func protectExec() error {
	return withFile(mapFile, make([]byte, page), 0o700, func(f *os.File) error {
		mem, err := unix.Mmap(int(f.Fd()), 0, page, unix.PROT_READ, unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		defer unix.Munmap(mem)
		return unix.Mprotect(mem, unix.PROT_READ|unix.PROT_EXEC)
	})
}

func execDescriptor() error {
	return withProgram("/tmp", 0o700, func(f *os.File) error { return run(fmt.Sprintf("/proc/self/fd/%d", f.Fd())) })
}

func openThroughInit() error {
	entries, err := os.ReadDir("/proc/1/fd")
	for _, e := range entries {
		if len(e.Name()) == 1 && e.Name() <= "2" { // its streams are the runtime's /dev/null
			continue
		}
		// Not to block on a pipe.
		if openFile("/proc/1/fd/"+e.Name(), os.O_RDONLY|unix.O_NONBLOCK) == nil {
			return nil
		}
	}
	return reported(false, err)
}

// foreignProcesses looks for processes that are neither this one nor its own.
func foreignProcesses() error {
	uid := func(pid string) string {
		status, _ := readAll("/proc/" + pid + "/status")
		_, rest, _ := strings.Cut(status, "\nUid:")
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	entries, err := os.ReadDir("/proc")
	return reported(slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		name := e.Name()
		if strings.Trim(name, "0123456789") != "" {
			return false
		}
		its := uid(name)
		return its != "" && its != uid("self")
	}), err)
}

func kernelThreads() error {
	name, err := readAll("/proc/2/comm")
	return reported(strings.TrimSpace(name) == "kthreadd", err)
}

// leakedDescriptors looks for open files that are neither a stream nor made by
// this program's own runtime.
func leakedDescriptors() error {
	entries, err := os.ReadDir("/proc/self/fd")
	return reported(slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || len(e.Name()) == 1 && e.Name() <= "2" {
			return false
		}
		return !strings.HasPrefix(target, "anon_inode:[event") && !strings.HasSuffix(target, "/fd")
	}), err)
}

func interfaces() error {
	data, err := readAll("/proc/net/dev")
	if errors.Is(err, fs.ErrNotExist) {
		return none
	}
	hit := false
	for line := range strings.Lines(data) {
		name, _, isInterface := strings.Cut(strings.TrimSpace(line), ":")
		// Tunnel devices that the kernel puts into every namespace are down.
		hit = hit || isInterface && name != "lo" && !strings.HasSuffix(name, "0")
	}
	return reported(hit, err)
}

// tcpTable finds a listener other than the gate's proxy, 127.0.0.1:3128.
func tcpTable() error {
	hit := false
	for _, path := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := readAll(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			const listens = "0A"
			hit = hit || len(f) > 3 && f[3] == listens && f[1] != "0100007F:0C38"
		}
	}
	return reported(hit, nil)
}

// harmlessDevices are those that runtimes put into every container.
var harmlessDevices = []string{"/dev/full", "/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"}

func foreignDevices() error {
	hit := false
	err := filepath.WalkDir("/dev", func(path string, d fs.DirEntry, err error) error {
		hit = hit || err == nil && d.Type()&fs.ModeDevice != 0 && !slices.Contains(harmlessDevices, path)
		return nil
	})
	return reported(hit, err)
}

// mountsHave looks for a mount, given the fields of its line.
func mountsHave(hit func(f []string) bool) error {
	text, err := readAll("/proc/self/mountinfo")
	yes := false
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 9 {
			return found("unreadable")
		}
		yes = yes || hit(f)
	}
	return reported(yes, err)
}

// sandboxMounts are the mount points of every sandbox; masks lie below /proc.
var sandboxMounts = []string{"/", "/proc", "/dev", "/dev/shm", "/in", "/out", "/tmp", "/gate"}

func foreignMounts() error {
	return mountsHave(func(f []string) bool {
		return !slices.Contains(sandboxMounts, f[4]) && !strings.HasPrefix(f[4], "/proc/")
	})
}

// sandboxFolders are what the mounts of a sandbox show of their file systems.
var sandboxFolders = []string{"/", "/empty", "/null", "/shm", "/tmp"}

func mountNames() error {
	return mountsHave(func(f []string) bool {
		n := len(f)
		if kind := f[n-3]; kind == "proc" {
			return false
		}
		options := strings.Replace(f[n-1], ",aname=/,", ",", 1) // gVisor: the mount shows all of its file system
		return !slices.Contains(sandboxFolders, f[3]) || strings.Contains(f[n-2]+options, "/")
	})
}

func cgroupPath() error {
	text, err := readAll("/proc/self/cgroup")
	if errors.Is(err, fs.ErrNotExist) {
		return none
	}
	hit := false
	for line := range strings.Lines(text) {
		_, path, ok := strings.Cut(strings.TrimSpace(line), ":/")
		hit = hit || !ok || path != ""
	}
	return reported(hit, err)
}

const secretNames = `(?i)ssh_|k8s|kube|docker|podman|container|secret|token|passw|credential|api_?key|` +
	`aws_|azure|google|threegate|_host=|_port=`

func environment() error {
	rule := regexp.MustCompile(secretNames)
	return reported(slices.ContainsFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return rule.MatchString(name + "=")
	}), nil)
}

// walkFiles goes through the whole tree but for what the kernel makes up, until
// hit says that it has found something.
func walkFiles(hit func(path string, d fs.DirEntry) bool) error {
	yes := false
	err := filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what can't be read can't be used
		}
		if path == "/proc" || path == "/dev" {
			return fs.SkipDir
		}
		if yes = hit(path, d); yes {
			return fs.SkipAll
		}
		return nil
	})
	return reported(yes, err)
}

// setuidFiles: the mounts are nosuid, so that one would do nothing; there should be none all the same.
func setuidFiles() error {
	return walkFiles(func(path string, d fs.DirEntry) bool {
		if !d.Type().IsRegular() {
			return false
		}
		info, err := d.Info()
		n, xerr := unix.Lgetxattr(path, "security.capability", nil)
		return err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 || xerr == nil && n > 0
	})
}

func writableFolders() error {
	return walkFiles(func(path string, d fs.DirEntry) bool {
		own := path == "/out" || path == "/tmp" || strings.HasPrefix(path, "/out/") || strings.HasPrefix(path, "/tmp/")
		return d.IsDir() && !own && unix.Access(path, unix.W_OK) == nil
	})
}

// credentialFiles end the path of what holds keys or tokens.
var credentialFiles = []string{"/.ssh/id_rsa", "/.ssh/id_ed25519", "/.aws/credentials", "/.kube/config",
	"/.docker/config.json",
	"/.git-credentials", "/.netrc", "/.bash_history", "/.dockerenv", "/.config/gcloud/credentials.db",
	"/serviceaccount/token",
	"/docker.sock", "/containerd.sock"}

func credentials() error {
	return walkFiles(func(path string, _ fs.DirEntry) bool {
		return slices.ContainsFunc(credentialFiles, func(end string) bool { return strings.HasSuffix(path, end) })
	})
}
