package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
	"github.com/moby/sys/mountinfo"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/identity"
	"golang.org/x/sys/unix"
)

// maxMountOptions is what one mount(2) call takes.
const maxMountOptions = 4095

// viewPrefix begins the names of the snapshot views that keep an image's layers.
const viewPrefix = "threegate-root-"

// EnsureRoot mounts the image (see EnsureImage) read-only at target, with the
// folder skeleton laid over it, which holds the mount points of a sandbox. Many
// containers share one such mount. One that is there already is kept.
func (c *Client) EnsureRoot(ctx context.Context, manifest, skeleton, target string) error {
	dgst, err := digest.Parse(manifest)
	if err != nil {
		return fmt.Errorf("image %q: %w", manifest, err)
	}
	layers, err := c.layers(ctx, dgst)
	if err != nil {
		return fmt.Errorf("root of image %s: %w", dgst, err)
	}
	lower := strings.Join(append([]string{skeleton}, layers...), ":")
	mounted, err := mountOf(target)
	if err != nil {
		return fmt.Errorf("root of image %s: %w", dgst, err)
	}
	if mounted != nil {
		if mounted.FSType == "overlay" && hasOption(mounted.VFSOptions, "lowerdir="+lower) {
			return nil
		}
		// An earlier image store's: containers that still use it keep it.
		if err := unix.Unmount(target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("root of image %s: unmount %s: %w", dgst, target, err)
		}
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return fmt.Errorf("root of image %s: %w", dgst, err)
	}
	options := "lowerdir=" + lower
	if len(options) > maxMountOptions {
		return fmt.Errorf("root of image %s: its %d layers' paths are too long for one mount; use fewer layers or a shorter containerd root", dgst, len(layers))
	}
	const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV
	if err := unix.Mount("overlay", target, "overlay", flags, options); err != nil {
		return fmt.Errorf("root of image %s: mount overlay at %s: %w", dgst, target, err)
	}
	return nil
}

// layers are the folders of the unpacked layers, uppermost first. A view of the
// snapshot, which is no garbage by its label, keeps them where they are.
func (c *Client) layers(ctx context.Context, dgst digest.Digest) ([]string, error) {
	img, err := c.GetImage(ctx, imagePrefix+dgst.String())
	if err != nil {
		return nil, err
	}
	diffs, err := img.RootFS(ctx)
	if err != nil {
		return nil, err
	}
	sn := c.SnapshotService(c.cfg.Snapshotter)
	key := viewPrefix + dgst.Encoded()
	mounts, err := sn.Mounts(ctx, key)
	if errdefs.IsNotFound(err) {
		mounts, err = sn.View(ctx, key, identity.ChainID(diffs).String(), withGCRoot)
	}
	if err != nil {
		return nil, err
	}
	return lowerDirs(mounts)
}

// lowerDirs reads the layers out of what a snapshotter would have mounted.
func lowerDirs(mounts []mount.Mount) ([]string, error) {
	if len(mounts) != 1 {
		return nil, fmt.Errorf("the snapshotter wants %d mounts; only overlayfs and native are supported", len(mounts))
	}
	m := mounts[0]
	var dirs []string
	switch m.Type {
	case "bind":
		dirs = []string{m.Source}
	case "overlay":
		for _, o := range m.Options {
			if l, ok := strings.CutPrefix(o, "lowerdir="); ok {
				dirs = strings.Split(l, ":")
			}
		}
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("the snapshotter wants a mount of type %q; only overlayfs and native are supported", m.Type)
	}
	for _, d := range dirs {
		if strings.ContainsAny(d, ",\\") {
			return nil, fmt.Errorf("layer path %q has a character that a mount can't take", d)
		}
	}
	return dirs, nil
}

// mountOf is what is mounted exactly at path, or nil.
func mountOf(path string) (*mountinfo.Info, error) {
	found, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(path))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

func hasOption(options, want string) bool {
	for _, o := range strings.Split(options, ",") {
		if o == want {
			return true
		}
	}
	return false
}

// ReleaseRoot unmounts what EnsureRoot mounted. It is no error if nothing is there.
func ReleaseRoot(target string) error {
	err := unix.Unmount(target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount %s: %w", target, err)
	}
	return nil
}

// withGCRoot keeps a snapshot, and all it is made of, from garbage collection.
func withGCRoot(info *snapshots.Info) error {
	if info.Labels == nil {
		info.Labels = map[string]string{}
	}
	info.Labels["containerd.io/gc.root"] = "threegate"
	return nil
}
