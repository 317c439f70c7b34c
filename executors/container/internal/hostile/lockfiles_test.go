package hostile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// shared are files and folders that every run has, some for reading only.
var shared = []string{"/", "/usr/bin", "/usr/bin/data", "/gate-init", "/etc/passwd", "/in", "/dev", "/dev/null",
	"/dev/zero", "/dev/full",
	"/dev/random", "/dev/urandom", "/proc/interrupts", "/proc/sys/kernel/random/boot_id"}

const dnAccess = 1 // DN_ACCESS

// lockFiles locks all of them in each way that there is ("hold", and goes on), or tells which
// somebody else has locked ("try").
func lockFiles(a []string) {
	var held []*os.File
	for _, name := range shared {
		f, err := os.Open(name)
		die(err)
		held = append(held, f)
		lock := unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart}
		for way, err := range map[string]error{
			"lock":        unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB),
			"record lock": unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lock),
			"open lock":   unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock),
		} {
			if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
				fmt.Println(name+": taken,", way)
			}
		}
		for what, command := range map[string]int{"a watch": unix.F_NOTIFY, "a lease": unix.F_SETLEASE,
			"a watch in disguise": unix.F_NOTIFY | 1<<32} {
			if _, _, e := unix.Syscall(unix.SYS_FCNTL, f.Fd(), uintptr(command), dnAccess); e != unix.EPERM {
				fmt.Println(name+": taken,", what, e)
			}
		}
		writable, err := os.OpenFile(name, os.O_RDWR, 0)
		if err == nil { // whoever may write can lock for writing
			held = append(held, writable)
			exclusive := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
			if err := unix.FcntlFlock(writable.Fd(), unix.F_OFD_SETLK, &exclusive); err != nil &&
				!errors.Is(err, unix.EAGAIN) {
				die(err)
			}
		}
		fmt.Println(name + ": free")
		if a[0] == "try" { // several masks of /proc are one file
			for _, f := range held {
				die(f.Close())
			}
			held = nil
		}
	}
	if a[0] == "hold" {
		fmt.Println("held")
		time.Sleep(time.Hour)
	}
}
