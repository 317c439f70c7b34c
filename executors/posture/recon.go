package posture

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// reconTechniques are what tools that test containers look for first: anything of
// the host, of an orchestrator or of other containers within reach.
var reconTechniques = []technique{
	{"foreign-devices", "recon", "none", "", "find a device beside the harmless six", foreignDevices},
	{"foreign-mounts", "recon", "none", "", "find a mount that no sandbox has", foreignMounts},
	{"writable-folders", "recon", "none", "", "find a folder to write to beside /out, /tmp and /dev/shm", writableFolders},
	{"sockets-in-files", "recon", "none", "", "find a socket of somebody's in the files", socketsInFiles},
	{"unix-table", "recon", "none", "", "find sockets of the host in /proc/net/unix", unixTable},
	{"tcp-table", "recon", "none", "", "find services of others in /proc/net/tcp", tcpTable},
	{"neighbours", "recon", "none", "", "find neighbours in the ARP table", func() error { return tableHas("/proc/net/arp", 1) }},
	{"cgroup-path", "recon", "none", "", "learn the name of the container from its control group", cgroupPath},
	{"environment", "recon", "none", "", "find secrets and services in the environment", environment},
	{"groups", "recon", "none", "", "be in a group (docker, disk) that others own", func() error {
		if groups, err := os.Getgroups(); err != nil || len(groups) > 0 {
			return err
		}
		return none
	}},
	{"kernel-threads", "recon", "ENOENT|none", "", "see the host's kernel threads", kernelThreads},
	{"credentials", "recon", "none", "", "find keys and tokens in the files", credentials},
	{"service-account", "recon", "ENOENT", "", "read the token of a Kubernetes service account", func() error {
		return readFrom("/var/run/secrets/kubernetes.io/serviceaccount/token")
	}},
	{"folder-outside", "recon", "none", "", "be in a folder outside of the root (CVE-2024-21626)", folderOutside},
	{"descriptor-outside", "recon", "none", "", "reach the host's root through a descriptor (CVE-2024-21626)", descriptorOutside},
	{"dirty-pipe", "recon", "none", "", "write into a file that was opened for reading (CVE-2022-0847)", dirtyPipe},
	{"dirty-cow", "recon", "none|EIO|EPERM", "", "write into a read-only file through own memory (CVE-2016-5195)", dirtyCow},
	{"physical-addresses", "recon", "none|EPERM|EACCES", "", "learn physical addresses (/proc/self/pagemap)", physicalAddresses},
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

// harmlessDevices are those that runtimes put into every container.
var harmlessDevices = []string{"/dev/full", "/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"}

func foreignDevices() error {
	hit := false
	err := filepath.WalkDir("/dev", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&fs.ModeDevice != 0 && !slices.Contains(harmlessDevices, path) {
			hit = true
			return fs.SkipAll
		}
		return nil
	})
	return reported(hit, err)
}

// sandboxMounts are the mount points of every sandbox; masks lie below /proc.
var sandboxMounts = []string{"/", "/proc", "/dev", "/dev/shm", "/in", "/out", "/tmp", "/gate", "/gate-init"}

func foreignMounts() error {
	text, err := readAll("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 6 {
			return found("unreadable")
		}
		at := f[4]
		if !slices.Contains(sandboxMounts, at) && !slices.Contains(harmlessDevices, at) && !strings.HasPrefix(at, "/proc/") {
			return nil
		}
	}
	return none
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
		if hit(path, d) {
			yes = true
			return fs.SkipAll
		}
		return nil
	})
	return reported(yes, err)
}

func writableFolders() error {
	return walkFiles(func(path string, d fs.DirEntry) bool {
		return d.IsDir() && path != "/out" && path != "/tmp" && !strings.HasPrefix(path, "/out/") && !strings.HasPrefix(path, "/tmp/") &&
			unix.Access(path, unix.W_OK) == nil
	})
}

func socketsInFiles() error {
	return walkFiles(func(_ string, d fs.DirEntry) bool { return d.Type()&fs.ModeSocket != 0 })
}

// credentialFiles end the path of what holds keys or tokens.
var credentialFiles = []string{"/.ssh/id_rsa", "/.ssh/id_ed25519", "/.aws/credentials", "/.kube/config", "/.docker/config.json", "/.git-credentials",
	"/.netrc", "/.bash_history", "/.dockerenv", "/.config/gcloud/credentials.db", "/serviceaccount/token", "/docker.sock", "/containerd.sock"}

func credentials() error {
	return walkFiles(func(path string, _ fs.DirEntry) bool {
		return slices.ContainsFunc(credentialFiles, func(end string) bool { return strings.HasSuffix(path, end) })
	})
}

