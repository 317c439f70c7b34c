package container

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/schemas"
)

func mustState(t *testing.T, e *Executor, id string, want executors.State) {
	t.Helper()
	if got, err := e.State(t.Context(), id); err != nil || got != want {
		t.Fatalf("state %q, %v, want %q", got, err, want)
	}
}

// awaitState gives containerd time to see the end of a process.
func awaitState(t *testing.T, e *Executor, id string, want executors.State) {
	t.Helper()
	var got executors.State
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got, err = e.State(t.Context(), id); err == nil && got == want {
			return
		}
	}
	t.Fatalf("state %q, %v, want %q", got, err, want)
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// awaitOutput waits until the payload has written want to stdout.
func awaitOutput(t *testing.T, id, want string) {
	t.Helper()
	path := filepath.Join(testConfig().RunDir, runDirsDir, id, gateDir, job.StdoutFile)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), want) {
			return
		}
	}
	t.Fatalf("%s never wrote %q", id, want)
}

// Every step is taken by another Executor, as after a crash of the gate.
func TestReattach(t *testing.T) {
	before := traces(t)
	task := newTask("sleep", "1500")
	step := func(f func(e *Executor)) {
		e, err := Open(t.Context(), testConfig())
		must(t, "Open", err)
		defer e.Close()
		f(e)
	}
	step(func(e *Executor) {
		mustState(t, e, task.ID, executors.StateAbsent)
		must(t, "Prepare", e.Prepare(t.Context(), task))
		mustState(t, e, task.ID, executors.StateCreated)
	})
	step(func(e *Executor) {
		mustState(t, e, task.ID, executors.StateCreated)
		must(t, "Start", e.Start(t.Context(), task.ID))
		must(t, "Start again", e.Start(t.Context(), task.ID))
		awaitOutput(t, task.ID, "before\n")
	})
	step(func(e *Executor) {
		mustState(t, e, task.ID, executors.StateRunning)
		ids, err := e.List(t.Context())
		if err != nil || !slices.Contains(ids, task.ID) {
			t.Errorf("List: %v %v", ids, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := e.Wait(ctx, task.ID); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wait that was cancelled: %v", err)
		}
		mustState(t, e, task.ID, executors.StateRunning)
		if _, err := e.Collect(t.Context(), task.ID, t.TempDir()); err == nil {
			t.Error("a running task was collected")
		}
	})
	var first executors.Outcome
	step(func(e *Executor) {
		var err error
		first, err = e.Wait(t.Context(), task.ID)
		must(t, "Wait", err)
		if first.ExitCode != 0 || first.Cause != schemas.CauseNone || first.Wall < 1400*time.Millisecond {
			t.Errorf("outcome %+v", first)
		}
		mustState(t, e, task.ID, executors.StateExited)
	})
	step(func(e *Executor) {
		again, err := e.Wait(t.Context(), task.ID)
		if err != nil || again.FinishedAt != first.FinishedAt || again.PeakMemoryBytes != first.PeakMemoryBytes {
			t.Errorf("second Wait: %+v, %v, first %+v", again, err, first)
		}
		must(t, "Start after the end", e.Start(t.Context(), task.ID))
		for range 2 {
			r := ran{dir: t.TempDir()}
			r.Collected, err = e.Collect(t.Context(), task.ID, r.dir)
			must(t, "Collect", err)
			if got := r.stdout(t); got != "before\nafter\n" {
				t.Errorf("stdout %q", got)
			}
		}
	})
	step(func(e *Executor) {
		must(t, "Cleanup", e.Cleanup(t.Context(), task.ID))
		must(t, "Cleanup again", e.Cleanup(t.Context(), task.ID))
		mustState(t, e, task.ID, executors.StateAbsent)
	})
	nothingLeft(t, before)
}

// An id is the name of a container, a folder and a group: nothing else is taken for one.
func TestIDs(t *testing.T) {
	e := open(t)
	for _, id := range []string{"", "..", "a/b", "-a", "a-", "a--b", "A", "a.b", "a\n", strings.Repeat("a", 1000)} {
		task := newTask("true")
		task.ID = id
		if err := e.Prepare(t.Context(), task); err == nil {
			t.Errorf("%q was prepared", id)
			must(t, "Cleanup", e.Cleanup(t.Context(), id))
		}
	}
}

func TestPrepareTwice(t *testing.T) {
	e := open(t)
	task := newTask("echo", "first")
	must(t, "Prepare", e.Prepare(t.Context(), task))
	task.Argv = []string{"hostile", "echo", "second"}
	if r := run(t, e, task); r.stdout(t) != "second\n" {
		t.Errorf("stdout %q", r.stdout(t))
	}
}

func TestKill(t *testing.T) {
	e := open(t)
	before := traces(t)
	task := newTask("stubborn")
	must(t, "Prepare", e.Prepare(t.Context(), task))
	must(t, "Start", e.Start(t.Context(), task.ID))
	awaitOutput(t, task.ID, "ready\n")
	must(t, "Kill", e.Kill(t.Context(), task.ID))
	must(t, "Kill again", e.Kill(t.Context(), task.ID))
	r := finish(t, e, task.ID)
	if r.Cause != schemas.CauseInterrupted || r.ExitCode != exitUnknown || r.stdout(t) != "ready\n" || r.Wall <= 0 {
		t.Errorf("%+v, stdout %q", r.Outcome, r.stdout(t))
	}

	task = newTask("echo", "never")
	must(t, "Prepare", e.Prepare(t.Context(), task))
	must(t, "Kill before the start", e.Kill(t.Context(), task.ID))
	r = finish(t, e, task.ID)
	if r.Cause != schemas.CauseInterrupted || r.stdout(t) != "" {
		t.Errorf("killed before the start: %+v, stdout %q", r.Outcome, r.stdout(t))
	}

	task = newTask("stubborn")
	must(t, "Prepare", e.Prepare(t.Context(), task))
	must(t, "Start", e.Start(t.Context(), task.ID))
	must(t, "Cleanup of a running task", e.Cleanup(t.Context(), task.ID))
	must(t, "Kill of nothing", e.Kill(t.Context(), task.ID))
	nothingLeft(t, before)
}

// Init is stopped, so that only the host can enforce the deadline.
func TestDeadlineOfTheHost(t *testing.T) {
	e := open(t)
	task := newTask("stubborn")
	task.Limits.Time = 5 * time.Second
	must(t, "Prepare", e.Prepare(t.Context(), task))
	must(t, "Start", e.Start(t.Context(), task.ID))
	awaitOutput(t, task.ID, "ready\n")
	must(t, "stop init", unix.Kill(initPid(t, e, task.ID), unix.SIGSTOP))
	r := finish(t, e, task.ID)
	if r.Cause != schemas.CauseTime || r.ExitCode != job.ExitTime || r.stdout(t) != "ready\n" {
		t.Errorf("%+v stdout %q", r.Outcome, r.stdout(t))
	}
	if r.Wall < task.Limits.Time+deadlineGrace {
		t.Errorf("the host ended it after %v, before init could have", r.Wall)
	}
}

func initPid(t *testing.T, e *Executor, id string) int {
	t.Helper()
	return int(mustTask(t, e, id).Pid())
}

func TestInitKilledFromOutside(t *testing.T) {
	e := open(t)
	task := newTask("stubborn")
	must(t, "Prepare", e.Prepare(t.Context(), task))
	must(t, "Start", e.Start(t.Context(), task.ID))
	awaitOutput(t, task.ID, "ready\n")
	must(t, "kill init", unix.Kill(initPid(t, e, task.ID), unix.SIGKILL))
	r := finish(t, e, task.ID)
	if r.Cause != schemas.CauseInterrupted || r.ExitCode != exitUnknown || r.stdout(t) != "ready\n" ||
		r.StartedAt.IsZero() {
		t.Errorf("%+v stdout %q", r.Outcome, r.stdout(t))
	}
}

// The shim dies, and containerd loses the task with it.
func TestShimKilled(t *testing.T) {
	e := open(t)
	before := traces(t)
	task := newTask("stubborn")
	must(t, "Prepare", e.Prepare(t.Context(), task))
	must(t, "Start", e.Start(t.Context(), task.ID))
	awaitOutput(t, task.ID, "ready\n")
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(initPid(t, e, task.ID)) + "/stat")
	must(t, "read stat", err)
	shim, err := strconv.Atoi(strings.Fields(string(stat))[3])
	must(t, "parent of init", err)
	must(t, "kill the shim", unix.Kill(shim, unix.SIGKILL))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := e.Wait(ctx, task.ID)
	must(t, "Wait", err)
	if out.Cause != schemas.CauseInterrupted || out.ExitCode != exitUnknown {
		t.Errorf("%+v", out)
	}
	mustState(t, e, task.ID, executors.StateExited)
	must(t, "Start", e.Start(t.Context(), task.ID)) // must not run it again
	if r := finish(t, e, task.ID); r.stdout(t) != "ready\n" {
		t.Errorf("stdout %q", r.stdout(t))
	}
	nothingLeft(t, before)
}

