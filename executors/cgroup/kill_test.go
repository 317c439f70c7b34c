package cgroup

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/moby/sys/mountinfo"
)

// A group of version 2 can be without a process of its own and not empty: what dies is no
// longer listed, and counts until it is gone; so does what lies in a group below. Kill ends it
// all, and Remove then has nothing to wait for.
func TestKillOfAllBelow(t *testing.T) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup2"))
	if err != nil || len(mounts) == 0 {
		t.Fatalf("there is no hierarchy of version 2: %v", err)
	}
	root, path := mounts[0].Mountpoint, "/threegate-test-"+strconv.Itoa(os.Getpid())
	below := path + "/below"
	if err := os.MkdirAll(filepath.Join(root, below), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	pid := strconv.Itoa(cmd.Process.Pid)
	if err := os.WriteFile(filepath.Join(root, below, "cgroup.procs"), []byte(pid), 0); err != nil {
		t.Fatal(err)
	}
	if err := Kill(root, path); err != nil {
		t.Error(err)
	}
	events, err := os.ReadFile(filepath.Join(root, path, "cgroup.events"))
	if err != nil || !bytes.Contains(events, []byte("populated 0\n")) {
		t.Errorf("after Kill: %q, %v", events, err)
	}
	_ = cmd.Process.Kill() // for a Kill that did not
	<-ended
	if err := errors.Join(Remove(root, below), Remove(root, path)); err != nil {
		t.Error(err)
	}
	if err := Kill(root, path); err != nil {
		t.Errorf("killing nothing: %v", err)
	}
}
