package config

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/validate"
)

// Tools says how runs of threegate-tools are governed.
type Tools struct {
	// Profiles are languages of requests, each with a registry that the node gives to the run.
	Profiles map[string]Profile `yaml:"profiles"`
}

// Profile is one way to change a repository.
type Profile struct {
	// Registry is the path of a file in the format of the Tool Runtime.
	Registry string `yaml:"registry"`
	// Image is the name of one of backends.era.languages.
	Image  string        `yaml:"image"`
	Limits ProfileLimits `yaml:"limits,omitempty"`
}

// ProfileLimits take the place of those in Limits that no request names. Where they are 0, those of Limits count, or
// what a build needs if that is more.
type ProfileLimits struct {
	Pids      int `yaml:"pids,omitempty"`
	OpenFiles int `yaml:"open_files,omitempty"`
	OutMB     int `yaml:"out_mb,omitempty"`
	OutFiles  int `yaml:"out_files,omitempty"`
	TmpMB     int `yaml:"tmp_mb,omitempty"`
}

// ImageName is the one of backends.era.languages that a request's language runs in.
func (l *Node) ImageName(language string) string {
	if p, ok := l.Tools.Profiles[language]; ok {
		return p.Image
	}
	return language
}

// Languages are what a request can have as its language: images and profiles, sorted. A Monty request can where the
// image has what it takes.
func (l *Node) Languages() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range l.Backends.ERA.Languages {
			if !yield(name) {
				return
			}
		}
		for name := range l.Tools.Profiles {
			if !yield(name) {
				return
			}
		}
	})
}

// Registry is the registry that the profile of a request gives to its run, or nil.
func (l *Node) Registry(req *schemas.Request) []byte {
	if req.Backend == schemas.BackendMonty && schemas.PlainMonty(req.Language) {
		return nil
	}
	return l.Registries[req.Language]
}

// RegistryDigest is the SHA-256 of a registry in hex, or "" if there is no registry.
func RegistryDigest(raw []byte) string {
	if raw == nil {
		return ""
	}
	return schemas.SHA256(raw)
}

// What a build needs: a linker has as many threads as there are cores, and all that is built lies in /tmp.
const (
	buildPids      = 512
	buildOpenFiles = 4096
	buildTmpMB     = 512
)

// over puts what a profile sets in the place of the node's limits.
func (p ProfileLimits) over(l *executors.Limits) {
	set := func(to *int64, value int, shift uint) {
		if value > 0 {
			*to = int64(value) << shift
		}
	}
	count := func(to *int, value int) {
		if value > 0 {
			*to = value
		}
	}
	l.Pids, l.OpenFiles = max(l.Pids, buildPids), max(l.OpenFiles, buildOpenFiles)
	l.TmpBytes = max(l.TmpBytes, buildTmpMB<<20)
	count(&l.Pids, p.Pids)
	count(&l.OpenFiles, p.OpenFiles)
	count(&l.OutFiles, p.OutFiles)
	set(&l.OutBytes, p.OutMB, 20)
	set(&l.TmpBytes, p.TmpMB, 20)
}

func (c *checker) profiles() {
	for _, name := range slices.Sorted(maps.Keys(c.Tools.Profiles)) {
		p, key := c.Tools.Profiles[name], "tools.profiles."+name
		if _, ok := c.Backends.ERA.Languages[name]; ok || validate.IsShell(name) {
			c.bad(key, "is the name of an image's language, or of a shell",
				"give the profile a name of its own, such as go-fix")
		}
		if _, ok := c.Backends.ERA.Languages[p.Image]; !ok {
			c.bad(key+".image", fmt.Sprintf("%q is not one of backends.era.languages", p.Image),
				"name the language whose image has threegate-tools, such as tools")
		}
		if p.Registry == "" {
			c.bad(key+".registry", "is empty", "name a file with the rules (docs/tools.md)")
		}
		for _, l := range []struct {
			name      string
			value     int
			low, high int
		}{{"pids", p.Limits.Pids, 1, maxPids}, {"open_files", p.Limits.OpenFiles, 16, maxOpenFiles},
			{"out_mb", p.Limits.OutMB, 1, maxFolderMB}, {"out_files", p.Limits.OutFiles, 1, maxOutFiles},
			{"tmp_mb", p.Limits.TmpMB, 1, maxFolderMB}} {
			if l.value != 0 {
				c.between(key+".limits."+l.name, l.value, l.low, l.high)
			}
		}
	}
}

// readRegistries reads and checks the registry of each profile.
func (l *Node) readRegistries() error {
	l.Registries = map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(l.Tools.Profiles)) {
		p := l.Tools.Profiles[name]
		if p.Registry == "" {
			continue // check tells of it
		}
		raw, err := readRegistry(p.Registry)
		if err == nil {
			_, err = registry.Parse(raw)
		}
		if err != nil {
			return l.fault("tools.profiles."+name+".registry", fmt.Sprintf("%s: %v", p.Registry, err),
				"docs/tools.md has an example; threegate-tools judge --registry FILE reads it, too")
		}
		l.Registries[name] = raw
	}
	return nil
}

func readRegistry(file string) ([]byte, error) {
	f, err := durable.OpenNamed(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, registry.MaxSize+1))
}
