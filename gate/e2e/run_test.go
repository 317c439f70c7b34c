package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/config"
)

// sleepScript says that it runs, and then does for longer than any test waits.
const sleepScript = `import time
print("asleep")
time.sleep(600)
`

// lone is a `threegate run` that goes on until it is ended.
type lone struct {
	n   *node
	cmd *exec.Cmd
	dir string // the node that it made for itself
	run string // below which its mounts are
	job string
	log logBuffer
}

// file is the request as a file, with its inputs in the same folder.
func (r request) file(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), r.id+".md")
	must(t, os.WriteFile(file, r.document(), 0o640))
	for name, text := range r.inputs {
		path := filepath.Join(strings.TrimSuffix(file, ".md")+".inputs", name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return file
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// privates are the private nodes of its runs.
func (n *node) privates() []string {
	n.t.Helper()
	if _, err := os.Lstat(filepath.Join(n.dir, "runs")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return below(n.t, filepath.Join(n.dir, "runs"))
}

// startRun starts one whose program sleeps, and waits until it does.
func (n *node) startRun(id string) *lone {
	n.t.Helper()
	before := n.privates()
	r := era(id, sleepScript)
	r.timeSec = 60
	l := &lone{n: n, cmd: exec.Command(threegate, "run", "--node", n.dir, r.file(n.t))}
	l.cmd.Stderr = &l.log
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(n.t, l.cmd.Start())
	n.t.Cleanup(func() {
		if l.cmd.ProcessState == nil {
			_ = l.cmd.Process.Signal(syscall.SIGTERM)
			_ = l.cmd.Wait()
		}
		if n.t.Failed() {
			n.t.Logf("log of run %s:\n%s", id, l.log.String())
		}
	})
	n.until("the node of the run", func() bool {
		for _, name := range n.privates() {
			if !slices.Contains(before, name) {
				l.dir = filepath.Join(n.dir, "runs", name)
			}
		}
		return l.dir != ""
	})
	own := *n.cfg
	own.Dir = l.dir
	l.run = filepath.Dir(own.RunDir())
	n.until("its program to sleep", func() bool {
		files, _ := filepath.Glob(filepath.Join(own.RunDir(), "boxes", "*", "gate", "stdout"))
		if len(files) != 1 || !strings.Contains(read(n.t, files[0]), "asleep") {
			return false
		}
		l.job = filepath.Base(filepath.Dir(filepath.Dir(files[0])))
		return true
	})
	return l
}

func (l *lone) kill() {
	l.n.t.Helper()
	must(l.n.t, l.cmd.Process.Kill())
	_ = l.cmd.Wait()
}

// left is what the host still has of it.
func (l *lone) left() []string {
	var found []string
	for line := range strings.Lines(read(l.n.t, "/proc/self/mountinfo")) {
		if strings.Contains(line, l.run) {
			found = append(found, "mount "+line)
		}
	}
	for _, p := range append(processesOf(l.n.t, l.job), processesOf(l.n.t, l.run)...) {
		found = append(found, "process "+p)
	}
	for _, pattern := range []string{"/sys/fs/cgroup/threegate/*", "/sys/fs/cgroup/*/threegate/*"} {
		groups, _ := filepath.Glob(pattern)
		for _, g := range groups {
			if filepath.Base(g) == l.job {
				found = append(found, "control group "+g)
			}
		}
	}
	tasks, _ := filepath.Glob(filepath.Join(l.n.cfg.ContainerdState(), "io.containerd.runtime.v2.task/*", l.job))
	for _, path := range append(tasks, l.run, l.dir) {
		if _, err := os.Lstat(path); err == nil {
			found = append(found, "file "+path)
		}
	}
	return found
}

// mustBeGone waits for the shim's own end.
func (l *lone) mustBeGone() {
	l.n.t.Helper()
	var left []string
	for end := time.Now().Add(tidyTime); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if left = l.left(); len(left) == 0 {
			return
		}
	}
	l.n.t.Errorf("left of a run that was killed:\n%s", strings.Join(left, "\n"))
}

// runOnce runs a short program and returns its log.
func (n *node) runOnce(id string) string {
	n.t.Helper()
	cmd := exec.Command(threegate, "run", "--node", n.dir, era(id, "print('hello')\n").file(n.t))
	var log logBuffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "hello") {
		n.t.Errorf("run %s: %v\n%s%s", id, err, out, log.String())
	}
	return log.String()
}

// idle is a node that nobody serves.
func idle(t *testing.T) *node {
	t.Helper()
	n := emptyNode(t)
	n.untilServed()
	must(t, n.stop())
	return n
}

// TestRunThatWasKilled: whoever uses the node next removes what a run that was killed
// left, and nothing of one that lives.
func TestRunThatWasKilled(t *testing.T) {
	n := idle(t)
	dead := n.startRun("TR-20260209-500000Z-dead")
	alive := n.startRun("TR-20260209-500001Z-alive")
	dead.kill()
	if len(dead.left()) == 0 {
		t.Error("a run that is killed leaves nothing: this test looks in the wrong places")
	}
	log := n.runOnce("TR-20260209-500002Z-next")
	dead.mustBeGone()
	if !strings.Contains(log, dead.dir) {
		t.Errorf("nobody was told of it: %s", log)
	}
	if alive.cmd.Process.Signal(syscall.Signal(0)) != nil || len(processesOf(t, alive.job)) == 0 {
		t.Error("a run that lives was disturbed")
	}
	must(t, alive.cmd.Process.Signal(syscall.SIGTERM))
	_ = alive.cmd.Wait()
	alive.mustBeGone()
	if left := n.privates(); len(left) > 0 {
		t.Errorf("left among the private nodes: %v", left)
	}

	dead = n.startRun("TR-20260209-500003Z-dead")
	dead.kill()
	n.serve()
	n.untilServed()
	dead.mustBeGone()
	must(t, n.stop())
}

// TestRunsThatWereKilledAtAnyTime: however far a run came, and whoever finds what it left.
func TestRunsThatWereKilledAtAnyTime(t *testing.T) {
	const (
		kills   = 8
		longest = 1500 * time.Millisecond
	)
	n := idle(t)
	places := map[string]bool{} // below /run
	for i := range kills {
		r := era(fmt.Sprintf("TR-20260209-52000%dZ-dead", i), sleepScript)
		cmd := exec.Command(threegate, "run", "--node", n.dir, r.file(t))
		must(t, cmd.Start())
		time.Sleep(rand.N(longest))
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		for _, name := range n.privates() {
			own := config.Node{Dir: filepath.Join(n.dir, "runs", name)}
			places[filepath.Dir(own.RunDir())] = true
		}
	}
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() { n.runOnce(fmt.Sprintf("TR-20260209-53000%dZ-next", i)) })
	}
	both.Wait()
	if left := n.privates(); len(left) > 0 {
		t.Errorf("left among the private nodes: %v", left)
	}
	for place := range places {
		if _, err := os.Lstat(place); err == nil || strings.Contains(read(t, "/proc/self/mountinfo"), place) {
			t.Errorf("left: %s, or mounts below it", place)
		}
	}
	n.until("the last shim to end", func() bool { return len(processesOf(t, n.cfg.ContainerdState())) == 0 })
	t.Logf("%d of %d runs had a private node", len(places), kills)
}

// TestRunsThatEndTogether: the last of them stops the containerd that they share.
func TestRunsThatEndTogether(t *testing.T) {
	n := idle(t)
	for round := range 3 {
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() { n.runOnce(fmt.Sprintf("TR-20260209-54000%dZ-together-%d", i, round)) })
		}
		all.Wait()
		n.until("containerd to end", func() bool { return len(processesOf(t, n.cfg.ContainerdState())) == 0 })
	}
}
