// Package cputime measures work by the processor time that it takes. A test that
// bounds work does so by this and not by the clock, which tells as much of what
// else the machine does.
package cputime

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Of is the processor time that the whole process uses while f runs. Whatever else
// the process does meanwhile counts, too.
func Of(f func()) time.Duration {
	before := used()
	f()
	return used() - before
}

// OfThread is the processor time that f uses in its own goroutine: neither what
// other goroutines do nor the collection of garbage counts.
func OfThread(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := read(unix.CLOCK_THREAD_CPUTIME_ID)
	f()
	return read(unix.CLOCK_THREAD_CPUTIME_ID) - before
}

func used() time.Duration { return read(unix.CLOCK_PROCESS_CPUTIME_ID) }

// read reads a clock of the kernel's that counts to the nanosecond. getrusage counts what
// still runs up to the last tick only, which can be 4 ms ago.
func read(clock int32) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(clock, &t) // can't fail for this process and this thread
	return time.Duration(t.Nano())
}
