package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/toolruntime/contract"
)

// TestMontyCallsTools: under a profile a Monty program calls the tools in a sandbox. It catches what the registry
// refuses; a program that it starts reaches no record of its calls; the gate holds the patch to the registry, keeps the
// timeline, and says that no plan has the arguments.
func TestMontyCallsTools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fix.yaml")
	registry := strings.Replace(fixRegistry, "^python -c ", "^python forge.py$", 1)
	must(t, os.WriteFile(file, []byte(registry), 0o600))
	n := newNode(t, "\ntools:\n  profiles:\n    fix: {registry: "+file+", image: tools}\n")
	code := `
try:
    shell_exec(cmd='python -c 1')
except PermissionError as e:
    print(e)
print(shell_exec(cmd='python forge.py', must_succeed=True)['stdout'])
try:
    open('/out/responses.jsonl', 'w')
except PermissionError as e:
    print(e)
for name in ['one.py', 'two.py']:
    file_write(path=name, content=TEXT)
`
	for slug, text := range map[string]string{"good": "x = 1\\n", "bad": "# TODO\\n"} {
		n.send(request{id: "TR-20260209-130000Z-" + slug, backend: "monty", language: "fix", memoryMB: 256, timeSec: 300,
			code:    strings.Replace(code, "TEXT", "'"+text+"'", 1),
			inputs:  map[string]string{"workspace/forge.py": forgePy},
			outputs: []string{"changes.patch", "responses.jsonl"}})
	}
	for _, slug := range []string{"good", "bad"} {
		f := n.await("TR-20260209-130000Z-" + slug)
		r := n.result(f)
		if r.ExitCode != 0 {
			t.Errorf("%s: exit code %d, %s", slug, r.ExitCode, r.Stderr.Text)
		}
		for _, want := range []string{"E_POLICY: ", "reached 0 not told", "is kept for the tools"} {
			if !strings.Contains(r.Stdout.Text, want) {
				t.Errorf("%s: %q is not in %s", slug, want, r.Stdout.Text)
			}
		}
		patch := strings.TrimSuffix(f.ResultPath, ".md") + ".artifacts/changes.patch"
		if exists(patch) != (slug == "good") {
			t.Errorf("%s: the patch", slug)
		}
		fields := map[string]string{}
		for _, p := range r.Provenance {
			fields[p.Name] = p.Value
		}
		if fields[schemas.ProvProfile] != "fix" || !strings.HasPrefix(fields[schemas.ProvBackend], "monty ") {
			t.Errorf("%s: %v", slug, r.Provenance)
		}
		kept, err := filepath.Glob(filepath.Join(n.dir, "archive", "*", "*", f.Job, ledger.FileTimeline))
		if err != nil || len(kept) != 1 {
			t.Fatalf("%q, %v", kept, err)
		}
		entries, err := contract.ParseTimeline([]byte(read(t, kept[0])))
		if err != nil || len(entries) != 4 || entries[3].Tool != "file_write" {
			t.Errorf("%+v, %v", entries, err)
		}
		if f.Tools == nil || f.Tools.Codes["OK"] != 3 || f.Tools.Codes["E_POLICY"] != 1 || f.Tools.SHA256 != fileSHA256(t, kept[0]) {
			t.Errorf("the ledger tells of %+v", f.Tools)
		}
	}
	if got := n.threegate("results", "show", "TR-20260209-130000Z-good", "--calls", "--node", n.dir); !strings.Contains(got,
		"A program made these calls.") || !strings.Contains(got, "file_write") {
		t.Errorf("%s", got)
	}
	n.check() // and so fsck, which has no plan to compare with
}
