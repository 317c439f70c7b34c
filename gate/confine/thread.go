package confine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
)

// ErrNoLandlock says that nothing on this kernel keeps a program from writing to files.
var ErrNoLandlock = errors.New("this kernel has no Landlock, so nothing keeps a program from writing to files")

// writes are all rights to change files by Landlock's first version, and the later ones with the
// version that brought them.
const writes = ll.AccessFSWriteFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeChar |
	ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeBlock |
	ll.AccessFSMakeSym

// later are the rights that came after, by the version of Landlock.
var later = map[int]uint64{2: ll.AccessFSRefer, 3: ll.AccessFSTruncate, 5: ll.AccessFSIoctlDev}

// Readers calls f on a thread of its own. The programs that f starts, and all that they start,
// can read what their user may read and start others of these. They can change and lock no file but
// /dev/null, have no descriptor that f did not give them and no socket, and can't be traced by
// others of their user. f has to wait for them: the thread ends with it.
func Readers(f func() error) error {
	return executors.OnOwnThread(func() error {
		if err := readOnly(); err != nil {
			return err
		}
		return f()
	})
}

// readOnly takes the right to change files from this thread, and the calls that are denied.
func readOnly() error {
	abi := ABI()
	if abi == 0 {
		return ErrNoLandlock
	}
	raw, err := program(slices.Concat(denied, changing), locking)
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	// What this process got without the mark itself would go on to the programs.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close_range: %w", err)
	}
	if err := noWrites(abi); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return load(raw, 0)
}

func noWrites(abi int) error {
	attr := ll.RulesetAttr{HandledAccessFS: writes}
	for since, right := range later {
		if abi >= since {
			attr.HandledAccessFS |= right
		}
	}
	rules, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return err
	}
	defer unix.Close(rules)
	null, err := unix.Open(os.DevNull, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(null)
	nothing := ll.PathBeneathAttr{AllowedAccess: ll.AccessFSWriteFile, ParentFd: null}
	err = ll.LandlockAddPathBeneathRule(rules, &nothing, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if err == nil {
		err = ll.LandlockRestrictSelf(rules, 0)
	}
	return err
}
