package backend

import (
	"errors"
	"maps"
	"slices"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/containerd"
	"github.com/threegate/tool-exec/gate/config"
)

// ToolsProgram is the program that works under profiles.
const ToolsProgram = "threegate-tools"

// Profile is one of tools.profiles, with what its runs get.
type Profile struct {
	Name string `json:"name"`
	// Registry is the SHA-256 of the registry, in hex.
	Registry string `json:"registry_sha256"`
	Image    string `json:"image"`
	Digest   string `json:"image_digest"`
	// Missing says that the image is not in the node's folder of images.
	Missing bool `json:"image_missing"`
	// HasTools says whether the image holds threegate-tools. It is null where an image does not say what it holds.
	HasTools *bool `json:"has_threegate_tools"`
}

// Profiles are those of a node, sorted by name.
func Profiles(l *config.Node) []Profile {
	all := []Profile{}
	for _, name := range slices.Sorted(maps.Keys(l.Tools.Profiles)) {
		image := l.Tools.Profiles[name].Image
		p := Profile{Name: name, Registry: config.RegistryDigest(l.Registries[name]), Image: image,
			Digest: l.Backends.ERA.Languages[image].Image}
		p.Missing = errors.Is(containerd.HasLayout(l.Backends.Images, p.Digest), executors.ErrNoImage)
		if programs, known := l.Programs[image]; known {
			has := slices.Contains(programs, ToolsProgram)
			p.HasTools = &has
		}
		all = append(all, p)
	}
	return all
}

// Tools says in words what of the image is known.
func (p *Profile) Tools() string {
	switch {
	case p.Missing:
		return "which is not in the node's folder of images"
	case p.HasTools == nil:
		return "of which it is not known what it holds"
	case *p.HasTools:
		return "with " + ToolsProgram
	}
	return "without " + ToolsProgram
}
