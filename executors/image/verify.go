package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool/durable"
)

// Verify reads every blob of an image and compares size and hash. The index is
// not asked: an image is found by its digest alone.
func Verify(layoutDir, digest string) error {
	return walk(context.Background(), layout{dir: layoutDir}, digest,
		func(string, int64, io.Reader) error { return nil })
}

// Archive streams one image as an OCI archive (a tar of a layout that holds it
// alone, under the given name), as containerd's import reads it. Every byte is
// checked against its digest on the way; after an error what was written must be
// discarded. The stream is the same each time.
func Archive(ctx context.Context, layoutDir, digest, name string, w io.Writer) error {
	l := layout{dir: layoutDir}
	size, err := l.blobSize(digest)
	if err != nil {
		return err
	}
	h, err := v1.NewHash(digest)
	if err != nil {
		return err
	}
	index, err := json.Marshal(v1.IndexManifest{
		SchemaVersion: 2,
		MediaType:     types.OCIImageIndex,
		Manifests: []v1.Descriptor{{
			MediaType:   types.OCIManifestSchema1,
			Size:        size,
			Digest:      h,
			Annotations: map[string]string{annotationRefName: name, "io.containerd.image.name": name},
		}},
	})
	if err != nil {
		return fmt.Errorf("image archive: %w", err)
	}
	tw := tar.NewWriter(w)
	put := func(name string, size int64, r io.Reader) error {
		if err := tw.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: size,
			ModTime: Epoch}); err != nil {
			return fmt.Errorf("image archive: %w", err)
		}
		if _, err := io.Copy(tw, r); err != nil {
			return fmt.Errorf("image archive: %w", err)
		}
		return nil
	}
	if err := put(layoutFile, int64(len(layoutVersion)), bytes.NewReader([]byte(layoutVersion))); err != nil {
		return err
	}
	if err := put(indexFile, int64(len(index)), bytes.NewReader(index)); err != nil {
		return err
	}
	err = walk(ctx, l, digest, func(hex string, size int64, r io.Reader) error {
		return put("blobs/sha256/"+hex, size, r)
	})
	if err != nil {
		return err
	}
	if err := tw.Close(); err != nil {
		return fmt.Errorf("image archive: %w", err)
	}
	return nil
}

// Rootfs streams the files of an image as one uncompressed tar, checked on the
// way: after an error what was written must be discarded.
func Rootfs(ctx context.Context, layoutDir, digest string, w io.Writer) error {
	l := layout{dir: layoutDir}
	m, err := l.manifest(digest)
	if err != nil {
		return err
	}
	if len(m.Layers) != 1 || m.Layers[0].MediaType != types.OCILayer {
		return fmt.Errorf("%w: %s is not one layer of gzip", ErrCorrupt, digest)
	}
	return l.visitBlob(ctx, m.Layers[0], func(_ string, _ int64, r io.Reader) error {
		zr, err := gzip.NewReader(r)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrCorrupt, digest, err)
		}
		if _, err := io.Copy(w, zr); err != nil {
			return fmt.Errorf("reading the files of %s: %w", digest, err)
		}
		return nil
	})
}

// walk calls visit for the manifest, the configuration and each layer of an
// image. What visit leaves unread is read after it; a blob that is not what its
// digest and size say ends the walk with ErrCorrupt.
func walk(ctx context.Context, l layout, digest string, visit func(hex string, size int64, r io.Reader) error) error {
	m, err := l.manifest(digest)
	if err != nil {
		return err
	}
	size, err := l.blobSize(digest)
	if err != nil {
		return err
	}
	h, err := v1.NewHash(digest)
	if err != nil {
		return err
	}
	blobs := append([]v1.Descriptor{{Digest: h, Size: size}, m.Config}, m.Layers...)
	for _, b := range blobs {
		if err := l.visitBlob(ctx, b, visit); err != nil {
			return err
		}
	}
	return nil
}

func (l layout) visitBlob(ctx context.Context, d v1.Descriptor, visit func(string, int64, io.Reader) error) error {
	name, err := l.blobPath(d.Digest.String())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	f, err := durable.OpenRegular(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: blob %s is missing in %s: build the image again", ErrCorrupt, d.Digest, l.dir)
	}
	if err != nil {
		return corrupt(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("image layout: %w", err)
	}
	size := info.Size()
	if size != d.Size {
		return fmt.Errorf("%w: blob %s in %s has %d bytes, want %d: build the image again", ErrCorrupt, d.Digest,
			l.dir, size, d.Size)
	}
	sum := sha256.New()
	r := io.TeeReader(&ctxReader{ctx: ctx, r: io.LimitReader(f, size)}, sum)
	if err := visit(d.Digest.Hex, size, r); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return fmt.Errorf("image layout: %w", err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != d.Digest.Hex {
		return fmt.Errorf("%w: blob %s in %s has other bytes than its digest says: build the image again",
			ErrCorrupt, d.Digest, l.dir)
	}
	return nil
}

// manifest reads and checks an image's manifest.
func (l layout) manifest(digest string) (v1.Manifest, error) {
	var m v1.Manifest
	b, err := l.smallBlob(digest)
	if err != nil {
		return m, err
	}
	if err := schemas.DecodeOpen(b, &m); err != nil {
		return m, fmt.Errorf("%w: manifest %s: %w", ErrCorrupt, digest, err)
	}
	if m.SchemaVersion != 2 || m.MediaType != types.OCIManifestSchema1 || len(m.Layers) == 0 {
		return m, fmt.Errorf("%w: %s is no OCI image manifest", ErrCorrupt, digest)
	}
	return m, nil
}

// smallBlob reads a blob of JSON whole and checks its hash.
func (l layout) smallBlob(digest string) ([]byte, error) {
	name, err := l.blobPath(digest)
	if err != nil {
		return nil, err
	}
	b, err := readBounded(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s in %s", ErrNotFound, digest, l.dir)
	}
	if err != nil {
		return nil, err
	}
	if "sha256:"+schemas.SHA256(b) != digest {
		return nil, fmt.Errorf("%w: blob %s in %s has other bytes than its digest says: build the image again",
			ErrCorrupt, digest, l.dir)
	}
	return b, nil
}

func (l layout) blobSize(digest string) (int64, error) {
	b, err := l.smallBlob(digest)
	return int64(len(b)), err
}

func (l layout) blobPath(digest string) (string, error) {
	if err := CheckDigest(digest); err != nil {
		return "", err
	}
	return filepath.Join(l.dir, "blobs", "sha256", digest[len("sha256:"):]), nil
}

// ctxReader ends with the context's error.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
