package container

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/posture"
	"github.com/threegate/tool-exec/executors/sandbox"
	"github.com/threegate/tool-exec/schemas"
)

// refusingInit is a threegate-init on a file system that executes nothing: the
// trial fails.
func refusingInit(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, "mount", unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOEXEC, ""))
	t.Cleanup(func() { must(t, "unmount", unix.Unmount(dir, 0)) })
	init := filepath.Join(dir, "threegate-init")
	for i, p := range Programs(init) {
		must(t, "copy", copyFile(p.Path, Programs(world.init)[i].Path))
	}
	return init
}

func TestMissingUserNamespaceIsARefusal(t *testing.T) {
	cfg := testConfig()
	cfg.Slots = Slots{}
	cfg.InitPath = refusingInit(t)
	e, err := Open(t.Context(), cfg)
	if err == nil {
		e.Close()
	}
	if !errors.Is(err, sandbox.ErrNoUserNamespace) || !strings.Contains(err.Error(), "containerd.user_namespace") {
		t.Fatalf("a host without was not refused: %v", err)
	}
	cfg.WithoutUserNamespace = true
	if e, err = Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if e.mapped || !strings.Contains(e.runtime, "no user namespaces") {
		t.Errorf("provenance would say %q", e.runtime)
	}

	// Such a sandbox still has an id of its own, which is not root, and denies all else.
	e.cfg.InitPath = world.init
	task := newTask("status")
	r := run(t, e, task)
	if out := r.stdout(t); !strings.Contains(out, "Uid:\t2") || !strings.Contains(out, "CapPrm:\t0000000000000000") {
		t.Errorf("the payload's identity:\n%s", out)
	}
	task = newTask()
	task.Backend, task.Argv, task.Language = executors.BackendPosture, nil, ""
	waived := 0
	for _, f := range findingsOf(t, run(t, e, task).stdout(t)) {
		switch f.Verdict {
		case posture.Waived:
			waived++
		case posture.Denied:
		default:
			t.Errorf("%s (%s): %s, want %s", f.Name, f.What, f.Outcome, f.Want)
		}
	}
	if waived != 1 {
		t.Errorf("%d findings were waived, want that of the user namespace", waived)
	}
}

// Root in a sandbox is nobody on the host: process 1 of one sandbox can't touch
// what belongs to the host's root, or to process 1 of another.
func TestRootInsideIsNobodyOutside(t *testing.T) {
	e := open(t)
	task := newTask("stubborn")
	must(t, "Prepare", e.Prepare(t.Context(), task))
	must(t, "Start", e.Start(t.Context(), task.ID))
	live := mustTask(t, e, task.ID)
	maps, err := os.ReadFile(procFile(live.Pid(), "uid_map"))
	must(t, "uid_map", err)
	f := strings.Fields(string(maps))
	if len(f) != 6 || f[0] != "0" || f[2] != "1" || f[5] != "1" || len(f[1]) != 10 || f[1][0] != '2' {
		t.Errorf("ids are mapped as %v", f)
	}
	status, err := os.ReadFile(procFile(live.Pid(), "status"))
	must(t, "status", err)
	if !strings.Contains(string(status), "\nUid:\t"+f[1]+"\t"+f[1]) {
		t.Errorf("process 1 is not user %s of the host:\n%s", f[1], status)
	}
	r := e.Kill(t.Context(), task.ID)
	must(t, "Kill", r)
	if got := finish(t, e, task.ID); got.Cause != schemas.CauseInterrupted {
		t.Errorf("cause %s", got.Cause)
	}
	// Its status is taken a moment after it ended, by who bore it.
	for deadline := time.Now().Add(patience); unix.Access(procFile(live.Pid(), "status"),
		unix.F_OK) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("process 1 still lives")
		}
	}
}

func procFile(pid uint32, name string) string {
	return filepath.Join("/proc", strconv.FormatUint(uint64(pid), 10), name)
}
