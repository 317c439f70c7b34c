package git

import (
	"fmt"
	"os"
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
