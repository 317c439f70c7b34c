package e2e

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublishPush: a hook notes each job whose result was delivered, and its second half brings what that job pushed
// into a repository. A push whose result was refused is not noted; noted by somebody else, it is not published.
func TestPublishPush(t *testing.T) {
	top, err := os.MkdirTemp(scratch, "push-") // nobody gets there, as the hook is
	must(t, err)
	program, queue, bare := filepath.Join(top, "publish-push"), filepath.Join(top, "queue"), filepath.Join(top, "bare.git")
	must(t, os.WriteFile(program, []byte(read(t, filepath.Join(repo, "deploy", "hooks", "publish-push"))), 0o755))
	must(t, os.Mkdir(queue, 0o700))
	must(t, os.Chown(queue, 65534, 65534))
	must(t, os.Chmod(top, 0o755))
	n := newNode(t, "\nhooks:\n  - {name: push, command: ["+program+", --note, "+queue+"], answers: [delivered]}\n")

	example := filepath.Join(repo, "testdata", "examples", "good", "tools-rename", "TR-20260209-173000Z-rename-a-function")
	plan, bundle := read(t, filepath.Join(example+".inputs", "plan.jsonl")), filepath.Join(example+".inputs", "repository.bundle")
	plainGit(t, top, "clone", "-q", "--bare", bundle, bare)
	payload := base64.StdEncoding.EncodeToString([]byte("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\x3e\x00\x01\x00\x00\x00" +
		strings.Repeat("\x00", 64)))
	leak := `{"type":"ToolRequest","tool":"shell_exec","args":{"cmd":"python -c 'f = open(\"/out/notes.txt\", \"w\"); ` +
		`f.write(\"` + payload + `\")'"},"request_id":"20","session_id":"rename","timestamp":1770657300}` + "\n"
	refused := request{id: "TR-20260209-173001Z-refused", language: "tools", command: "threegate-tools run /in/plan.jsonl",
		memoryMB: 256, timeSec: 120, outputs: []string{"notes.txt", "changes.patch"},
		inputs: map[string]string{"plan.jsonl": plan + leak, "repository.bundle": read(t, bundle),
			"registry.yaml": "version: 1\nshell_allow: ['^python ']\ngit: {allow_push: true}\n"}}
	n.send(refused)
	bad := n.await(refused.id)
	if bad.State != "result-quarantined" ||
		!exists(filepath.Join(n.dir, "quarantine", "results", bad.Job, "out", "push.bundle")) {
		t.Fatalf("the job with a program became %s (%v), or pushed nothing", bad.State, bad.Rules)
	}
	n.promote(filepath.Base(example)+".md", []byte(read(t, example+".md")), example+".inputs")
	good := n.await(filepath.Base(example))
	n.result(good)
	n.until("the hook to note the job", func() bool { return exists(filepath.Join(queue, good.Job)) })
	noted, err := os.ReadDir(queue)
	must(t, err)
	if len(noted) != 1 {
		t.Errorf("the hook noted %v", noted)
	}
	forged := strings.TrimSpace(read(t, filepath.Join(queue, good.Job)))
	must(t, os.WriteFile(filepath.Join(queue, bad.Job), []byte(forged), 0o644))

	out, err := exec.Command(program, "--publish", queue, "--node", n.dir, "--repository", bare, "--branch", "refactor/*").CombinedOutput()
	if err != nil || string(out) != good.Job+": published refs/heads/refactor/with-tax\n" {
		t.Errorf("%v: %s", err, out)
	}
	// What came is what CORE's patch makes of the base.
	work := filepath.Join(top, "work")
	plainGit(t, top, "clone", "-q", "-b", "refactor/with-tax", bare, work)
	plainGit(t, work, "checkout", "-q", "--detach", "origin/main")
	plainGit(t, work, "apply", "--index", strings.TrimSuffix(good.ResultPath, ".md")+".artifacts/changes.patch")
	plainGit(t, work, "diff", "--cached", "--exit-code", "refactor/with-tax")
	n.check()
}
