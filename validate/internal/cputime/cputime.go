// Package cputime measures work by the processor time that it takes. A test that
// bounds work does so by this and not by the clock, which tells as much of what
// else the machine does.
package cputime

import (
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

func used() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u) // can't fail for this process
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
