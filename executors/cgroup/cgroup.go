// Package cgroup reads what the kernel counted for one sandbox, of either
// cgroup version, sets the limits of a slot, and ends and removes
// what is left of its groups. It trusts the kernel and the paths that its callers made.
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Root is where every supported host mounts its hierarchies.
const Root = "/sys/fs/cgroup"

// Usage is what a sandbox used. A counter that the kernel does not keep is 0.
type Usage struct {
	// OOMKills counts processes that the kernel killed at the memory limit.
	OOMKills int64
	// PidsMax counts forks that failed at the process limit.
	PidsMax int64
	// MemoryPeak is in bytes, page cache and tmpfs pages included.
	MemoryPeak int64
	CPU        time.Duration
}

// Read reads the counters of the group at path, which is absolute below the
// root of each hierarchy.
func Read(root, path string) Usage {
	if Unified(root) {
		return readV2(filepath.Join(root, path))
	}
	memory := filepath.Join(root, "memory", path)
	return Usage{
		OOMKills:   keyed(filepath.Join(memory, "memory.oom_control"))["oom_kill"],
		PidsMax:    keyed(filepath.Join(root, "pids", path, "pids.events"))["max"],
		MemoryPeak: number(filepath.Join(memory, "memory.max_usage_in_bytes")),
		CPU:        time.Duration(number(filepath.Join(root, "cpuacct", path, "cpuacct.usage"))),
	}
}

func readV2(dir string) Usage {
	return Usage{
		OOMKills:   keyed(filepath.Join(dir, "memory.events"))["oom_kill"],
		PidsMax:    keyed(filepath.Join(dir, "pids.events"))["max"],
		MemoryPeak: number(filepath.Join(dir, "memory.peak")),
		CPU:        time.Duration(keyed(filepath.Join(dir, "cpu.stat"))["usage_usec"]) * time.Microsecond,
	}
}

// Unified says whether the controllers below root are those of cgroup v2.
func Unified(root string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(root, &fs) == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC
}

// Remove removes the group at path from every hierarchy, if it is empty of
// processes. It is no error if there is none.
func Remove(root, path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" {
		return errors.New("cgroup: " + strconv.Quote(path) + " is no group of ours")
	}
	dirs := []string{filepath.Join(root, path)}
	if !Unified(root) {
		found, err := filepath.Glob(filepath.Join(root, "*"))
		if err != nil {
			return err
		}
		dirs = nil
		for _, hierarchy := range found {
			if st, err := os.Lstat(hierarchy); err == nil && st.IsDir() { // cpu,cpuacct have links to them
				dirs = append(dirs, filepath.Join(hierarchy, path))
			}
		}
	}
	var errs []error
	for _, dir := range dirs {
		err := unix.Rmdir(dir)
		// systemd makes folders for hierarchies that the kernel then does not have, on
		// what it makes read-only: that comes before that there is nothing.
		if errors.Is(err, unix.EROFS) && !exists(dir) {
			continue
		}
		if err != nil && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, &os.PathError{Op: "rmdir", Path: dir, Err: err})
		}
	}
	return errors.Join(errs...)
}

func exists(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// keyed reads lines of "key value".
func keyed(file string) map[string]int64 {
	out := map[string]int64{}
	all, err := os.ReadFile(file)
	if err != nil {
		return out
	}
	for line := range strings.Lines(string(all)) {
		key, value, _ := strings.Cut(line, " ")
		if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil {
			out[key] = n
		}
	}
	return out
}

func number(file string) int64 {
	all, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(all)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// processes is the folder of a group that tells its processes.
func processes(root, path string) string {
	if Unified(root) {
		return filepath.Join(root, path)
	}
	return filepath.Join(root, "pids", path)
}

// List names the groups directly below the one at path: none if there is no such group.
func List(root, path string) ([]string, error) {
	entries, err := os.ReadDir(processes(root, path))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range entries {
		if d.IsDir() {
			names = append(names, d.Name())
		}
	}
	return names, nil
}

// Procs are the processes in the group at path.
func Procs(root, path string) ([]int, error) {
	data, err := os.ReadFile(filepath.Join(processes(root, path), "cgroup.procs"))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, line := range strings.Fields(string(data)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 1 { // 0 is one that this namespace can't see
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

const (
	killTime = 5 * time.Second
	// Looks at a group follow each other at longer and longer intervals.
	killPauseMin = 200 * time.Microsecond
	killPauseMax = 5 * time.Millisecond
)

// Kill ends every process of the group at path and waits until none is left. It
// is for groups whose runtime is gone; it is no error if there is none.
func Kill(root, path string) error {
	look := signalAll
	if Unified(root) {
		look = killTree
	}
	pause := killPauseMin
	for end := time.Now().Add(killTime); ; pause = min(2*pause, killPauseMax) {
		empty, err := look(root, path)
		if err != nil {
			return fmt.Errorf("kill cgroup %s: %w", path, err)
		}
		if empty {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("kill cgroup %s: its processes do not end", path)
		}
		time.Sleep(pause)
	}
}

// killTree has the kernel end all that is in the group and below it, and says whether it was
// empty. The list of processes does not tell: one that is dying is not in it, and keeps the
// group from being removed.
func killTree(root, path string) (empty bool, err error) {
	dir := filepath.Join(root, path)
	events, err := os.ReadFile(filepath.Join(dir, "cgroup.events"))
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV): // it is gone
		return true, nil
	case err != nil:
		return false, err
	case strings.Contains(string(events), "populated 0\n"):
		return true, nil
	}
	err = write(filepath.Join(dir, "cgroup.kill"), "1")
	if (errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV)) && !exists(dir) {
		return true, nil
	}
	return false, err
}

// signalAll signals all processes of the group, and says whether it was empty.
func signalAll(root, path string) (empty bool, err error) {
	pids, err := Procs(root, path)
	if err != nil {
		return false, err
	}
	// Init is among them, and takes all of its pid namespace along.
	for _, pid := range pids {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			return false, err
		}
	}
	return len(pids) == 0, nil
}
