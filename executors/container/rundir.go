package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
)

// Folders of the run folder.
const (
	boxesDir    = "boxes"
	rootsDir    = "roots"
	skeletonDir = "skeleton"
)

// prepareRunDir mounts a tmpfs at dir unless there is one, and makes what all
// sandboxes share. A reboot takes all of it away, as it must.
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
		return fmt.Errorf("%w: the run folder %s is a mount of type %s; it must be a tmpfs or no mount at all", ErrConfig, dir, found[len(found)-1].FSType)
	}
	if err := makePassages(dir, slotsDir); err != nil {
		return err
	}
	return makeSkeleton(filepath.Join(dir, skeletonDir))
}

// passMode lets the ids of runs through to the roots, and see nothing else: in
// a user namespace the runtime has no more rights on the host than they have.
const passMode = 0o711

// makePassages makes the folders of the run folder, closed but on the way to the
// roots, and wants every folder above to let sandboxes through, too.
func makePassages(dir string, closed ...string) error {
	modes := map[string]os.FileMode{".": passMode, rootsDir: passMode, boxesDir: 0o700}
	for _, d := range closed {
		modes[d] = 0o700
	}
	for d, mode := range modes {
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
			return fmt.Errorf("%w: sandboxes can't pass through %s to the run folder %s: chmod o+x %s, or choose another run folder", ErrConfig, up, dir, up)
		}
	}
	return nil
}

// skeletonFiles are laid over every image: the mount point of init, and an
// identity that is the same in every sandbox.
var skeletonFiles = map[string]string{
	job.InitPath:       "",
	"/etc/group":       fmt.Sprintf("root:x:0:\nsandbox:x:%d:\n", job.PayloadGID),
	"/etc/hostname":    sandbox.Hostname + "\n",
	"/etc/hosts":       "127.0.0.1 localhost " + sandbox.Hostname + "\n::1 localhost\n",
	"/etc/machine-id":  strings.Repeat("0", 32) + "\n",
	"/etc/passwd":      fmt.Sprintf("root:x:0:0::/:/bin/false\nsandbox:x:%d:%d::/tmp:/bin/false\n", job.PayloadUID, job.PayloadGID),
	"/etc/resolv.conf": "",
}

// skeletonDirs are the mount points. Whatever an image has there stays unseen.
var skeletonDirs = []string{"/dev", sandbox.ShmDir, "/etc", "/proc", "/sys", job.Dir, sandbox.InDir, sandbox.OutDir, sandbox.TmpDir}

// makeSkeleton is idempotent. What is there already is left alone: overlays
// that are mounted would not like to see it change.
func makeSkeleton(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	for _, d := range skeletonDirs {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("run folder: %w", err)
		}
	}
	for name, text := range skeletonFiles {
		path := filepath.Join(dir, name)
		if have, err := os.ReadFile(path); err == nil && string(have) == text {
			continue
		}
		if err := writeFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("run folder: %w", err)
		}
	}
	return nil
}

func hexOf(digest string) string {
	_, hex, _ := strings.Cut(digest, ":")
	return hex
}

// Dismantle takes a run folder down, with every root and box in it. No task may
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
	if err := cgroup.Remove(cgroup.Root, cgroupParent); err != nil && !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENOTEMPTY) {
		return fmt.Errorf("run folder: %w", err)
	}
	return nil
}
