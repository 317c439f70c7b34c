package container

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
)

func TestMissingHandlerIsARefusal(t *testing.T) {
	for handler, want := range map[string]string{
		"io.containerd.kata.v2": "containerd-shim-kata-v2 is not installed",
		"io.containerd.krun.v1": "containerd-shim-krun-v1 is not installed",
		"kata":                  "is no runtime handler",
		"io.containerd..v2":     "is no runtime handler",
		"../containerd.kata.v2": "is no runtime handler",
		"/no/such/shim":         "no such file",
	} {
		cfg := testConfig()
		cfg.Runtime = handler
		e, err := Open(t.Context(), cfg)
		if err == nil {
			e.Close()
		}
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) || executors.HintOf(err) == "" {
			t.Errorf("%s: %v (%s), want %q", handler, err, executors.HintOf(err), want)
		}
	}
	dir := t.TempDir()
	must(t, "write", os.WriteFile(filepath.Join(dir, "containerd-shim-own-v3"), nil, 0o755))
	t.Setenv("PATH", dir)
	for _, handler := range []string{"", DefaultRuntime, "io.containerd.own.v3",
		filepath.Join(dir, "containerd-shim-own-v3")} {
		if err := CheckHandler(handler, ""); err != nil {
			t.Errorf("%q: %v", handler, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	// any program in that folder
	if err := CheckHandler("io.containerd.own.v3", filepath.Join(dir, "containerd-shim-own-v3")); err != nil {
		t.Errorf("next to the daemon: %v", err)
	}
}

// Whoever names another runtime has it, however it is called, also for slots.
func TestOtherRuntime(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	used := filepath.Join(t.TempDir(), "used")
	must(t, "write", os.WriteFile(other, []byte("#!/bin/sh\necho >>"+used+" $$\nexec runc \"$@\"\n"), 0o755))
	cfg := testConfig()
	cfg.RuntimeBinary = other
	cfg.Slots = Slots{MemoryBytes: testSlots * SlotCost, Limits: newTask().Limits}
	e, err := Open(t.Context(), cfg)
	must(t, "Open", err)
	t.Cleanup(func() { must(t, "Close", e.Close()) })
	e.awaitSlots(t, testSlots)
	r := run(t, e, newTask("echo", "x"))
	if lines, err := os.ReadFile(used); err != nil || strings.Count(string(lines), "\n") < testSlots ||
		!strings.Contains(r.Identity.Runtime, "runc ") {
		t.Errorf("made by %s, calls %q, %v", r.Identity.Runtime, lines, err)
	}
}

// A runtime that is careless about limits can't lift them: the gate sets and reads them.
func TestRuntimeCannotLiftLimits(t *testing.T) {
	careless := filepath.Join(t.TempDir(), "careless")
	must(t, "write", os.WriteFile(careless, []byte(`#!/bin/sh
for a; do
	case $last in --bundle) sed -i 's/"memory":{[^}]*}/"memory":{}/; s/"pids":{[^}]*}/"pids":{"limit":9999}/' "$a/config.json" ;; esac
	last=$a
done
exec runc "$@"
`), 0o755))
	cfg := testConfig()
	cfg.RuntimeBinary, cfg.Slots = careless, Slots{}
	e, err := Open(t.Context(), cfg)
	must(t, "Open", err)
	t.Cleanup(func() { must(t, "Close", e.Close()) })
	task := newTask("echo", "x")
	must(t, "Prepare", e.Prepare(t.Context(), task))
	t.Cleanup(func() { must(t, "Cleanup", e.Cleanup(context.Background(), task.ID)) })
	for file, want := range map[string]int64{
		"memory/memory.limit_in_bytes": task.Limits.MemoryBytes + job.InitMemoryBytes,
		"pids/pids.max":                int64(task.Limits.Pids) + job.InitPids,
	} {
		controller, name := filepath.Split(file)
		got, err := os.ReadFile(filepath.Join(cgroup.Root, controller, e.cgroupOf(task.ID), name))
		if text := strings.TrimSpace(string(got)); err != nil || text != strconv.FormatInt(want, 10) {
			t.Errorf("%s is %s, not %d, %v", file, text, want, err)
		}
	}
}