// unixTable: sockets of this network namespace, which are this program's own.
func unixTable() error { return tableHas("/proc/net/unix", 1) }

func tableHas(path string, heading int) error {
	text, err := readAll(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none
	}
	return reported(strings.Count(text, "\n") > heading, err)
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
			if len(f) > 3 && f[3] == listens && f[1] != "0100007F:0C38" {
				hit = true
			}
		}
	}
	return reported(hit, nil)
}

func cgroupPath() error {
	text, err := readAll("/proc/self/cgroup")
	if errors.Is(err, fs.ErrNotExist) {
		return none
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if _, path, ok := strings.Cut(strings.TrimSpace(line), ":/"); !ok || path != "" {
			return nil
		}
	}
	return none
}

// It is compiled when it is used: threegate-init starts twice for each sandbox.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)ssh_|k8s|kube|docker|podman|container|secret|token|passw|credential|api_?key|aws_|azure|google|threegate|_host=|_port=`)
})

func environment() error {
	return reported(slices.ContainsFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return secretName().MatchString(name + "=")
	}), nil)
}

func kernelThreads() error {
	name, err := readAll("/proc/2/comm")
	if err != nil {
		return err
	}
	return reported(strings.TrimSpace(name) == "kthreadd", nil)
}

// folderOutside: the kernel says "(unreachable)" of a folder that is not below
// the root, and its ".." leads elsewhere.
func folderOutside() error {
	at, err := os.Readlink("/proc/self/cwd")
	if err != nil {
		return err
	}
	return reported(!strings.HasPrefix(at, "/") || leadsOut("."), nil)
}

// leadsOut climbs from a folder to where ".." is the folder itself, which must be
// the root.
func leadsOut(folder string) bool {
	var root, top unix.Stat_t
	if unix.Stat("/", &root) != nil || unix.Stat(folder+strings.Repeat("/..", 64), &top) != nil {
		return false
	}
	return root.Dev != top.Dev || root.Ino != top.Ino
}

func descriptorOutside() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if leadsOut("/proc/self/fd/" + e.Name()) {
			return nil
		}
	}
	return none
}

const original = "threegate"

// readOnlyFile is a file that its owner may only read, and its descriptor.
func readOnlyFile(path string) (*os.File, error) {
	if err := os.WriteFile(path, []byte(original), 0o400); err != nil {
		return nil, found("no file to try with")
	}
	return os.Open(path)
}

// changed says whether the file is not what it was.
func changed(path string) error {
	text, err := readAll(path)
	return reported(text != original, err)
}

// dirtyPipe leaves the mark of a page that may be appended to in every buffer of a
// pipe, puts a page of the file into it, and writes.
func dirtyPipe() error {
	const path = "/tmp/threegate-posture-pipe"
	f, err := readOnlyFile(path)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	defer f.Close()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_NONBLOCK); err != nil {
		return err
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	block := make([]byte, 4096)
	for _, err := unix.Write(p[1], block); err == nil; _, err = unix.Write(p[1], block) {
	}
	for n, err := unix.Read(p[0], block); err == nil && n > 0; n, err = unix.Read(p[0], block) {
	}
	var from int64
	if _, err := unix.Splice(int(f.Fd()), &from, p[1], nil, 1, 0); err != nil {
		return err
	}
	if _, err := unix.Write(p[1], []byte("X")); err != nil {
		return err
	}
	return changed(path)
}

// dirtyCow writes through /proc/self/mem into a private mapping of the file.
func dirtyCow() error {
	const path = "/tmp/threegate-posture-cow"
	f, err := readOnlyFile(path)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	defer f.Close()
	page, err := unix.Mmap(int(f.Fd()), 0, len(original), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	defer unix.Munmap(page)
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	for range 100 {
		if _, err := mem.WriteAt([]byte("X"), int64(addressOf(page))); err != nil {
			return err
		}
		if err := unix.Madvise(page, unix.MADV_DONTNEED); err != nil {
			return err
		}
	}
	return changed(path)
}

// physicalAddresses reads where own memory lies: the kernel must say nothing.
func physicalAddresses() error {
	page := make([]byte, 1<<16)
	for i := range page {
		page[i] = 1
	}
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return err
	}
	defer f.Close()
	var entry [8]byte
	if _, err := f.ReadAt(entry[:], int64(addressOf(page)/uintptr(os.Getpagesize()))*8); err != nil {
		return err
	}
	// The low 55 bits are the frame's number.
	return reported(slices.ContainsFunc(entry[:6], func(b byte) bool { return b != 0 }), nil)
}
