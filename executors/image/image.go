// Package image keeps the root filesystems that programs run in, as OCI images
// in an OCI image layout: a plain folder, no registry.
//
// It packs a built root filesystem into one reproducible image, lists and finds
// images, verifies every blob against its digest and streams one image as an
// archive that a containerd of any age imports. The tar that Pack reads is build
// output of the operator's own; it is sanitised all the same. The layout is
// trusted no further than the digests: what is pinned is what is read, or the
// read fails. The package runs nothing and talks to no daemon.
package image

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Limits of what is read. They bound mistakes, not a well-built image.
const (
	// MaxNameLength bounds an image's name.
	MaxNameLength = 64
	// MaxIndexBytes bounds index.json, a manifest and a configuration.
	MaxIndexBytes = 4 << 20
	// MaxRootBytes bounds the unpacked size of a root filesystem.
	MaxRootBytes = 8 << 30
	// MaxRootEntries bounds the number of files of a root filesystem.
	MaxRootEntries = 1 << 20
	// MaxPathLength bounds the path of one file of a root filesystem.
	MaxPathLength = 4095
)

// Annotations of ours, on manifests and on their descriptors in index.json.
const (
	annotationVersion  = "threegate.language-version"
	annotationRecipe   = "threegate.recipe"
	annotationUnpacked = "threegate.unpacked-size"
	// annotationReplaced is on the descriptor of an image that another one of
	// the same name took the place of; it holds that name.
	annotationReplaced = "threegate.replaced"
	// labelPrograms is a label of an image's configuration: the programs that Programs returns.
	labelPrograms = "threegate.programs"

	annotationRefName = "org.opencontainers.image.ref.name"
	annotationTitle   = "org.opencontainers.image.title"
	annotationOCIVer  = "org.opencontainers.image.version"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrNotFound says that a layout holds no such name or digest, or that
	// there is no layout.
	ErrNotFound = errors.New("no such image")
	// ErrCorrupt says that a layout holds something else than its digests say.
	ErrCorrupt = errors.New("image layout is damaged")
	// ErrRootfs says that a root filesystem can't become an image.
	ErrRootfs = errors.New("root filesystem refused")
)

// Epoch is the time that every file of an image has, and the image itself.
var Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Config is what an image says of itself, apart from its files.
type Config struct {
	// Version is the version of the language or program, e.g. "3.11.2".
	Version string
	// Recipe identifies what the image was built from (recipe and package
	// versions); the build script compares it to skip work. It is a note in the
	// layout's index, not part of the image: another way to the same files must
	// not change the digest.
	Recipe string
	// Env is the environment that the image's program expects, as K=V.
	Env []string
	// Cmd is the argument vector run when none is given.
	Cmd []string
	// WorkingDir and User are defaults for tools that run the image by
	// themselves; the sandbox sets its own.
	WorkingDir string
	User       string
}

// Entry is one image of a layout.
type Entry struct {
	Name string `json:"name"`
	// Digest is the manifest's digest: what configuration pins.
	Digest  string `json:"digest"`
	Version string `json:"version"`
	Recipe  string `json:"recipe,omitempty"`
	// Size is the number of bytes of all blobs, UnpackedSize of all files.
	Size         int64 `json:"size"`
	UnpackedSize int64 `json:"unpacked_size"`
	// Replaced says that a newer image has the name now. The image is still
	// whole and can be run by digest.
	Replaced bool `json:"replaced,omitempty"`
}

var nameRule = regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*$`)

// CheckName says whether name may name an image.
func CheckName(name string) error {
	if len(name) > MaxNameLength || !nameRule.MatchString(name) {
		return fmt.Errorf("image name %.80q: want at most %d of a-z, 0-9 and single . _ - between them", name,
			MaxNameLength)
	}
	return nil
}

var digestRule = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// CheckDigest says whether digest is one that a layout can hold.
func CheckDigest(digest string) error {
	if !digestRule.MatchString(digest) {
		return fmt.Errorf("image digest %.80q: want sha256: and 64 of 0-9a-f", digest)
	}
	return nil
}
