package e2e

import (
	"encoding/json"
	"fmt"
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

// file is the request as a file, with its inputs beside it.
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

// startRun starts one whose program sleeps, and waits until it does.
func (n *node) startRun(tmp, id string) *lone {
	n.t.Helper()
	before := below(n.t, tmp)
	r := era(id, sleepScript)
	r.timeSec = 60
	l := &lone{n: n, cmd: exec.Command(threegate, "run", "--node", n.dir, r.file(n.t))}
	l.cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
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
		for _, name := range below(n.t, tmp) {
			if strings.HasPrefix(name, "threegate-run-") && !slices.Contains(before, name) {
				l.dir = filepath.Join(tmp, name)
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
	for end := time.Now().Add(settleTime); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if left = l.left(); len(left) == 0 {
			return
		}
	}
	l.n.t.Errorf("left of a run that was killed:\n%s", strings.Join(left, "\n"))
}

// runOnce runs a short program, in the temporary folder tmp, and returns what it said.
func (n *node) runOnce(tmp, id string) string {
	n.t.Helper()
	cmd := exec.Command(threegate, "run", "--node", n.dir, era(id, "print('hello')\n").file(n.t))
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
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
	n := newNode(t)
	n.untilServed()
	must(t, n.stop())
	return n
}

// TestRunThatWasKilled: whoever uses the node next removes what a run that was killed
// left, and nothing of one that lives.
func TestRunThatWasKilled(t *testing.T) {
	n := idle(t)
	tmp := t.TempDir()
	dead := n.startRun(tmp, "TR-20260209-500000Z-dead")
	alive := n.startRun(tmp, "TR-20260209-500001Z-alive")
	dead.kill()
	if len(dead.left()) == 0 {
		t.Error("a run that is killed leaves nothing: this test looks in the wrong places")
	}
	log := n.runOnce(t.TempDir(), "TR-20260209-500002Z-next") // with a temporary folder of its own
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
	if left := below(t, tmp); len(left) > 0 {
		t.Errorf("left in the temporary folder: %v", left)
	}

	dead = n.startRun(tmp, "TR-20260209-500003Z-dead")
	dead.kill()
	n.serve()
	n.untilServed()
	dead.mustBeGone()
	must(t, n.stop())
}

// TestRunThatWasKilledAmongHostileNames: what lies where a run had its folder is not
// followed, and a note that another user could have written is not believed.
func TestRunThatWasKilledAmongHostileNames(t *testing.T) {
	n := idle(t)
	tmp := t.TempDir()
	dead := n.startRun(tmp, "TR-20260209-510000Z-dead")
	dead.kill()
	others := filepath.Join(t.TempDir(), "others")
	must(t, os.Mkdir(others, 0o700))
	must(t, os.WriteFile(filepath.Join(others, "file"), nil, 0o600))
	must(t, os.RemoveAll(dead.dir))
	must(t, os.Symlink(others, dead.dir))

	// Whatever a note tells to remove must be there afterwards.
	folder := func(name string, uid int) string {
		dir := filepath.Join(tmp, name)
		must(t, os.Mkdir(dir, 0o700))
		must(t, os.Chown(dir, uid, uid))
		return dir
	}
	const nobody = 65534
	wrong := filepath.Join(filepath.Dir(dead.run), "0123456789ab")
	kept := []string{filepath.Join(others, "file"), dead.dir, n.cfg.File}
	for _, c := range []struct {
		dir, place, node string
		uid              int // of the note
	}{
		{folder("threegate-run-stranger", nobody), "", n.dir, 0},
		{folder("threegate-run-strange-note", 0), "", n.dir, nobody},
		{folder("threegate-run-elsewhere", 0), wrong, n.dir, 0},
		{folder("threegate-run-of-another-node", 0), "", n.dir + "2", 0},
		{folder("no-run", 0), "", n.dir, 0},
		{n.dir, "", n.dir, 0},
		{"/", "", n.dir, 0},
	} {
		own := config.Loaded{Dir: c.dir}
		place := or(c.place, filepath.Dir(own.RunDir()))
		must(t, os.MkdirAll(place, 0o711))
		t.Cleanup(func() { _ = os.RemoveAll(filepath.Join(place, "run.json")); _ = os.Remove(place) })
		text, err := json.Marshal(map[string]string{"dir": c.dir, "node": c.node})
		must(t, err)
		must(t, os.WriteFile(filepath.Join(place, "run.json"), text, 0o600))
		must(t, os.Chown(filepath.Join(place, "run.json"), c.uid, c.uid))
		kept = append(kept, c.dir)
	}
	linked := filepath.Join(filepath.Dir(dead.run), "ba9876543210")
	must(t, os.Symlink(wrong, linked))
	t.Cleanup(func() { _ = os.Remove(linked) })

	n.runOnce(tmp, "TR-20260209-510001Z-next")
	for _, path := range kept {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("it was removed: %v", err)
		}
	}
	must(t, os.Remove(dead.dir))
	dead.mustBeGone()
}

// TestRunsThatWereKilledAtAnyTime: however far a run came, and whoever finds what it left.
func TestRunsThatWereKilledAtAnyTime(t *testing.T) {
	const (
		kills   = 8
		longest = 1500 * time.Millisecond
	)
	n := idle(t)
	tmp := t.TempDir()
	places := map[string]bool{} // below /run
	for i := range kills {
		r := era(fmt.Sprintf("TR-20260209-52000%dZ-dead", i), sleepScript)
		cmd := exec.Command(threegate, "run", "--node", n.dir, r.file(t))
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
		must(t, cmd.Start())
		time.Sleep(rand.N(longest))
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		for _, name := range below(t, tmp) {
			own := config.Loaded{Dir: filepath.Join(tmp, name)}
			places[filepath.Dir(own.RunDir())] = true
		}
	}
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() { n.runOnce(tmp, fmt.Sprintf("TR-20260209-53000%dZ-next", i)) })
	}
	both.Wait()
	for _, name := range below(t, tmp) {
		if os.Remove(filepath.Join(tmp, name)) != nil { // an empty one is of a run that had no time for a note
			t.Errorf("left in the temporary folder: %s", name)
		}
	}
	for place := range places {
		if _, err := os.Lstat(place); err == nil || strings.Contains(read(t, "/proc/self/mountinfo"), place) {
			t.Errorf("left: %s, or mounts below it", place)
		}
	}
	n.until("the last shim to end", func() bool { return len(processesOf(t, n.cfg.ContainerdState())) == 0 })
	t.Logf("%d of %d runs had come to a node of their own", len(places), kills)
}
