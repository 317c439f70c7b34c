package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The files are written as kernels write them; that a real kernel's are read
// is seen by the tests of package container.
func TestReadV1(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, "memory/tg/j1/memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
	put(t, filepath.Join(root, "memory/tg/j1/memory.max_usage_in_bytes"), "123456\n")
	put(t, filepath.Join(root, "pids/tg/j1/pids.events"), "max 7\n")
	put(t, filepath.Join(root, "cpuacct/tg/j1/cpuacct.usage"), "2500000\n")
	if got, want := Read(root, "/tg/j1"), (Usage{OOMKills: 2, PidsMax: 7, MemoryPeak: 123456,
		CPU: 2500 * time.Microsecond}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Read(root, "/tg/j2"); got != (Usage{}) {
		t.Errorf("a group that is gone: %+v", got)
	}
}

func TestReadV2(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "memory.events"), "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 0\n")
	put(t, filepath.Join(dir, "memory.peak"), "4096\n")
	put(t, filepath.Join(dir, "pids.events"), "max 1\n")
	put(t, filepath.Join(dir, "cpu.stat"), "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n")
	if got, want := readV2(dir), (Usage{OOMKills: 1, PidsMax: 1, MemoryPeak: 4096,
		CPU: 1500 * time.Microsecond}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestKillAndRemove(t *testing.T) {
	path := "/threegate-test-" + strconv.Itoa(os.Getpid())
	dir := filepath.Join(Root, path)
	if !Unified(Root) {
		dir = filepath.Join(Root, "pids", path)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	defer unix.Rmdir(dir)
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := Kill(Root, path); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := <-ended; !errors.As(err, &exit) ||
		exit.Sys().(interface{ Signal() unix.Signal }).Signal() != unix.SIGKILL {
		t.Errorf("the process ended with %v", err)
	}
	for range 2 {
		if err := Remove(Root, path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the group is still there")
	}
	if err := Kill(Root, path); err != nil {
		t.Errorf("killing nothing: %v", err)
	}
	for _, bad := range []string{"/", "", "x", "/a/../b", "/a/"} {
		if Remove(Root, bad) == nil {
			t.Errorf("%q was removed", bad)
		}
	}
}

// A hierarchy that was made ready and never mounted has no group of ours, and that
// its place is read-only keeps nothing from being removed. A group that is there does.
func TestRemoveBelowReadOnly(t *testing.T) {
	root := t.TempDir()
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(root, unix.MNT_DETACH)
	put(t, filepath.Join(root, "memory/tg/file"), "")
	if err := errors.Join(os.Mkdir(filepath.Join(root, "hugetlb"), 0o755),
		unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")); err != nil {
		t.Fatal(err)
	}
	if err := Remove(root, "/none"); err != nil {
		t.Errorf("nothing to remove: %v", err)
	}
	if err := Remove(root, "/tg"); !errors.Is(err, unix.EROFS) {
		t.Errorf("what is there can't be removed: %v", err)
	}
}
