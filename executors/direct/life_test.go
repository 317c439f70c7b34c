package direct

import (
	"errors"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A child that can't have a handle, as when there are too many descriptors, neither lives
// on nor stays a zombie.
func TestOwnFails(t *testing.T) {
	pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "60"}, nil)
	must(t, "start", err)
	var files unix.Rlimit
	must(t, "limit", unix.Getrlimit(unix.RLIMIT_NOFILE, &files))
	must(t, "limit", unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: files.Max}))
	s, err := own(pid)
	must(t, "limit", unix.Setrlimit(unix.RLIMIT_NOFILE, &files))
	if s != nil || !errors.Is(err, unix.EMFILE) {
		t.Errorf("a handle without a descriptor: %v, %v", s, err)
	}
	if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("the child is there: %d, %v", got, err)
		end(pid)
	}
}
