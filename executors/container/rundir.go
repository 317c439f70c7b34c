package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/cgroup"
)

// Folders of the run folder.
const (
	runDirsDir   = "boxes"
	slotsDir     = "slots" // run folders that no task has yet; a claim renames one of them to be the task's
	rootsDir     = "roots" // where roots are mounted while containers are made
	skeletonsDir = "skeletons"
)

// passMode lets the ids of runs through to the roots, and see nothing else: in
// a user namespace the runtime has no more rights on the host than they have.
const passMode = 0o711

// prepareRunDir mounts a tmpfs at dir unless there is one, and makes its folders. A
// reboot takes all of it away, as it must.
func prepareRunDir(dir string) error {
	if err := os.MkdirAll(dir, passMode); err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	found, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(dir))
	if err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	if len(found) == 0 {
		err := unix.Mount("threegate", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
		if err != nil {
			return fmt.Errorf("run folder: mount a tmpfs at %s: %w", dir, err)
		}
	} else if found[len(found)-1].FSType != "tmpfs" {
		return fmt.Errorf("%w: the run folder %s is a mount of type %s; it must be a tmpfs or no mount at all",
			ErrConfig, dir, found[len(found)-1].FSType)
	}
	// Below it all mounts are private then, also where systemd shares the host's: what is unmounted
	// here must not go from a sandbox, and nothing that is mounted here may appear in one.
	if err := unix.Mount("", dir, "", unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("run folder: make %s private: %w", dir, err)
	}
	for d, mode := range map[string]os.FileMode{".": passMode, rootsDir: passMode, runDirsDir: 0o700, slotsDir: 0o700,
		skeletonsDir: 0o700} {
		err := os.MkdirAll(filepath.Join(dir, d), mode)
		if err == nil {
			err = os.Chmod(filepath.Join(dir, d), mode)
		}
		if err != nil {
			return fmt.Errorf("run folder: %w", err)
		}
	}
	for up := filepath.Dir(dir); up != "/"; up = filepath.Dir(up) {
		st, err := os.Stat(up)
		if err != nil {
			return fmt.Errorf("run folder: %w", err)
		}
		if st.Mode()&0o001 == 0 {
			return fmt.Errorf("%w: sandboxes can't pass through %s to the run folder %s: chmod o+x %s, or choose "+
				"another run folder", ErrConfig, up, dir, up)
		}
	}
	return nil
}

// Dismantle takes Config.RunDir down, with every root and run folder in it. No task may
// be left: it is for a node that is removed for good.
func Dismantle(dir string) error {
	found, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	if err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	// The innermost first.
	slices.SortFunc(found, func(a, b *mountinfo.Info) int { return len(b.Mountpoint) - len(a.Mountpoint) })
	for _, m := range found {
		if err := unix.Unmount(m.Mountpoint, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("run folder: unmount %s: %w", m.Mountpoint, err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	// The groups' parent goes when no other node has a sandbox below it.
	if err := cgroup.Remove(cgroup.Root, DefaultCgroup); err != nil && !errors.Is(err, unix.EBUSY) &&
		!errors.Is(err, unix.ENOTEMPTY) {
		return fmt.Errorf("run folder: %w", err)
	}
	return nil
}
