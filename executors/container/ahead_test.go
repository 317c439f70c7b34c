package container

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRoomAhead: no image is unpacked for slots on a disk that requests need.
func TestRoomAhead(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=100m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	e := &Executor{roots: map[string]*root{"there": {ready: true}}}
	e.cfg.Containerd.Private.Root = dir
	var told []error
	e.cfg.SlotFailed = func(err error, _ bool) { told = append(told, err) }
	if err := e.mayMakeAhead("there"); err != nil {
		t.Errorf("an image that is unpacked takes no room: %v", err)
	}
	err := e.mayMakeAhead("other")
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("on a small disk: %v", err)
	}
	p := &pool{e: e}
	for range 3 {
		p.tell("other", err)
		p.tell("there", nil)
	}
	p.tell("other", nil)
	p.tell("other", err)
	if len(told) != 2 {
		t.Errorf("told %d times of two troubles", len(told))
	}
	e.cfg.Containerd.Private.Root = "" // a containerd of the host
	if err := e.mayMakeAhead("other"); err != nil {
		t.Errorf("where nothing can be told: %v", err)
	}
}
