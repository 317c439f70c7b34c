package spool_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inotifyLimitEnv names the limit that a test process has set to none.
const inotifyLimitEnv = "THREEGATE_TEST_INOTIFY_LIMIT"

// TestInotifyLimits: the kernel gives no instance of inotify, or no watch. The
// sweep finds what arrives. Each limit is one of a user namespace of its own, so
// that nothing else on the machine feels it.
func TestInotifyLimits(t *testing.T) {
	if limit := os.Getenv(inotifyLimitEnv); limit != "" {
		withoutInotify(t, limit)
		return
	}
	for _, limit := range []string{"max_inotify_instances", "max_inotify_watches"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestInotifyLimits$", "-test.v")
		cmd.Env = append(os.Environ(), inotifyLimitEnv+"="+limit)
		self := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: self,
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", limit, err, out)
		}
	}
}

func withoutInotify(t *testing.T, limit string) {
	mustNot(t, os.WriteFile("/proc/sys/user/"+limit, []byte("0"), 0))
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err == nil {
		_, err = unix.InotifyAddWatch(fd, t.TempDir(), unix.IN_CREATE)
		unix.Close(fd)
	}
	if !errors.Is(err, unix.EMFILE) && !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("%s does not hold: %v", limit, err)
	}
	n, wake := watched(t, 20*time.Millisecond)
	for _, name := range []string{"TR-a.md", "TR-b.md"} {
		n.put(name, "x")
		await(t, wake, name, n.arrives(name))
	}
}