// containerd dies while a task runs and is waited for; it is started again, and
// the task is found whole.
func TestContainerdKilled(t *testing.T) {
	e := open(t)
	task := newTask("sleep", "3000")
	must(t, "Prepare", e.Prepare(t.Context(), task))
	must(t, "Start", e.Start(t.Context(), task.ID))
	awaitOutput(t, task.ID, "before\n")
	done := make(chan ran, 1)
	go func() {
		var r ran
		r.Outcome, _ = e.Wait(context.WithoutCancel(t.Context()), task.ID)
		done <- r
	}()
	time.Sleep(200 * time.Millisecond)
	data, err := os.ReadFile(filepath.Join(testConfig().Containerd.Private.State, "containerd.pid"))
	must(t, "pid file", err)
	pid, err := strconv.Atoi(strings.Fields(string(data))[0])
	must(t, "pid file", err)
	must(t, "kill containerd", unix.Kill(pid, unix.SIGKILL))
	select {
	case r := <-done:
		if r.ExitCode != 0 || r.Cause != schemas.CauseNone || r.Wall < 2900*time.Millisecond {
			t.Errorf("%+v", r.Outcome)
		}
	case <-time.After(patience):
		t.Fatal("Wait did not return")
	}
	if r := finish(t, e, task.ID); r.stdout(t) != "before\nafter\n" {
		t.Errorf("stdout %q", r.stdout(t))
	}
}

