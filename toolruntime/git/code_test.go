package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/registry"
)

// TestRulesOfCode: a commit and validate hold what the change adds to code, and nothing that was there, to rules.
func TestRulesOfCode(t *testing.T) {
	reg, err := registry.Parse([]byte("version: 1\nvalidators: [{rule: code.ast.parsed, enforcement: blocking}, " +
		"{rule: code.fn.docs.exported, enforcement: blocking}, {rule: code.no.panic.in.lib, enforcement: warning}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, map[string]string{"a.go": "package a\n\nfunc Old() { panic(1) }\n", "dir/b.go": "package b\n\nfunc B() {}\n"})
	try := func(content, wantRule, wantWarning string) {
		t.Helper()
		b.write("a.go", content)
		data, verr := b.call(reg, "validate", nil)
		b.must("git_add", map[string]any{"paths": []string{"."}})
		out, err := b.call(reg, "git_commit", map[string]any{"message": "feat: x"})
		switch {
		case wantRule == "" && (err != nil || verr != nil || !strings.Contains(fmt.Sprint(out), wantWarning)):
			t.Errorf("%q: %v, %v, %v", content, out, err, verr)
		case wantRule != "" && (err == nil || verr == nil || err.Rule != wantRule || verr.Rule != wantRule ||
			!strings.Contains(fmt.Sprint(data), "a.go")):
			t.Errorf("%q: %v %v, %v", content, err, verr, data)
		}
	}
	try("package a\n\nfunc Old() { panic(1) }\n\nfunc New() {}\n", "code.fn.docs.exported", "")
	try("package a\n\nfunc Old() { panic(1) }\n\nfunc {\n", "code.ast.parsed", "")
	// A link named as code is none, whatever it leads to, and a file that only moves adds nothing.
	if err := os.Symlink("README", filepath.Join(b.dir, "link.go")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(b.dir, "dir/b.go"), filepath.Join(b.dir, "dir/'c' :(top).go")); err != nil {
		t.Fatal(err)
	}
	try("package a\n\nfunc Old() { panic(1) }\n\n// New is.\nfunc New() { panic(2) }\n", "", "library code")
	data, verr := b.call(nil, "validate", map[string]any{"rule_id": "code.no.panic.in.lib", "enforcement": "blocking"})
	if verr == nil || len(data["violations"].([]any)) != 1 {
		t.Errorf("one rule by name: %v, %v", data, verr)
	}
}

// TestRulesOfToolchains: a commit and validate build and test what is there.
func TestRulesOfToolchains(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
	b := newBench(t, map[string]string{"go.mod": "module x\n\ngo 1.24\n", "x.go": "package x\n"})
	rules, err := registry.Parse([]byte("version: 1\nast: {language: go}\nvalidators:\n" +
		"- {rule: build.must.pass, enforcement: blocking}\n- {rule: fmt.must.pass, enforcement: warning}\n"))
	if err != nil {
		t.Fatal(err)
	}
	b.write("x.go", "package x\n\nvar  X = y\n")
	b.must("git_add", map[string]any{"paths": []string{"."}})
	commit := map[string]any{"message": "feat: x"}
	if _, err := b.call(rules, "git_commit", commit); err == nil || err.Rule != "build.must.pass" ||
		!strings.Contains(err.Message, "undefined: y") {
		t.Errorf("a build that fails: %+v", err)
	}
	data, e := b.call(rules, "validate", map[string]any{})
	if e == nil || e.Rule != "build.must.pass" || len(data["violations"].([]any)) != 2 {
		t.Errorf("%v, %+v", data, e)
	}
	if _, e := b.call(rules, "validate", map[string]any{"rule_id": "test.must.pass"}); e != nil {
		t.Errorf("no level, so nothing blocks: %+v", e)
	}
	b.write("x.go", "package x\n\nvar  X = 1\n")
	b.must("git_add", map[string]any{"paths": []string{"."}})
	if data, err := b.call(rules, "git_commit", commit); err != nil || len(data["warnings"].([]any)) != 1 {
		t.Errorf("a warning: %v, %+v", data, err)
	}
}
