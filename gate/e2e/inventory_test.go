package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/ledger"
)

// inventory counts what runs of a node could leave on the host. Other tests run
// on the same host: only what carries the ids of this node is counted. Sandboxes
// that wait for a run are none yet.
type inventory map[string]int

// tidyTime is how long containerd may take to tidy up after a run.
const tidyTime = patience

func takeInventory(t *testing.T, n *node) inventory {
	t.Helper()
	n.slots = watchSlots(t, filepath.Join(n.cfg.RunDir(), "slots"))
	// The first runs leave what all share: the private containerd.
	for i, r := range []request{era("", "print(1)"), javascript("", "1"), {backend: "monty", code: "print(1)\n"}} {
		r.id = fmt.Sprintf("TR-20260209-38000%dZ-first", i)
		n.send(r)
		n.result(n.await(r.id))
	}
	var inv inventory
	n.until("the first runs to be cleaned up", func() bool {
		inv = count(t, n)
		return inv["containers"] == 0 && inv["files of runs"] == 0 && inv["mounts of runs"] == 0 && inv["shims"] == 0 &&
			inv["control groups"] == 0 && inv["processes"] == 0 && inv["namespaces"] == 0
	})
	return inv
}

// count takes stock while no slot comes or goes: what belongs to one that was not there
// when the slots were listed would count as the node's.
func count(t *testing.T, n *node) (inv inventory) {
	t.Helper()
	n.until("a moment in which no slot is made", func() bool {
		idle := n.slots.look()
		inv = countWithout(t, n, idle)
		return slices.Equal(idle, n.slots.look())
	})
	return inv
}

// countWithout counts what belongs to none of the idle slots.
func countWithout(t *testing.T, n *node, idle []string) inventory {
	t.Helper()
	inv := inventory{}
	ofSlot := naming(idle)
	jobs := n.slots.taken(idle)
	for _, e := range n.events() {
		if e.Type == ledger.RunStarted {
			jobs = append(jobs, e.RunID)
		}
	}
	ofJob := naming(jobs)
	run := filepath.Dir(n.cfg.RunDir())
	mounts := read(t, "/proc/self/mountinfo")
	for line := range strings.Lines(mounts) {
		switch {
		case ofJob(line):
			inv["mounts of runs"]++
		case strings.Contains(line, "/roots/"): // one for each image, made at its first use
		case strings.Contains(line, run) && !ofSlot(line):
			inv["mounts of the node"]++
		}
	}
	for _, pattern := range []string{"/sys/fs/cgroup/*/threegate/*", "/sys/fs/cgroup/threegate/*",
		"/sys/fs/cgroup/*/threegate/*/*"} {
		groups, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			if ofJob(g) {
				inv["control groups"]++
			}
		}
	}
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"containers", "processes", "shims", "namespaces", "control groups", "mounts of runs",
		"descriptors of the gate"} {
		inv[k] += 0
	}
	namespaces := map[string]bool{}
	for _, p := range procs {
		groups, _ := os.ReadFile(filepath.Join(p, "cgroup"))
		line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		if ofJob(string(groups)) && !strings.Contains(string(line), "containerd-shim") {
			inv["processes"]++
			for _, kind := range []string{"mnt", "net", "pid", "ipc", "uts", "cgroup", "user"} {
				if ns, err := os.Readlink(filepath.Join(p, "ns", kind)); err == nil {
					namespaces[ns] = true
				}
			}
		}
		if strings.Contains(string(line), "containerd-shim") && ofJob(string(line)) {
			inv["shims"]++
		}
	}
	inv["namespaces"] = len(namespaces)
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		// One that the gate kept open would keep the namespace, too.
		to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", n.cmd.Process.Pid, fd.Name()))
		if strings.HasPrefix(to, "net:") || strings.HasPrefix(to, "mnt:") || ofJob(to) {
			inv["descriptors of the gate"]++
		}
	}
	inv["files of runs"] = len(below(t, filepath.Join(n.cfg.RunDir(), "boxes")))
	for _, dir := range []string{"/", "/etc", "/root", "/home", "/var", "/usr", "/usr/bin", "/dev", "/dev/mqueue",
		"/run/containerd", "/var/spool", "/var/crash"} {
		entries, err := os.ReadDir(dir)
		if err == nil {
			inv["files in "+dir] = len(entries)
		}
	}
	state := n.cfg.ContainerdState()
	for _, pattern := range []string{"io.containerd.runtime.v2.task/*/*", "runtime/*/*"} {
		found, err := filepath.Glob(filepath.Join(state, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if !ofSlot(filepath.Base(f)) {
				inv["containers"]++
			}
		}
	}
	return inv
}

