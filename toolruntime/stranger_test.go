package toolruntime_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestStranger builds and runs a program of at most 20 lines that embeds the library, in a module of its own.
func TestStranger(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	program := read("testdata/stranger/main.go")
	if n := bytes.Count(program, []byte("\n")); n > 20 {
		t.Errorf("the program has %d lines", n)
	}
	// What go mod tidy would write, without a network: all that the library's module requires.
	requires := regexp.MustCompile(`(?ms)^(?:go .*?\n|require \(.*?^\)\n)`).FindAll(read("go.mod"), -1)
	module := "module example.invalid/stranger\n\n" + string(bytes.Join(requires, []byte("\n"))) +
		"\nrequire github.com/threegate/tool-exec v0.0.0\n\nreplace github.com/threegate/tool-exec => " + root + "\n"
	dir := t.TempDir()
	for name, data := range map[string][]byte{"main.go": program, "go.mod": []byte(module), "go.sum": read("go.sum")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", "-mod=mod", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "true" {
		t.Errorf("%v: %s", err, out)
	}
}
