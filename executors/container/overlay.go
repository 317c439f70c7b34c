package container

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
)

// mountOverlay mounts folders over each other, the first on top, read-only at target. Each
// mount has inodes of its own: a lock or a watch on a file is not seen through another.
// What the kernel tells of the mount names no folder of the host: the names are those of
// links, relative to a folder that is gone again. There must be two folders at least.
func mountOverlay(target string, flags uintptr, folders ...string) error {
	links, err := os.MkdirTemp(filepath.Dir(target), ".links-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(links)
	names := make([]string, len(folders))
	for i, f := range folders {
		names[i] = strconv.Itoa(i)
		if err := os.Symlink(f, filepath.Join(links, names[i])); err != nil {
			return err
		}
	}
	err = executors.OnOwnThread(func() error {
		err := os.NewSyscallError("unshare", unix.Unshare(unix.CLONE_FS))
		if err == nil {
			err = os.NewSyscallError("chdir", unix.Chdir(links))
		}
		if err == nil {
			options := "lowerdir=" + strings.Join(names, ":")
			err = os.NewSyscallError("mount", unix.Mount("overlay", target, "overlay",
				unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|flags, options))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("mount an overlay at %s: %w", target, err)
	}
	return nil
}

// unmount takes every mount away that lies upon path. It is no error if there is none.
func unmount(path string) error {
	for { // a crash between two attempts may have left one upon the other
		switch err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err {
		case nil:
		case unix.EINVAL, unix.ENOENT:
			return nil
		default:
			return fmt.Errorf("unmount %s: %w", path, err)
		}
	}
}
