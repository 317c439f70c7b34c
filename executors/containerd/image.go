package containerd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	containerdclient "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
)

// ErrNoImage means that an image is neither in containerd nor in the layout.
var ErrNoImage = executors.ErrNoImage

const (
	// imagePrefix begins the names of our images; a digest follows. The name is
	// no reference to any registry.
	imagePrefix = "threegate.invalid/image@"
	// maxManifestBytes bounds manifests and configs.
	maxManifestBytes = 4 << 20
	maxLayers        = 100
)

// EnsureImage makes the image with the given manifest digest ready: imported
// from the OCI layout folder if need be, every blob checked against its digest,
// and unpacked. It may be called again at any time and is then quick.
func (c *Client) EnsureImage(ctx context.Context, layout, manifest string) error {
	dgst, err := digest.Parse(manifest)
	if err != nil || dgst.Algorithm() != digest.SHA256 {
		return fmt.Errorf("image %q: not a sha256 digest", manifest)
	}
	img, err := c.GetImage(ctx, imagePrefix+dgst.String())
	if errdefs.IsNotFound(err) {
		img, err = c.importImage(ctx, layout, dgst)
	}
	if err != nil {
		return fmt.Errorf("image %s: %w", dgst, err)
	}
	unpacked, err := img.IsUnpacked(ctx, c.cfg.Snapshotter)
	if err == nil && !unpacked {
		err = img.Unpack(ctx, c.cfg.Snapshotter)
	}
	if err != nil {
		return fmt.Errorf("unpack image %s: %w", dgst, err)
	}
	return nil
}

// HasLayout says whether the layout folder has the manifest, without reading more of it.
func HasLayout(layout, manifest string) error {
	dgst, err := digest.Parse(manifest)
	if err != nil || dgst.Algorithm() != digest.SHA256 {
		return fmt.Errorf("image %q: not a sha256 digest", manifest)
	}
	if _, err := os.Stat(blobPath(layout, dgst)); err != nil {
		return noBlob(layout, dgst, err)
	}
	return nil
}

func (c *Client) importImage(ctx context.Context, layout string, dgst digest.Digest) (containerdclient.Image, error) {
	// Nothing may be collected as garbage before the image refers to it.
	ctx, done, err := c.WithLease(ctx)
	if err != nil {
		return nil, err
	}
	defer done(context.WithoutCancel(ctx)) //nolint:errcheck // it expires by itself

	raw, err := readBlob(layout, dgst)
	if err != nil {
		return nil, err
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	if len(m.Layers) == 0 || len(m.Layers) > maxLayers || m.Config.Digest == "" {
		return nil, fmt.Errorf("the digest is not that of an image manifest with 1 to %d layers (is it that of an index?)", maxLayers)
	}
	media := m.MediaType
	if media == "" {
		media = ocispec.MediaTypeImageManifest
	}
	desc := ocispec.Descriptor{MediaType: media, Digest: dgst, Size: int64(len(raw))}
	// Children first: the manifest's labels keep them once it is there.
	for _, d := range append([]ocispec.Descriptor{m.Config}, m.Layers...) {
		if err := c.copyBlob(ctx, layout, d); err != nil {
			return nil, err
		}
	}
	if err := c.copyBlob(ctx, layout, desc); err != nil {
		return nil, err
	}
	cs := c.ContentStore()
	if err := images.Dispatch(ctx, images.SetChildrenLabels(cs, images.ChildrenHandler(cs)), nil, desc); err != nil {
		return nil, fmt.Errorf("label content: %w", err)
	}
	img, err := c.ImageService().Create(ctx, images.Image{Name: imagePrefix + dgst.String(), Target: desc})
	if errdefs.IsAlreadyExists(err) {
		return c.GetImage(ctx, imagePrefix+dgst.String())
	}
	if err != nil {
		return nil, err
	}
	return containerdclient.NewImage(c.Client, img), nil
}

func (c *Client) copyBlob(ctx context.Context, layout string, d ocispec.Descriptor) error {
	if err := d.Digest.Validate(); err != nil {
		return fmt.Errorf("blob %q: %w", d.Digest, err)
	}
	f, err := openBlob(layout, d.Digest)
	if err != nil {
		return err
	}
	defer f.Close()
	// The store refuses other bytes than those of the digest.
	if err := content.WriteBlob(ctx, c.ContentStore(), "threegate-"+d.Digest.String(), f, d); err != nil {
		return fmt.Errorf("blob %s: %w", d.Digest, err)
	}
	return nil
}

func blobPath(layout string, d digest.Digest) string {
	return filepath.Join(layout, "blobs", d.Algorithm().String(), d.Encoded())
}

func noBlob(layout string, d digest.Digest, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return executors.WithMend(fmt.Errorf("%w: %s has no blob %s", ErrNoImage, layout, d),
			"deploy/images/build "+layout+" makes what is missing there; should the digest be another one then, pin it in the configuration")
	}
	return err
}

func openBlob(layout string, d digest.Digest) (*os.File, error) {
	f, err := os.OpenFile(blobPath(layout, d), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, noBlob(layout, d, err)
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("blob %s is no regular file", d)
	}
	return f, nil
}

func readBlob(layout string, d digest.Digest) ([]byte, error) {
	f, err := openBlob(layout, d)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxManifestBytes+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxManifestBytes {
		return nil, fmt.Errorf("blob %s is larger than a manifest may be", d)
	}
	if digest.FromBytes(raw) != d {
		return nil, fmt.Errorf("blob %s in %s has other content than its name says; build the image again", d, layout)
	}
	return raw, nil
}

// ImageEnv is the environment that the image's configuration asks for.
func (c *Client) ImageEnv(ctx context.Context, manifest string) ([]string, error) {
	img, err := c.GetImage(ctx, imagePrefix+manifest)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", manifest, err)
	}
	spec, err := img.Spec(ctx)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", manifest, err)
	}
	return spec.Config.Env, nil
}
