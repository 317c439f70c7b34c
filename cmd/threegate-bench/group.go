package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/cgroup"
)

// sandboxGroup is the group of all sandboxes of this host: whatever else runs
// in sandboxes meanwhile is counted too.
const sandboxGroup = "/threegate"

// group is a control group that counts the cpu time of a node's own processes.
type group struct{ path string }

func newGroup(name string) (group, error) {
	g := group{"/" + name}
	if err := os.Mkdir(g.dir(), 0o755); err != nil {
		return g, err
	}
	return g, nil
}

func (g group) dir() string {
	if cgroup.Unified(cgroup.Root) {
		return filepath.Join(cgroup.Root, g.path)
	}
	return filepath.Join(cgroup.Root, "cpuacct", g.path)
}

func (g group) add(pid int) error {
	return os.WriteFile(filepath.Join(g.dir(), "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}

func (g group) remove() error {
	var err error
	for range 50 { // processes of the daemon end after it
		if err = unix.Rmdir(g.dir()); err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return &os.PathError{Op: "rmdir", Path: g.dir(), Err: err}
}

// cpu is the cpu time of the node and of its sandboxes, counted by the kernel
// beyond the end of processes and groups.
func (g group) cpu() time.Duration {
	return cgroup.Read(cgroup.Root, g.path).CPU + cgroup.Read(cgroup.Root, sandboxGroup).CPU
}

// memory is the proportional set size, in bytes, of the node's processes and
// all of their descendants.
func (g group) memory() int64 {
	data, err := os.ReadFile(filepath.Join(g.dir(), "cgroup.procs"))
	if err != nil {
		return 0
	}
	ours := map[string]bool{}
	for _, pid := range strings.Fields(string(data)) {
		ours[pid] = true
	}
	parents := map[string]string{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, s := range stats {
		line, err := os.ReadFile(s)
		if err != nil {
			continue
		}
		after := string(line)[strings.LastIndexByte(string(line), ')')+1:]
		if f := strings.Fields(after); len(f) > 1 {
			parents[filepath.Base(filepath.Dir(s))] = f[1]
		}
	}
	var sum int64
	for pid := range parents {
		for p := pid; p != "" && p != "0"; p = parents[p] {
			if ours[p] {
				sum += pss(pid)
				break
			}
		}
	}
	return sum
}

func pss(pid string) int64 {
	data, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, "Pss:"); ok {
			n, _ := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}
