package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/threegate/tool-exec/spool/durable"
)

// Add copies the images that have a name in the layout from to the layout to (made if absent),
// where they get that name. Every byte is checked against its digest on the way. An image that bore
// a name there before stays under its digest. What is there already is not copied again. It returns
// the images that were added.
func Add(ctx context.Context, from, to string) ([]Entry, error) {
	source := layout{dir: from}
	entries, err := List(from)
	if err != nil {
		return nil, err
	}
	target, err := createLayout(to)
	if err != nil {
		return nil, err
	}
	index, err := source.readIndex()
	if err != nil {
		return nil, err
	}
	var added []Entry
	for _, e := range entries {
		if e.Replaced {
			continue
		}
		if now, err := Find(to, e.Name); err == nil && now.Digest == e.Digest {
			continue
		} else if err != nil && !errors.Is(err, ErrNotFound) {
			return added, err
		}
		if err := target.copyFrom(ctx, source, e.Digest); err != nil {
			return added, fmt.Errorf("image %s: %w", e.Name, err)
		}
		for _, d := range index.Manifests {
			if d.Digest.String() == e.Digest {
				if err := target.setName(e.Name, d); err != nil {
					return added, err
				}
			}
		}
		added = append(added, e)
	}
	return added, nil
}

// copyFrom copies the blobs of an image. One that its digest does not fit may be left there: no
// name leads to it, every reader checks it, and a later copy replaces it.
func (l layout) copyFrom(ctx context.Context, source layout, digest string) error {
	return walk(ctx, source, digest, func(hex string, _ int64, r io.Reader) error {
		name := filepath.Join(l.dir, "blobs", "sha256", hex)
		f, err := durable.Create(filepath.Dir(name))
		if err == nil {
			_, err = io.Copy(f, r)
			err = f.Commit(filepath.Base(name), 0o644, err)
		}
		if err != nil {
			return fmt.Errorf("image layout: %w", err)
		}
		return nil
	})
}
