package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
)

// initRights are the capabilities of process 1 as the kernel prints them: kill, setgid,
// setuid and setpcap.
const initRights = "00000000000001e0"

// Verify looks at a sandbox from outside, before anything of a request runs in it, and
// believes the kernel only: process 1 has the identity, namespaces, mounts, control group
// and filter that the policy asks for. It must wait for its payload. All faults are
// reported, joined. It is not for runtimes with a kernel of their own.
func Verify(pid int, p Policy) error {
	c := &checker{}
	v := verifier{checker: c, dir: fmt.Sprintf("/proc/%d", pid)}
	v.threads(p)
	v.namespaces(p)
	v.mounts(p)
	v.masks(p)
	exe, err := os.Readlink(v.dir + "/exe")
	c.must(err == nil && exe == job.InitPath, "process 1 is %q, %v", exe, err)
	pids, err := cgroup.Procs(cgroup.Root, p.CgroupsPath)
	c.must(err == nil && slices.Equal(pids, []int{pid}), "the processes of its group are %v, %v", pids, err)
	lines := strings.Split(v.read("net/dev"), "\n")
	c.must(len(lines) == 3 && strings.HasPrefix(strings.TrimSpace(lines[2]), "lo:"), "it has a network: %q", lines)
	return errors.Join(c.errs...)
}

type verifier struct {
	*checker
	dir string // of process 1 in /proc
}

// read gives the text of a file of process 1, or "" and a fault.
func (v verifier) read(name string) string {
	text, err := os.ReadFile(filepath.Join(v.dir, name))
	v.must(err == nil, "%v", err)
	return strings.TrimSpace(string(text))
}

// threads wants every thread to have the same identity, and to have given up the same rights.
func (v verifier) threads(p Policy) {
	all, err := os.ReadDir(v.dir + "/task")
	v.must(err == nil && len(all) > 0 && len(all) <= job.InitPids, "process 1 has %d threads, %v", len(all), err)
	id := "0 0 0 0"
	if p.Mapped {
		one := strconv.Itoa(p.FirstID)
		id = strings.Join([]string{one, one, one, one}, " ")
	}
	const none = "0000000000000000"
	for _, t := range all {
		status := map[string]string{}
		for line := range strings.Lines(v.read("task/" + t.Name() + "/status")) {
			key, value, _ := strings.Cut(line, ":")
			status[key] = strings.Join(strings.Fields(value), " ")
		}
		for key, want := range map[string]string{
			"Uid": id, "Gid": id, "NoNewPrivs": "1", "Seccomp": "2", "TracerPid": "0",
			"CapInh": none, "CapAmb": none, "CapBnd": none, "CapPrm": initRights, "CapEff": initRights,
		} {
			v.must(status[key] == want, "%s of a thread is %q, not %q", key, status[key], want)
		}
	}
}

// namespaces wants each to be another one than the host's.
func (v verifier) namespaces(p Policy) {
	kinds := []string{"cgroup", "ipc", "mnt", "net", "pid", "uts"}
	if p.Mapped {
		kinds = append(kinds, "user")
		var rows []string
		for _, m := range idMappings(p.FirstID, job.PayloadUID) {
			rows = append(rows, fmt.Sprint(m.ContainerID, m.HostID, m.Size))
		}
		got := strings.Join(strings.Fields(v.read("uid_map")), " ")
		v.must(got == strings.Join(rows, " "), "ids are mapped as %q", got)
	}
	for _, ns := range kinds {
		its, err := os.Readlink(v.dir + "/ns/" + ns)
		ours, oerr := os.Readlink("/proc/self/ns/" + ns)
		v.must(err == nil && oerr == nil && its != ours, "its %s namespace is the host's", ns)
	}
}

// mounts wants those of the configuration, with their flags, and no other.
func (v verifier) mounts(p Policy) {
	list, err := mountinfo.GetMountsFromReader(strings.NewReader(v.read("mountinfo")), nil)
	v.must(err == nil, "%v", err)
	need := map[string][]string{"/": {"ro", "nosuid", "nodev"}}
	for at, m := range allowedMounts {
		need[at] = slices.DeleteFunc(slices.Clone(m.options), func(o string) bool { return o == "hidepid=2" })
	}
	seen := map[string]int{}
	for _, m := range list {
		seen[m.Mountpoint]++
		v.must(m.Optional == "", "%s is shared with others: %s", m.Mountpoint, m.Optional)
		want, known := need[m.Mountpoint]
		if !known && slices.Contains(slices.Concat(maskedPaths, readonlyPaths), m.Mountpoint) {
			known = true // what it hides and how is for masks to say
		}
		v.must(known, "there is a mount on %q", m.Mountpoint)
		options := strings.Split(m.Options, ",")
		if m.Mountpoint == TmpDir {
			v.must(slices.Contains(options, "noexec") != p.ExecTmp, "%s is noexec or not, unlike what is meant", TmpDir)
		}
		for _, o := range want {
			v.must(slices.Contains(options, o), "%s is not %s but %s", m.Mountpoint, o, m.Options)
		}
	}
	for at := range need {
		v.must(seen[at] > 0, "%s is not mounted", at)
	}
}

// masks wants what is hidden of /proc to be so for process 1, by whatever mounts the runtime did it.
func (v verifier) masks(p Policy) {
	for _, at := range slices.Concat(maskedPaths, readonlyPaths) {
		var fs unix.Statfs_t
		err := unix.Statfs(v.dir+"/root"+at, &fs)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		v.must(err == nil && fs.Flags&unix.ST_RDONLY != 0, "%s is writable, %v", at, err)
	}
	for _, at := range maskedPaths {
		switch info, err := os.Lstat(v.dir + "/root" + at); {
		case errors.Is(err, os.ErrNotExist):
		case err == nil && info.IsDir():
			inside, err := os.ReadDir(v.dir + "/root" + at)
			v.must(err == nil && len(inside) == 0, "%s is not empty, %v", at, err)
		default:
			v.must(err == nil && isNull(info, p), "%s is not masked with the sandbox's own /dev/null, %v", at, err)
		}
	}
}

// isNull says whether a file is the sandbox's own /dev/null.
func isNull(info os.FileInfo, p Policy) bool {
	null, err := os.Stat(filepath.Join(p.Dev, "null"))
	return err == nil && os.SameFile(info, null)
}

// ForeignMasks are the files of /proc of process 1 that were masked with another /dev/null than the
// sandbox's own.
func ForeignMasks(pid int, p Policy) []string {
	var all []string
	for _, at := range maskedPaths {
		info, err := os.Lstat(fmt.Sprintf("/proc/%d/root%s", pid, at))
		if err == nil && info.Mode()&os.ModeDevice != 0 && !isNull(info, p) {
			all = append(all, at)
		}
	}
	return all
}
