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
// settings and code of the modules that go.mod pins, and of the Go distribution. It
// is read where the Go tools keep it and is no part of this repository.
const (
	maxFileText    = 6000
	filesPerModule = 40
	moduleWeight   = 2
)

var textNames = []string{".md", ".txt", ".yml", ".yaml", ".go", ".toml", ".sh", ".json", ".html", ".py", ".js", ".rst"}

func readModules(root string) ([]group, error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Dir}}", "all")
	cmd.Dir = root
	list, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(list)), "\n")[1:] // not our own
	for _, d := range []string{"src/net", "src/crypto", "src/os", "src/cmd/go", "doc", "api", "src/text", "src/runtime", "test", "misc", "lib"} {
		lines = append(lines, "go/"+d+" "+filepath.Join(strings.TrimSpace(string(goroot)), d))
	}
	slices.Sort(lines)
	var out []group
	for _, line := range lines {
		name, dir, ok := strings.Cut(line, " ")
		if !ok || dir == "" {
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
