package image

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/threegate/tool-exec/spool/durable"
)

// Pack makes one image of one layer from rootfsTar, puts it into the layout
// (made if absent) and gives it the name. The result depends on the tar's names,
// modes and bytes and on cfg without its Recipe, nothing else: the same twice has
// the same digest, and the second time changes nothing. An image that bore the name before stays
// in the layout under its digest. All blobs are durable before the index names
// them, and the index is replaced by one rename: a crash leaves the old one.
// Several processes may Pack into one layout.
func Pack(rootfsTar, name string, cfg Config, layoutDir string) (digest string, err error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	in, err := os.Open(rootfsTar)
	if err != nil {
		return "", fmt.Errorf("root filesystem of %s: %w", name, err)
	}
	defer in.Close()
	entries, err := readRoot(in)
	if err != nil {
		return "", fmt.Errorf("%s: %w", rootfsTar, err)
	}
	if len(entries) == 0 {
		return "", fmt.Errorf("%s: %w: it is empty", rootfsTar, ErrRootfs)
	}

	l, err := createLayout(layoutDir)
	if err != nil {
		return "", err
	}
	layer, diffID, err := l.writeLayer(in, entries)
	if err != nil {
		return "", err
	}
	config, err := l.writeJSON(configFile(cfg, diffID, programs(entries, cfg.Env)))
	if err != nil {
		return "", err
	}
	config.MediaType = types.OCIConfigJSON
	var unpacked int64
	for _, e := range entries {
		unpacked += e.size
	}
	annotations := map[string]string{
		annotationTitle:    name,
		annotationOCIVer:   cfg.Version,
		annotationVersion:  cfg.Version,
		annotationUnpacked: strconv.FormatInt(unpacked, 10),
	}
	manifest, err := l.writeJSON(v1.Manifest{
		SchemaVersion: 2,
		MediaType:     types.OCIManifestSchema1,
		Config:        config,
		Layers:        []v1.Descriptor{layer},
		Annotations:   annotations,
	})
	if err != nil {
		return "", err
	}
	manifest.MediaType = types.OCIManifestSchema1
	manifest.Platform = &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}
	manifest.Annotations = map[string]string{
		annotationRefName:  name,
		annotationVersion:  cfg.Version,
		annotationRecipe:   cfg.Recipe,
		annotationUnpacked: annotations[annotationUnpacked],
	}
	if err := l.setName(name, manifest); err != nil {
		return "", err
	}
	return manifest.Digest.String(), nil
}

func configFile(cfg Config, diffID v1.Hash, programs []string) v1.ConfigFile {
	return v1.ConfigFile{
		Architecture: runtime.GOARCH,
		OS:           "linux",
		Created:      v1.Time{Time: Epoch},
		Config: v1.Config{Env: cfg.Env, Cmd: cfg.Cmd, WorkingDir: cfg.WorkingDir, User: cfg.User,
			Labels: map[string]string{labelPrograms: strings.Join(programs, " ")}},
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{diffID}},
	}
}

// writeLayer compresses the root filesystem into a blob. gzip, because every
// containerd unpacks it.
func (l layout) writeLayer(in *os.File, entries []rootEntry) (v1.Descriptor, v1.Hash, error) {
	plain := sha256.New()
	desc, err := l.writeBlob(func(w io.Writer) error {
		zw := gzip.NewWriter(w)
		if err := writeRoot(io.MultiWriter(zw, plain), in, entries); err != nil {
			return err
		}
		return zw.Close()
	})
	if err != nil {
		return v1.Descriptor{}, v1.Hash{}, err
	}
	desc.MediaType = types.OCILayer
	return desc, v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(plain.Sum(nil))}, nil
}

func (l layout) writeJSON(v any) (v1.Descriptor, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("image layout: %w", err)
	}
	return l.writeBlob(func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(b))
		return err
	})
}

// writeBlob stores what fill writes under its digest, durably.
func (l layout) writeBlob(fill func(io.Writer) error) (desc v1.Descriptor, err error) {
	dir := filepath.Join(l.dir, "blobs", "sha256")
	f, err := durable.Create(dir)
	if err != nil {
		return desc, fmt.Errorf("image layout: %w", err)
	}
	sum := sha256.New()
	err = fill(io.MultiWriter(f, sum))
	size, serr := f.Seek(0, io.SeekEnd)
	name := hex.EncodeToString(sum.Sum(nil))
	if err := f.Commit(name, 0o644, errors.Join(err, serr)); err != nil {
		return desc, fmt.Errorf("image layout: %w", err)
	}
	return v1.Descriptor{Size: size, Digest: v1.Hash{Algorithm: "sha256", Hex: name}}, nil
}
