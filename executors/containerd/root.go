package containerd

import (
	"context"
	"fmt"
	"strings"

	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/image-spec/identity"
)

// viewPrefix begins the names of the snapshot views that keep an image's layers.
const viewPrefix = "threegate-root-"

// Layers are the folders of the unpacked layers of an image (see EnsureImage), uppermost first, to be mounted over
// each other. A view of the snapshot, whose label exempts it from garbage collection, keeps them where they are.
func (c *Client) Layers(ctx context.Context, manifest string) ([]string, error) {
	dirs, err := c.layers(ctx, manifest)
	if err != nil {
		return nil, fmt.Errorf("layers of image %s: %w", manifest, err)
	}
	return dirs, nil
}

func (c *Client) layers(ctx context.Context, manifest string) ([]string, error) {
	img, err := c.GetImage(ctx, imagePrefix+manifest)
	if err != nil {
		return nil, err
	}
	diffs, err := img.RootFS(ctx)
	if err != nil {
		return nil, err
	}
	sn := c.SnapshotService(c.cfg.Snapshotter)
	key := viewPrefix + strings.TrimPrefix(manifest, "sha256:")
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
		return nil, fmt.Errorf("the snapshotter wants a mount of type %q; only overlayfs and native are supported",
			m.Type)
	}
	return dirs, nil
}

// withGCRoot keeps a snapshot, and all it is made of, from garbage collection.
func withGCRoot(info *snapshots.Info) error {
	if info.Labels == nil {
		info.Labels = map[string]string{}
	}
	info.Labels["containerd.io/gc.root"] = "threegate"
	return nil
}
