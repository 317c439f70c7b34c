package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors"
)

// What the kernel tells a run of its mounts names nothing of the node: no folder of the
// host, no task, no slot.
func TestMountsNameNothing(t *testing.T) {
	e := open(t)
	in := filepath.Join(t.TempDir(), "inputs-of-a-request")
	must(t, "inputs", os.Mkdir(in, 0o700))
	must(t, "input", os.WriteFile(filepath.Join(in, "file"), []byte("x"), 0o600))
	for _, inputs := range []string{"", in} {
		task := newTask("cat", "/proc/self/mountinfo")
		task.InputsDir = inputs
		r := run(t, e, task)
		out := r.stdout(t)
		if strings.Count(out, "\n") < 9 || !strings.Contains(out, " /in ") {
			t.Fatalf("mounts:\n%s%s", out, r.stderr(t))
		}
		for line := range strings.Lines(out) {
			f := strings.Fields(line)
			kind, source, options := f[len(f)-3], f[len(f)-2], f[len(f)-1]
			switch root := f[3]; {
			case kind == "proc":
			case root != "/" && root != "/tmp" && root != "/shm" && root != "/empty" && root != "/null" ||
				strings.Contains(source+options, "/"):
				t.Errorf("mount on %s: %s", f[4], line)
			}
		}
		for what, name := range map[string]string{"task": task.ID, "container": e.containerOf(task.ID),
			"run folder": world.dir, "inputs": filepath.Base(in)} {
			if strings.Contains(out, name) {
				t.Errorf("the mounts name the %s:\n%s", what, out)
			}
		}
	}
}

// Locks and leases on a file that two runs have in common are not seen by the other, and a
// watch is refused.
func TestNoLockIsShared(t *testing.T) {
	e := open(t)
	one, other := newTask("lock-files", "hold"), newTask("lock-files", "try")
	for _, task := range []executors.Task{one, other} {
		must(t, "Prepare", e.Prepare(t.Context(), task))
	}
	must(t, "Start", e.Start(t.Context(), one.ID))
	awaitOutput(t, one.ID, "held\n")
	must(t, "Start", e.Start(t.Context(), other.ID))
	if r := finish(t, e, other.ID); r.ExitCode != 0 || !strings.Contains(r.stdout(t), "/dev/null: free") ||
		strings.Contains(r.stdout(t), "taken") {
		t.Errorf("%+v\n%s%s", r.Outcome, r.stdout(t), r.stderr(t))
	}
	must(t, "Kill", e.Kill(t.Context(), one.ID))
	finish(t, e, one.ID)
}
