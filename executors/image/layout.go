package image

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool/durable"
)

const (
	indexFile  = "index.json"
	layoutFile = "oci-layout"
	lockFile   = ".lock"

	layoutVersion = `{"imageLayoutVersion":"1.0.0"}`
)

// layout is an OCI image layout folder.
type layout struct{ dir string }

// createLayout makes what is missing of a layout.
func createLayout(dir string) (layout, error) {
	l := layout{dir: dir}
	if err := os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o755); err != nil {
		return l, fmt.Errorf("image layout: %w", err)
	}
	unlock, err := l.lock()
	if err != nil {
		return l, err
	}
	defer unlock()
	if _, err := os.Lstat(filepath.Join(dir, layoutFile)); err == nil {
		return l, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return l, fmt.Errorf("image layout: %w", err)
	}
	return l, l.replace(layoutFile, []byte(layoutVersion+"\n"))
}

// List returns the images of a layout, sorted by name, current before replaced
// ones. A layout that does not exist is ErrNotFound.
func List(layoutDir string) ([]Entry, error) {
	l := layout{dir: layoutDir}
	index, err := l.readIndex()
	if err != nil {
		return nil, err
	}
	out := make([]Entry, 0, len(index.Manifests))
	for _, d := range index.Manifests {
		e := Entry{
			Name:    d.Annotations[annotationRefName],
			Digest:  d.Digest.String(),
			Version: d.Annotations[annotationVersion],
			Recipe:  d.Annotations[annotationRecipe],
		}
		if e.Name == "" {
			e.Name, e.Replaced = d.Annotations[annotationReplaced], true
		}
		if e.UnpackedSize, err = strconv.ParseInt(d.Annotations[annotationUnpacked], 10, 64); err != nil {
			return nil, fmt.Errorf("%s: %w: %s has no %s", l.path(indexFile), ErrCorrupt, d.Digest, annotationUnpacked)
		}
		m, err := l.manifest(d.Digest.String())
		if err != nil {
			return nil, err
		}
		e.Size = d.Size + m.Config.Size
		for _, layer := range m.Layers {
			e.Size += layer.Size
		}
		out = append(out, e)
	}
	return out, nil
}

// Find returns the image that has a name now.
func Find(layoutDir, name string) (Entry, error) {
	if err := CheckName(name); err != nil {
		return Entry{}, err
	}
	entries, err := List(layoutDir)
	if err != nil {
		return Entry{}, err
	}
	for _, e := range entries {
		if e.Name == name && !e.Replaced {
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("%w: %q in %s", ErrNotFound, name, layoutDir)
}

// setName gives the name to an image and takes it from the one that bore it.
func (l layout) setName(name string, image v1.Descriptor) error {
	unlock, err := l.lock()
	if err != nil {
		return err
	}
	defer unlock()
	index, err := l.readIndex()
	if errors.Is(err, ErrNotFound) {
		index, err = v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}, nil
	}
	if err != nil {
		return err
	}
	kept := index.Manifests[:0]
	for _, d := range index.Manifests {
		if d.Digest == image.Digest {
			continue // the same again: the new descriptor takes its place
		}
		if d.Annotations[annotationRefName] == name {
			delete(d.Annotations, annotationRefName)
			d.Annotations[annotationReplaced] = name
		}
		kept = append(kept, d)
	}
	index.Manifests = append(kept, image)
	slices.SortFunc(index.Manifests, compareDescriptors)
	b, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return fmt.Errorf("image layout: %w", err)
	}
	b = append(b, '\n')
	if old, err := os.ReadFile(l.path(indexFile)); err == nil && bytes.Equal(old, b) {
		return nil
	}
	return l.replace(indexFile, b)
}

func compareDescriptors(a, b v1.Descriptor) int {
	key := func(d v1.Descriptor) string {
		if n := d.Annotations[annotationRefName]; n != "" {
			return n + " 0"
		}
		return d.Annotations[annotationReplaced] + " 1"
	}
	if c := strings.Compare(key(a), key(b)); c != 0 {
		return c
	}
	return strings.Compare(a.Digest.Hex, b.Digest.Hex)
}

func (l layout) path(name string) string { return filepath.Join(l.dir, name) }

// readIndex reads and checks index.json.
func (l layout) readIndex() (v1.IndexManifest, error) {
	var index v1.IndexManifest
	b, err := readBounded(l.path(indexFile))
	if errors.Is(err, fs.ErrNotExist) {
		return index, fmt.Errorf("%w: %s is not an OCI image layout (no %s)", ErrNotFound, l.dir, indexFile)
	}
	if err != nil {
		return index, err
	}
	corrupt := func(format string, args ...any) error {
		return fmt.Errorf("%s: %w: %s", l.path(indexFile), ErrCorrupt, fmt.Sprintf(format, args...))
	}
	if err := schemas.DecodeOpen(b, &index); err != nil {
		return index, corrupt("not JSON of an image index: %v", err)
	}
	if index.SchemaVersion != 2 {
		return index, corrupt("schemaVersion %d, want 2", index.SchemaVersion)
	}
	names := map[string]bool{}
	for _, d := range index.Manifests {
		name := d.Annotations[annotationRefName]
		switch {
		case d.MediaType != types.OCIManifestSchema1:
			return index, corrupt("%s has media type %.80q, want %q", d.Digest, d.MediaType, types.OCIManifestSchema1)
		case CheckDigest(d.Digest.String()) != nil:
			return index, corrupt("%v", CheckDigest(d.Digest.String()))
		case name == "" && d.Annotations[annotationReplaced] == "":
			return index, corrupt("%s has no name", d.Digest)
		case name != "" && CheckName(name) != nil:
			return index, corrupt("%v", CheckName(name))
		case name != "" && names[name]:
			return index, corrupt("two images have the name %q", name)
		}
		names[name] = true
	}
	return index, nil
}

// lock keeps other processes from changing the index until unlock is called.
func (l layout) lock() (unlock func(), err error) {
	f, err := os.OpenFile(l.path(lockFile), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, fmt.Errorf("image layout: %w", err)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("image layout: locking %s: %w", f.Name(), err)
	}
	return func() { f.Close() }, nil
}

// replace writes a file of the layout whole or not at all.
func (l layout) replace(name string, content []byte) error {
	if err := durable.ReplaceFile(l.dir, name, content, 0o644); err != nil {
		return fmt.Errorf("image layout: %w", err)
	}
	return nil
}

// corrupt is the error for a file of the layout that could not be opened or read.
func corrupt(err error) error {
	if errors.Is(err, durable.ErrNotRegular) || errors.Is(err, durable.ErrTooLong) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return fmt.Errorf("image layout: %w", err)
}

func readBounded(name string) ([]byte, error) {
	b, err := durable.ReadRegular(name, MaxIndexBytes)
	if err != nil {
		return nil, corrupt(err)
	}
	return b, nil
}
