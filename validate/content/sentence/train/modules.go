package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/threegate/tool-exec/validate/content/sentence"
)

// Harmless text that nobody wrote for the purpose: documentation, licences,
// settings and code of the modules that this repository is built from, in the versions
// that go.mod pins. It is read where the Go tools keep it and is no part of this repository.
const (
	own            = "github.com/threegate/tool-exec"
	maxFileText    = 20000
	filesPerModule = 55
	moduleWeight   = 5
)

var textNames = []string{".md", ".txt", ".yml", ".yaml", ".go", ".toml", ".sh", ".json", ".html", ".py", ".js", ".rst"}

func readModules(root string) ([]group, error) {
	cmd := exec.Command("go", "list", "-deps", "-test", "-f", "{{with .Module}}{{.Path}} {{.Dir}}{{end}}", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	list, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(list)), "\n")
	slices.Sort(lines)
	lines = slices.Compact(lines)
	var out []group
	for _, line := range lines {
		name, dir, ok := strings.Cut(line, " ")
		if !ok || name == own {
			continue
		}
		gs, err := readModule(name, dir)
		if err != nil {
			return nil, err
		}
		out = append(out, gs...)
	}
	return out, nil
}

func readModule(name, dir string) ([]group, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := strings.ToLower(d.Name())
		if d.Type().IsRegular() && (slices.Contains(textNames, filepath.Ext(base)) || strings.HasPrefix(base, "license") || strings.HasPrefix(base, "make") || strings.HasPrefix(base, "readme") || strings.HasPrefix(base, "change")) {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	// All documentation, and some of the rest.
	rest := 0
	var out []group
	for _, f := range files {
		if !strings.HasSuffix(strings.ToLower(f), ".md") {
			if rest++; rest%max(1, len(files)/filesPerModule) != 0 {
				continue
			}
		}
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		b = b[:min(len(b), maxFileText)]
		for len(b) > 0 && !utf8.RuneStart(b[len(b)-1]) {
			b = b[:len(b)-1]
		}
		if !utf8.Valid(b) {
			continue
		}
		rel, err := filepath.Rel(dir, f)
		if err != nil {
			return nil, err
		}
		g := newGroup(name + "/" + rel)
		g.file = true
		g.examples = []sentence.Example{{Kind: sentence.Harmless, Text: string(b), Weight: moduleWeight}}
		out = append(out, g)
		if len(out) > 4*filesPerModule {
			break
		}
	}
	return out, nil
}
