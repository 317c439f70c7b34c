package durable

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// fileLocks is where the kernel lists who holds which lock.
const fileLocks = "/proc/locks"

// LockListed says whether somebody holds a file's lock, for users who may not open it: whoever may could hold
// the lock, and keep the node from starting.
func LockListed(path string) (bool, error) {
	var st unix.Stat_t
	list, err := os.ReadFile(fileLocks)
	if err = errors.Join(err, unix.Lstat(path, &st)); err != nil {
		return false, fmt.Errorf("looking at the lock of the node: %w", err)
	}
	for line := range strings.Lines(string(list)) { // 1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF
		f := strings.Fields(line)
		if len(f) > 5 && f[1] == "FLOCK" && f[3] == "WRITE" && strings.HasSuffix(f[5], fmt.Sprintf(":%d", st.Ino)) {
			return true, nil
		}
	}
	return false, nil
}