// What a crash in the middle of Prepare or Cleanup can leave is listed, is no
// created task, and can be removed.
func TestHalfMade(t *testing.T) {
	e := open(t)
	ctx := t.Context()
	before := traces(t)

	boxOnly := newTask("true")
	b, err := e.runDirOf(boxOnly.ID)
	must(t, "box", err)
	must(t, "make", b.make(boxOnly.Limits, false, e.mapped))
	must(t, "a second mount", mountTmpfs(b.path(outDir), unix.MS_NOEXEC, "mode=0755"))

	noContainer := newTask("true")
	must(t, "Prepare", e.Prepare(ctx, noContainer))
	removeContainer(t, e, noContainer.ID)

	noBox := newTask("true")
	noBox.Limits.OutFiles++ // fits no slot: that of a slot would be no task's but the pool's
	must(t, "Prepare", e.Prepare(ctx, noBox))
	b, err = e.runDirOf(noBox.ID)
	must(t, "box", err)
	must(t, "remove", b.remove())

	noTask := newTask("true")
	must(t, "Prepare", e.Prepare(ctx, noTask))
	deleteTask(t, mustTask(t, e, noTask.ID))

	for _, id := range []string{boxOnly.ID, noContainer.ID, noBox.ID, noTask.ID} {
		ids, err := e.List(ctx)
		if err != nil || !slices.Contains(ids, id) {
			t.Errorf("List lacks %s: %v %v", id, ids, err)
		}
		state, want := executors.StateAbsent, ErrNoTask
		if id == noContainer.ID || id == noTask.ID { // its run folder says that it was never told to start
			state, want = executors.StateUnstarted, executors.ErrNotStarted
		}
		mustState(t, e, id, state)
		if err := e.Start(ctx, id); !errors.Is(err, want) {
			t.Errorf("Start: %v", err)
		}
		if _, err := e.Wait(ctx, id); !errors.Is(err, want) {
			t.Errorf("Wait: %v", err)
		}
		must(t, "Cleanup", e.Cleanup(ctx, id))
	}
	nothingLeft(t, before)
}

