package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/image"
)

// ErrNoImage means that an image is neither in containerd nor in the layout.
var ErrNoImage = executors.ErrNoImage

// imagePrefix begins the names of our images; a digest follows. The name is
// no reference to any registry.
const imagePrefix = "threegate.invalid/image@"

// EnsureImage makes the image with the given manifest digest ready: imported
// from the OCI layout folder if need be, every blob checked against its digest,
// and unpacked. It may be called again at any time and is then quick.
func (c *Client) EnsureImage(ctx context.Context, layout, manifest string) error {
	if err := image.CheckDigest(manifest); err != nil {
		return err
	}
	img, err := c.GetImage(ctx, imagePrefix+manifest)
	if errdefs.IsNotFound(err) {
		if err = c.importImage(ctx, layout, manifest); err == nil {
			img, err = c.GetImage(ctx, imagePrefix+manifest)
		}
	}
	if err != nil {
		return fmt.Errorf("image %s: %w", manifest, err)
	}
	unpacked, err := img.IsUnpacked(ctx, c.cfg.Snapshotter)
	if err == nil && !unpacked {
		err = img.Unpack(ctx, c.cfg.Snapshotter)
	}
	if err != nil {
		return fmt.Errorf("unpack image %s: %w", manifest, err)
	}
	return nil
}

// HasLayout says whether the layout folder has the manifest, without reading more of it.
func HasLayout(layout, manifest string) error {
	if err := image.CheckDigest(manifest); err != nil {
		return err
	}
	_, err := os.Stat(filepath.Join(layout, "blobs", "sha256", strings.TrimPrefix(manifest, "sha256:")))
	if errors.Is(err, fs.ErrNotExist) {
		return noImage(layout, manifest)
	}
	return err
}

func noImage(layout, manifest string) error {
	return executors.WithHint(fmt.Errorf("%w: %s has no %s", ErrNoImage, layout, manifest),
		"deploy/images/build "+layout+" makes what is missing there; should the digest be another one then, pin it "+
			"in the configuration")
}

// importImage streams the image as an archive, which is checked on the way.
func (c *Client) importImage(ctx context.Context, layout, manifest string) error {
	r, w := io.Pipe()
	archived := make(chan error, 1)
	go func() {
		err := image.Archive(ctx, layout, manifest, imagePrefix+manifest, w)
		_ = w.CloseWithError(err) // which never fails
		archived <- err
	}()
	_, err := c.Import(ctx, r)
	_ = r.CloseWithError(io.ErrClosedPipe) // ends the archive, if the import has failed first
	if aerr := <-archived; aerr != nil && !errors.Is(aerr, io.ErrClosedPipe) {
		err = aerr
	}
	if errors.Is(err, image.ErrNotFound) {
		return noImage(layout, manifest)
	}
	return err
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
