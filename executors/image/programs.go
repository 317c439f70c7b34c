package image

import (
	"archive/tar"
	"fmt"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/threegate/tool-exec/schemas"
)

// DefaultPath is where programs are looked for if an image's environment has no PATH.
const DefaultPath = "/usr/local/bin:/usr/bin:/bin"

// maxLinks bounds the symbolic links on the way to one file.
const maxLinks = 40

// Programs are the names of the programs that an image has in the folders of its PATH, sorted. Pack notes
// them in the image's configuration, so its digest covers them. known is false for an image that another
// program made: what it has is not known then.
func Programs(layoutDir, digest string) (names []string, known bool, err error) {
	l := layout{dir: layoutDir}
	m, err := l.manifest(digest)
	if err != nil {
		return nil, false, err
	}
	b, err := l.smallBlob(m.Config.Digest.String())
	if err != nil {
		return nil, false, err
	}
	var c v1.ConfigFile
	if err := schemas.DecodeOpen(b, &c); err != nil {
		return nil, false, fmt.Errorf("%w: configuration %s: %w", ErrCorrupt, m.Config.Digest, err)
	}
	label, known := c.Config.Labels[labelPrograms]
	return strings.Fields(label), known, nil
}

// programs finds what Programs returns among the files of an image.
func programs(entries []rootEntry, env []string) []string {
	dirs := DefaultPath
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			dirs = v
		}
	}
	files := make(map[string]rootEntry, len(entries))
	for _, e := range entries {
		files[e.name] = e
	}
	var bins []string
	for _, dir := range strings.Split(dirs, ":") {
		if e, ok := follow(files, dir); ok && e.kind == tar.TypeDir {
			bins = append(bins, e.name)
		}
	}
	var names []string
	for _, e := range entries {
		dir, name := path.Split(e.name)
		if !slices.Contains(bins, path.Clean(dir)) || strings.ContainsFunc(name, blank) {
			continue
		}
		if to, ok := follow(files, e.name); ok && to.kind == tar.TypeReg && to.mode&0o111 != 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func blank(r rune) bool { return r <= ' ' }

// follow finds the file or folder that a path leads to, through symbolic and hard links.
func follow(files map[string]rootEntry, name string) (rootEntry, bool) {
	for range maxLinks {
		name = strings.TrimPrefix(path.Clean("/"+name), "/")
		link, rest := "", ""
		for at := 0; at >= 0 && link == ""; {
			part := name
			if n := strings.IndexByte(name[at:], '/'); n >= 0 {
				part, at = name[:at+n], at+n+1
			} else {
				at = -1
			}
			switch e := files[part]; {
			case e.kind == tar.TypeLink, e.kind == tar.TypeSymlink && path.IsAbs(e.link):
				link, rest = e.link, name[len(part):]
			case e.kind == tar.TypeSymlink:
				link, rest = path.Join(path.Dir(part), e.link), name[len(part):]
			}
		}
		if link == "" {
			e, ok := files[name]
			return e, ok
		}
		name = link + rest
	}
	return rootEntry{}, false
}
