package container

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/sandbox"
)

// mountInputs puts the folder dir at /in of a sandbox that is there already, with
// the flags that /in has in every sandbox. Nothing of a request runs in it yet.
func mountInputs(mnt *os.File, dir string) error {
	tree, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return fmt.Errorf("inputs: %w", os.NewSyscallError("open_tree", err))
	}
	defer unix.Close(tree)
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{
		Attr_set:    unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC,
		Propagation: unix.MS_PRIVATE,
	})
	if err != nil {
		return fmt.Errorf("inputs: %w", os.NewSyscallError("mount_setattr", err))
	}
	done := make(chan error, 1)
	go func() {
		// Never unlocked: the thread ends with the goroutine, as it is in
		// another mount namespace and can't come back.
		runtime.LockOSThread()
		done <- moveInto(mnt, tree)
	}()
	if err := <-done; err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	return nil
}

func moveInto(mnt *os.File, tree int) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	if err := unix.Setns(int(mnt.Fd()), unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("setns", err)
	}
	err := unix.MoveMount(tree, "", unix.AT_FDCWD, sandbox.InDir, unix.MOVE_MOUNT_F_EMPTY_PATH)
	return os.NewSyscallError("move_mount", err)
}
