package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
)

// The files are written as kernels write them. What a kernel makes of a write is seen on a
// booted host (make vm).
func TestPrepare(t *testing.T) {
	for name, c := range map[string]struct {
		parent, controllers, wrong string
	}{
		"delegated":     {"/tg.service/sandboxes", "cpuset cpu io memory pids", ""},
		"at the root":   {"/threegate", "cpuset cpu io memory pids", ""},
		"not delegated": {"/tg.service/sandboxes", "memory", "not delegated to the cgroup /tg.service: the controllers cpu, pids"},
		"no service":    {"/other.service/sandboxes", "cpu memory pids", "there is no cgroup /other.service"},
		"nothing":       {"/", "", "is no group for sandboxes"},
		"relative":      {"tg.service", "", "is no group for sandboxes"},
		"going up":      {"/tg.service/../..", "", "is no group for sandboxes"},
	} {
		root := t.TempDir()
		for _, dir := range []string{"/", "/threegate", "/tg.service", "/tg.service/sandboxes"} {
			put(t, filepath.Join(root, dir, "cgroup.controllers"), c.controllers+"\n")
			put(t, filepath.Join(root, dir, "cgroup.subtree_control"), "")
		}
		err := Prepare(root, c.parent) // what holds of any version
		if err == nil {
			err = prepareV2(root, c.parent)
		}
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		}
		if c.wrong == "" {
			for _, dir := range []string{filepath.Dir(c.parent), c.parent} {
				if text, err := os.ReadFile(filepath.Join(root, dir, "cgroup.subtree_control")); string(text) != "+cpu +memory +pids" {
					t.Errorf("%s: handed on by %s is %q, %v", name, dir, text, err)
				}
			}
		}
	}
	if got := Shims("/tg.service/sandboxes") + Shims("/threegate"); got != "/tg.service/shims" {
		t.Errorf("shims: %q", got)
	}
}

// The process of a service leaves the group that is to hand on controllers.
func TestProcessesMove(t *testing.T) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup2"))
	if err != nil || len(mounts) == 0 {
		t.Fatalf("there is no hierarchy of version 2: %v", err)
	}
	root, path := mounts[0].Mountpoint, "/threegate-test-move-"+strconv.Itoa(os.Getpid())
	if err := os.Mkdir(filepath.Join(root, path), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for _, p := range []string{path + "/holder", path} {
			if err := End(root, p); err != nil {
				t.Error(err)
			}
		}
	}()
	if err := write(filepath.Join(root, path, "cgroup.procs"), strconv.Itoa(cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	if err := moveProcesses(root, path, path+"/holder"); err != nil {
		t.Error(err)
	}
	above, _ := Procs(root, path)
	if held, err := Procs(root, path+"/holder"); len(above) > 0 || !slices.Equal(held, []int{cmd.Process.Pid}) {
		t.Errorf("above %v, held %v, %v", above, held, err)
	}
}