// A containerd that is killed while it makes a task leaves a bundle that is no task, and
// a shim that is killed the state of the runtime: the next try is not held up by them.
func TestRemains(t *testing.T) {
	e := open(t)
	for _, c := range []struct {
		name string
		left func(t *testing.T, task executors.Task)
	}{
		{"no container", func(*testing.T, executors.Task) {}},
		{"its container", func(t *testing.T, task executors.Task) {
			must(t, "Prepare", e.Prepare(t.Context(), task))
			deleteTask(t, mustTask(t, e, task.ID))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := traces(t)
			task := newTask("echo", "done")
			task.Limits.OutFiles++ // fits no slot: the bundle of one has another name
			c.left(t, task)
			rootfs := filepath.Join(world.dir, "s", "io.containerd.runtime.v2.task", "threegate", task.ID, "rootfs")
			state := filepath.Join(world.dir, "s", "runtime", "threegate", task.ID)
			must(t, "bundle", os.MkdirAll(rootfs, 0o711))
			must(t, "runtime state", os.MkdirAll(state, 0o711))
			must(t, "mount", unix.Mount("none", rootfs, "tmpfs", 0, ""))
			must(t, "a second mount", unix.Mount("none", rootfs, "tmpfs", 0, ""))
			must(t, "Cleanup", e.Cleanup(t.Context(), task.ID))
			for _, left := range []string{filepath.Dir(rootfs), state} {
				if _, err := os.Lstat(left); !os.IsNotExist(err) {
					t.Errorf("after Cleanup: %v", err)
				}
			}
			if r := run(t, e, task); r.stdout(t) != "done\n" {
				t.Errorf("stdout %q", r.stdout(t))
			}
			nothingLeft(t, before)
		})
	}
}

// Two nodes may share one containerd: each sees and removes only its own.
func TestNodesAreApart(t *testing.T) {
	e := open(t)
	task := newTask("true")
	task.Limits.OutFiles++ // fits no slot: a slot's container has another name
	must(t, "Prepare", e.Prepare(t.Context(), task))
	cfg := testConfig()
	cfg.Node, cfg.RunDir = "other", filepath.Join(world.dir, "run2")
	other, err := Open(t.Context(), cfg)
	must(t, "Open", err)
	defer func() { // not while it makes slots
		other.Close()
		must(t, "Dismantle", Dismantle(cfg.RunDir))
	}()
	if ids, err := other.List(t.Context()); err != nil || len(ids) != 0 {
		t.Errorf("the other node lists %v, %v", ids, err)
	}
	if err := other.Cleanup(t.Context(), task.ID); err == nil {
		t.Error("the other node may remove it")
	}
	mustState(t, e, task.ID, executors.StateCreated)
	must(t, "Cleanup", e.Cleanup(t.Context(), task.ID))
}

// Several at once, each with its own answer.
func TestConcurrent(t *testing.T) {
	e := open(t)
	t.Run("group", func(t *testing.T) {
		for i := range 6 {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				if r := run(t, e, newTask("echo", strconv.Itoa(i))); r.stdout(t) != strconv.Itoa(i)+"\n" {
					t.Errorf("stdout %q", r.stdout(t))
				}
			})
		}
	})
}
