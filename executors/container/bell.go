package container

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// bell gives a channel that is closed once init's result is there: when it has
// been, or rings the bell. Without a bell (a box of an earlier version) it stays
// open. silence must be called.
func (b box) bell() (rung <-chan struct{}, silence func()) {
	c := make(chan struct{})
	// For writing too: so it never ends. Opened before the look at the result, so
	// that no ring is missed.
	fd, err := unix.Open(b.path(gateDir, job.DoneFile), unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if b.has(filepath.Join(gateDir, job.ResultFile)) {
		close(c)
		if err == nil {
			_ = unix.Close(fd)
		}
		return c, func() {}
	}
	if err != nil {
		return c, func() {}
	}
	pipe := os.NewFile(uintptr(fd), job.DoneFile)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if n, _ := pipe.Read(make([]byte, 1)); n == 1 {
			close(c)
		}
	}()
	return c, func() {
		_ = pipe.Close() // and so ends the reading
		<-done
	}
}
