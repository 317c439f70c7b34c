package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// forgeCommit is a program under test that calls git by itself: it commits with a message that git_commit refuses, and
// makes its own bundle of that.
const forgeCommit = `
import glob, os, subprocess
git = glob.glob("/tmp/git-*")[0]
os.environ.update(GIT_DIR=git, GIT_WORK_TREE=os.getcwd(), HOME="/tmp", GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b",
                  GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@b")
subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "wip"], check=True)
print("forged")
`

// TestForgedCommit: a commit that a program of the sandbox makes past the tools has a message that nobody judged there.
// It is judged in the second sandbox, of a plan and of a Monty program alike; one that git_commit makes passes.
func TestForgedCommit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fix.yaml")
	must(t, os.WriteFile(file, []byte("version: 1\nshell_allow: ['^python forge.py$']\n"+
		"validators: [{rule: commit.message.conventional, enforcement: blocking}]\n"), 0o600))
	n := newNode(t, "\ntools:\n  profiles:\n    fix: {registry: "+file+", image: tools}\n")
	call := func(id, tool, args string) string {
		return `{"type":"ToolRequest","tool":"` + tool + `","args":` + args + `,"request_id":"` + id +
			`","session_id":"s","timestamp":1770656400}` + "\n"
	}
	work := call("1", "file_write", `{"path":"a","content":"a\\n"}`) + call("2", "git_add", `{"paths":["a"]}`) +
		call("3", "git_commit", `{"message":"feat: a"}`)
	for slug, plan := range map[string]string{"good": work, "forged": work + call("4", "shell_exec", `{"cmd":"python forge.py"}`)} {
		n.send(request{id: "TR-20260209-140000Z-" + slug, language: "fix", command: "threegate-tools run /in/plan.jsonl",
			timeSec: 120, outputs: []string{"changes.patch"},
			inputs: map[string]string{"plan.jsonl": plan, "workspace/forge.py": forgeCommit}})
	}
	n.send(request{id: "TR-20260209-140000Z-program", backend: "monty", language: "fix", memoryMB: 256, timeSec: 120,
		code: `
file_write(path='a', content='a')
try:
    git_commit(message='w' + 'ip')
except ValueError as e:
    print(e)
print(shell_exec(cmd='python forge.py', must_succeed=True)['stdout'])
`, outputs: []string{"changes.patch"}, inputs: map[string]string{"workspace/forge.py": forgeCommit}})
	for slug, says := range map[string]string{"good": "recheck, passed", "forged": "recheck, broken", "program": "recheck, broken"} {
		f := n.await("TR-20260209-140000Z-" + slug)
		r := n.result(f)
		if last := r.Provenance[len(r.Provenance)-1]; r.ExitCode != 0 || !strings.Contains(last.Value, says) {
			t.Errorf("%s: exit code %d, %v, %s", slug, r.ExitCode, last, r.Stdout.Text)
		}
		if held := strings.Contains(strings.Join(r.Safety.Unexpected, " "), "(commit.message.conventional)"); held != (slug != "good") {
			t.Errorf("%s: %v", slug, r.Safety.Unexpected)
		}
		if exists(strings.TrimSuffix(f.ResultPath, ".md")+".artifacts/changes.patch") != (slug == "good") {
			t.Errorf("%s: the patch", slug)
		}
		if slug == "program" && !strings.Contains(r.Stdout.Text, "(commit.message.conventional)") {
			t.Errorf("the program was not told: %s", r.Stdout.Text)
		}
	}
}
