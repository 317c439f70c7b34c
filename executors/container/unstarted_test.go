package container

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/job"
)

// spoil makes init unable to start a prepared task, and says what it will complain about.
func spoil(t *testing.T, e *Executor, id string) (b runDir, why string) {
	t.Helper()
	b, err := e.runDirOf(id)
	must(t, "box", err)
	must(t, "spoil the payload", os.WriteFile(b.path(stagedPayload), []byte(`{"argv": 1}`), 0o600))
	return b, "read the payload"
}

// An init that fails before it starts the payload is trouble of ours: no outcome
// comes of it, every later process sees the same, and the task can be prepared anew.
func TestInitFailsBeforeTheStart(t *testing.T) {
	e := open(t)
	before := traces(t)
	task := newTask("echo", "ran")
	must(t, "Prepare", e.Prepare(t.Context(), task))
	b, why := spoil(t, e, task.ID)
	must(t, "Start", e.Start(t.Context(), task.ID))
	for range 2 {
		out, err := e.Wait(t.Context(), task.ID)
		if !errors.Is(err, executors.ErrNotStarted) || !strings.Contains(err.Error(), why) {
			t.Fatalf("Wait: %+v, %v", out, err)
		}
	}
	if b.has(outcomeFile) {
		t.Error("there is an outcome of what never ran")
	}
	other, err := Open(t.Context(), testConfig())
	must(t, "Open", err)
	defer other.Close()
	for _, x := range []*Executor{e, other} {
		mustState(t, x, task.ID, executors.StateUnstarted)
		if err := x.Start(t.Context(), task.ID); !errors.Is(err, executors.ErrNotStarted) {
			t.Errorf("Start: %v", err)
		}
		must(t, "Kill", x.Kill(t.Context(), task.ID))
		if _, err := x.Collect(t.Context(), task.ID, t.TempDir()); !errors.Is(err, ErrNoTask) {
			t.Errorf("Collect: %v", err)
		}
	}
	if r := run(t, e, task); r.ExitCode != 0 || r.stdout(t) != "ran\n" {
		t.Errorf("prepared anew: %+v, stdout %q", r.Outcome, r.stdout(t))
	}
	nothingLeft(t, before)
}

// The sandbox dies after Prepare, before anybody told it to start. The next one is no slot:
// what ended one might end each.
func TestSandboxDiesBeforeTheStart(t *testing.T) {
	e := open(t)
	task := newTask("echo", "ran")
	must(t, "Prepare", e.Prepare(t.Context(), task))
	must(t, "kill init", unix.Kill(initPid(t, e, task.ID), unix.SIGKILL))
	awaitState(t, e, task.ID, executors.StateUnstarted)
	if _, err := e.Wait(t.Context(), task.ID); !errors.Is(err, executors.ErrNotStarted) {
		t.Errorf("Wait: %v", err)
	}
	must(t, "Prepare", e.Prepare(t.Context(), task))
	if got := e.containerOf(task.ID); got != task.ID {
		t.Errorf("prepared anew in the slot %s", got)
	}
	must(t, "Start", e.Start(t.Context(), task.ID))
	if r := finish(t, e, task.ID); r.ExitCode != 0 || r.stdout(t) != "ran\n" {
		t.Errorf("prepared anew: %+v, stdout %q", r.Outcome, r.stdout(t))
	}
}

// Only what is certain counts as not started.
func TestUnstarted(t *testing.T) {
	const failed, started, result = gateDir + "/" + job.FailureFile, gateDir + "/" + job.StartedFile,
		gateDir + "/" + job.ExitFile
	for _, tt := range []struct {
		files   string
		certain bool
	}{
		{"", false},
		{taskFile, true}, // prepared, never told
		{startFile, false},
		{taskFile + " " + startFile, false},
		{taskFile + " " + startFile + " " + failed, true},
		{taskFile + " " + startFile + " " + failed + " " + started, false},
		{taskFile + " " + failed + " " + started, false},
		{taskFile + " " + startFile + " " + failed + " " + result, false},
		{taskFile + " " + startFile + " " + failed + " " + outcomeFile, false},
		{taskFile + " " + startFile + " " + failed + " " + endFile, false},
		{taskFile + " " + endFile, false},
		{startFile + " " + failed, false}, // half removed
	} {
		b := runDir(t.TempDir())
		must(t, "mkdir", os.Mkdir(b.path(gateDir), 0o700))
		for _, f := range strings.Fields(tt.files) {
			must(t, "write", os.WriteFile(b.path(f), []byte("{}\n"), 0o600))
		}
		if why, certain := b.unstarted(); certain != tt.certain || certain == (why == "") {
			t.Errorf("with %q: %q, %v", tt.files, why, certain)
		}
	}
	// What can't be read may be there.
	b := runDir(t.TempDir())
	must(t, "write", os.WriteFile(b.path(taskFile), nil, 0o600))
	must(t, "write", os.WriteFile(b.path(gateDir), nil, 0o600)) // no folder
	if why, certain := b.unstarted(); certain {
		t.Errorf("with a box that can't be read: %q", why)
	}
}

// A wrong program is refused when the node starts, and when it takes the place of the right one later.
func TestWrongProgramIsRefused(t *testing.T) {
	for i, name := range []string{"threegate-init", "threegate-payload"} {
		t.Run(name, func(t *testing.T) { testWrongProgram(t, i) })
	}
}

func testWrongProgram(t *testing.T, i int) {
	wrong := filepath.Join(t.TempDir(), "wrong")
	must(t, "copy", copyFile(wrong, world.hostile))
	cfg := testConfig()
	cfg.InitPath = copyPrograms(t)
	programs := Programs(cfg.InitPath)
	must(t, "remove", os.Remove(programs[i].Path))
	must(t, "copy", copyFile(programs[i].Path, world.hostile))
	if e, err := Open(t.Context(), cfg); !errors.Is(err, ErrConfig) ||
		!strings.Contains(executors.HintOf(err), "make build") {
		if e != nil {
			e.Close()
		}
		t.Errorf("Open: %v", err)
	}

	must(t, "copy", copyFile(programs[i].Path, Programs(world.init)[i].Path))
	e, err := Open(t.Context(), cfg)
	must(t, "Open", err)
	defer e.Close()
	task := newTask("true")
	must(t, "Prepare", e.Prepare(t.Context(), task))
	must(t, "Cleanup", e.Cleanup(t.Context(), task.ID))
	must(t, "replace", os.Rename(wrong, programs[i].Path))
	if err := e.Prepare(t.Context(), task); !errors.Is(err, ErrConfig) {
		t.Errorf("Prepare with another program: %v", err)
	}
	mustState(t, e, task.ID, executors.StateAbsent)
}

// copyPrograms copies the right programs into a folder, and gives the path of threegate-init.
func copyPrograms(t *testing.T) string {
	t.Helper()
	init := filepath.Join(t.TempDir(), "threegate-init")
	for i, p := range Programs(init) {
		must(t, "copy", copyFile(p.Path, Programs(world.init)[i].Path))
	}
	return init
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}
