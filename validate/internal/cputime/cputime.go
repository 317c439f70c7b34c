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
	before := usage(unix.RUSAGE_THREAD)
	f()
	return usage(unix.RUSAGE_THREAD) - before
}

func used() time.Duration { return usage(unix.RUSAGE_SELF) }

func usage(who int) time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(who, &u) // can't fail for this process and this thread
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
