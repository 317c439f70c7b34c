package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas"
)

// fixRegistry is the registry of a profile.
const fixRegistry = `version: 1
shell_allow: ['^python -c ']
validators:
- {rule: code.todo.blockers, enforcement: blocking}
- {rule: test.required.changed, enforcement: warning}
`

// TestProfile: in a sandbox the tools have the registry of the profile, and its room in /tmp; outside the patch is held
// to the same registry.
func TestProfile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fix.yaml")
	must(t, os.WriteFile(file, []byte(fixRegistry), 0o600))
	n := newNode(t, "\ntools:\n  profiles:\n    fix: {registry: "+file+", image: tools, limits: {tmp_mb: 96}}\n")
	call := func(id, tool, args string) string {
		return `{"type":"ToolRequest","tool":"` + tool + `","args":` + args + `,"request_id":"` + id +
			`","session_id":"s","timestamp":1770656400}` + "\n"
	}
	size := `{"cmd":"python -c 'import os; s = os.statvfs(\"/tmp\"); print(s.f_blocks * s.f_frsize >> 20)'"}`
	for slug, text := range map[string]string{"good": "def one(): return 1\\n", "bad": "# TODO\\n"} {
		n.send(request{id: "TR-20260209-120000Z-" + slug, language: "fix", command: "threegate-tools run /in/plan.jsonl",
			outputs: []string{"changes.patch", "responses.jsonl"}, inputs: map[string]string{"plan.jsonl": call("1", "shell_exec", size) +
				call("2", "file_write", `{"path":"one.py","content":"`+text+`"}`)}})
	}
	for slug, says := range map[string]string{"good": "test.required.changed, places: 1", "bad": "(code.todo.blockers)"} {
		f := n.await("TR-20260209-120000Z-" + slug)
		r := n.result(f)
		fields := map[string]string{}
		for _, p := range r.Provenance {
			fields[p.Name] = p.Value
		}
		if fields[schemas.ProvProfile] != "fix" || fields[schemas.ProvRegistry] != config.RegistryDigest([]byte(fixRegistry)) {
			t.Errorf("%s: %v", slug, r.Provenance)
		}
		if got := strings.Join(r.Safety.Unexpected, "\n"); r.ExitCode != 0 || !strings.Contains(got, says) {
			t.Errorf("%s: exit code %d, %s\n%s", slug, r.ExitCode, got, r.Stdout.Text)
		}
		artifacts := strings.TrimSuffix(f.ResultPath, ".md") + ".artifacts"
		if got := read(t, filepath.Join(artifacts, "responses.jsonl")); !strings.Contains(got, `"stdout":"96\n"`) {
			t.Errorf("%s: %s", slug, got)
		}
		if exists(filepath.Join(artifacts, "changes.patch")) != (slug == "good") {
			t.Errorf("%s: the patch", slug)
		}
	}
}