// naming returns a function that tells whether a text names one of ids.
func naming(ids []string) func(string) bool {
	return func(s string) bool {
		return slices.ContainsFunc(ids, func(id string) bool { return strings.Contains(s, id) })
	}
}

// slotWatch knows every slot that was there. A run that took one leaves
// traces under its id, not the job's.
type slotWatch struct {
	dir  string
	mu   sync.Mutex
	seen map[string]bool
}

// slotPoll is a fraction of the time that the making of a slot takes.
const slotPoll = 10 * time.Millisecond

func watchSlots(t *testing.T, dir string) *slotWatch {
	t.Helper()
	w := &slotWatch{dir: dir, seen: map[string]bool{}}
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		for {
			w.look()
			select {
			case <-done:
				return
			case <-time.After(slotPoll):
			}
		}
	}()
	return w
}

// look returns the slots that wait.
func (w *slotWatch) look() []string {
	entries, _ := os.ReadDir(w.dir)
	w.mu.Lock()
	defer w.mu.Unlock()
	var idle []string
	for _, e := range entries {
		w.seen[e.Name()] = true
		idle = append(idle, e.Name())
	}
	return idle
}

// taken are the slots that wait no more.
func (w *slotWatch) taken(idle []string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ids []string
	for id := range w.seen {
		if !slices.Contains(idle, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func below(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// compare wants the host as it was.
func (before inventory) compare(t *testing.T, n *node) {
	t.Helper()
	var after inventory
	for end := time.Now().Add(tidyTime); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if after = count(t, n); maps.Equal(before, after) {
			break
		}
	}
	var table strings.Builder
	for _, k := range slices.Sorted(maps.Keys(after)) {
		fmt.Fprintf(&table, "%-28s %4d -> %d\n", k, before[k], after[k])
		if before[k] != after[k] {
			t.Errorf("left on the host: %s: %d before, %d after", k, before[k], after[k])
		}
	}
	t.Logf("on the host, before and after:\n%s", table.String())
}

// nothingAfterwards stops the node: no sandbox, mount, process or control group of
// it may be left, not even the groups' parent unless others have groups there.
func nothingAfterwards(t *testing.T, n *node) {
	t.Helper()
	ids := n.slots.taken(nil)
	for _, e := range n.events() {
		if e.Type == ledger.RunStarted {
			ids = append(ids, e.RunID)
		}
	}
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	var left []string
	for end := time.Now().Add(tidyTime); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if left = leftovers(t, n, naming(ids)); len(left) == 0 {
			return
		}
	}
	t.Errorf("left after the node was stopped:\n%s", strings.Join(left, "\n"))
}

func leftovers(t *testing.T, n *node, ofNode func(string) bool) []string {
	t.Helper()
	var left []string
	base := filepath.Dir(n.cfg.RunDir())
	for line := range strings.Lines(read(t, "/proc/self/mountinfo")) {
		if strings.Contains(line, base) {
			left = append(left, "mount "+strings.TrimSpace(line))
		}
	}
	parents, err := filepath.Glob("/sys/fs/cgroup/*/threegate")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(parents, "/sys/fs/cgroup/threegate") {
		entries, err := os.ReadDir(p)
		if err != nil {
			continue
		}
		groups := 0
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			groups++
			if ofNode(e.Name()) {
				left = append(left, "control group "+filepath.Join(p, e.Name()))
			}
		}
		if groups == 0 && !othersServe() {
			left = append(left, "control group "+p)
		}
	}
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range procs {
		groups, _ := os.ReadFile(filepath.Join(p, "cgroup"))
		line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		if ofNode(string(groups)) || strings.Contains(string(line), n.dir) || strings.Contains(string(line), base) {
			left = append(left, "process "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return left
}

// othersServe says whether another node is served on this host: the empty parent
// may be its own then.
func othersServe() bool {
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(procs, func(p string) bool {
		line, _ := os.ReadFile(p)
		return strings.Contains(string(line), "containerd\x00--config") ||
			strings.Contains(string(line), "containerd-shim")
	})
}
