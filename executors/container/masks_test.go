package container

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/sandbox"
)

// Masks are judged by what process 1 finds there: those with the host's /dev/null, writable ones, and
// none at all are refused. The gate covers those of the host (crun makes them) with the sandbox's own.
func TestMasks(t *testing.T) {
	e := openSlots(t)
	s := e.idle()[0]
	policy := e.policy(s.runDir, "", blueprint{id: s.id, model: s.model, limits: e.cfg.Slots.Limits})
	mnt, err := e.mountNamespace(s)
	must(t, "namespace", err)
	defer mnt.Close()
	inside := func(f func() error, want ...error) {
		t.Helper()
		err := executors.OnOwnThread(func() error {
			err := unix.Unshare(unix.CLONE_FS)
			if err == nil {
				err = unix.Setns(int(mnt.Fd()), unix.CLONE_NEWNS)
			}
			if err == nil {
				err = f()
			}
			return err
		})
		if len(want) == 0 || !errors.Is(err, want[0]) {
			must(t, "in the sandbox", err)
		}
	}
	refused := func(want string) {
		t.Helper()
		if err := sandbox.Verify(s.pid, policy); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	same := func(a, b string) bool {
		t.Helper()
		one, err := os.Stat(a)
		must(t, "stat", err)
		other, err := os.Stat(b)
		must(t, "stat", err)
		return os.SameFile(one, other)
	}
	const masked, folder, bootID = "/proc/interrupts", "/proc/irq", "/proc/sys/kernel/random/boot_id"
	seen := fmt.Sprintf("/proc/%d/root", s.pid)

	must(t, "as it was made", sandbox.Verify(s.pid, policy))
	must(t, "the host's /dev/null", mountInto(mnt, "/dev/null", 0, masked, bootID))
	refused(masked + " is not masked with the sandbox's own /dev/null")
	refused(bootID + " is not masked with the sandbox's own /dev/null")
	if !same(seen+masked, "/dev/null") {
		t.Error("that is not the host's")
	}
	must(t, "own masks", e.ownMasks(s, policy))
	must(t, "with own masks", sandbox.Verify(s.pid, policy))
	if same(seen+masked, "/dev/null") || !same(seen+masked, seen+"/dev/null") || !same(seen+bootID, seen+"/dev/null") {
		t.Error("the masks are not the sandbox's own /dev/null")
	}

	flags := uintptr(unix.MS_REMOUNT | unix.MS_BIND | unix.MS_NOSUID | unix.MS_NOEXEC)
	inside(func() error { return unix.Mount("", masked, "", flags, "") })
	refused(masked + " is writable")
	inside(func() error { return unix.Mount("", masked, "", flags|unix.MS_RDONLY, "") })
	must(t, "read-only again", sandbox.Verify(s.pid, policy))

	inside(func() error { return unix.Unmount(folder, 0) })
	refused(folder + " is not empty")
	refused(folder + " is writable")
	inside(func() error {
		var err error
		for err == nil { // EINVAL: it is no mount any more
			err = unix.Unmount(masked, 0)
		}
		return err
	}, unix.EINVAL)
	refused(masked + " is not masked with the sandbox's own /dev/null")
	if left := sandbox.ForeignMasks(s.pid, policy); len(left) != 0 {
		t.Errorf("what is not masked is covered: %v", left)
	}
}
