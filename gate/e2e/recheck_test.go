package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecheck: a patch is tested in a second sandbox, also if the plan runs no test. One that breaks a test stays.
func TestRecheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fix.yaml")
	must(t, os.WriteFile(file, []byte("version: 1\nast: {language: python}\n"+
		"validators: [{rule: test.must.pass, enforcement: blocking}]\n"), 0o600))
	n := newNode(t, "\ntools:\n  profiles:\n    fix: {registry: "+file+", image: tools, limits: {tmp_mb: 96}}\n")
	for slug, value := range map[string]string{"good": "1", "bad": "2"} {
		n.send(request{id: "TR-20260209-120000Z-" + slug, language: "fix", command: "threegate-tools run /in/plan.jsonl",
			timeSec: 120, outputs: []string{"changes.patch"}, inputs: map[string]string{
				"workspace/one.py": "def one(): return 3\n",
				"workspace/test_one.py": "import unittest, one\nclass T(unittest.TestCase):\n" +
					"    def test_one(self): self.assertEqual(one.one(), 1)\n",
				"plan.jsonl": `{"type":"ToolRequest","tool":"file_write","args":{"path":"one.py","content":"def one(): return ` +
					value + `\n"},"request_id":"1","session_id":"s","timestamp":1770656400}` + "\n"}})
	}
	for slug, says := range map[string]string{"good": "recheck, passed, exit code 0", "bad": "recheck, broken, exit code 1"} {
		f := n.await("TR-20260209-120000Z-" + slug)
		r := n.result(f)
		if last := r.Provenance[len(r.Provenance)-1]; !strings.Contains(last.Value, says) {
			t.Errorf("%s: %v", slug, last)
		}
		if held := strings.Contains(strings.Join(r.Safety.Unexpected, " "), "(test.must.pass)"); held != (slug == "bad") {
			t.Errorf("%s: %v", slug, r.Safety.Unexpected)
		}
		artifacts := strings.TrimSuffix(f.ResultPath, ".md") + ".artifacts"
		if exists(filepath.Join(artifacts, "changes.patch")) != (slug == "good") {
			t.Errorf("%s: the patch", slug)
		}
	}
}
