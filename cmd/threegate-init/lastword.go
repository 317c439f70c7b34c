package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// openLast makes the pipe for the last word of a payload and gives its end of it.
func (l *payload) openLast() (*os.File, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	l.last = os.NewFile(uintptr(fds[0]), "pipe")
	return os.NewFile(uintptr(fds[1]), "pipe"), nil
}

// lastWord waits for the exit code that a payload says, if it says one, or for the end of
// all that could.
func (l *payload) lastWord() (code int, said bool) {
	if l.last == nil {
		return 0, false
	}
	defer l.last.Close()
	var word [1]byte
	n, err := unix.Read(int(l.last.Fd()), word[:])
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Read(int(l.last.Fd()), word[:])
	}
	return int(word[0]), n == 1
}

// ownUsage notes what init used, for a payload that is halted.
func ownUsage(res *job.Result) error {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return fmt.Errorf("read resource usage: %w", err)
	}
	res.Halted, res.OwnCPU = true, time.Duration(ts.Nano())
	return nil
}

// empty says whether a folder is known to hold nothing.
func empty(dir string) bool {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	buf := make([]byte, 4096)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil {
			return false
		}
		if n <= 0 {
			return true
		}
		if _, names, _ := unix.ParseDirent(buf[:n], 1, nil); names > 0 {
			return false
		}
	}
}
