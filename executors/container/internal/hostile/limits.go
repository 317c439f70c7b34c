package main

import (
	"fmt"
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// burn uses one processor, in one thread, and ends by SIGXCPU as programs do that
// have no Go runtime.
func burn([]string) {
	var byDefault [32]byte
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGXCPU), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
	if errno != 0 {
		die(errno)
	}
	for n := &sink[0]; *n != 1; {
		*n += 2
	}
}

// openFiles opens what it can, and says how many that are, the streams included.
func openFiles([]string) {
	for {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
		if err != nil {
			// The Go runtime has a few of its own: count them all.
			n := 0
			for i := range 1 << 12 {
				if _, err := unix.FcntlInt(uintptr(i), unix.F_GETFD, 0); err == nil {
					n++
				}
			}
			fmt.Println(n, err)
			os.Exit(1)
		}
		_ = fd
	}
}

// grow makes a file as long as can be, without filling it.
func grow(a []string) {
	signal.Ignore(unix.SIGXFSZ)
	f, err := os.Create(a[0])
	die(err)
	for size := int64(1 << 20); ; size += 1 << 20 {
		if err := f.Truncate(size); err != nil {
			fmt.Println("grew to", size-(1<<20))
			die(err)
		}
	}
}
