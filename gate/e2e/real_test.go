//go:build toolsreal

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// equal are edits that change how code is written and not what it does, by language.
var equal = map[string]string{
	"python":     `{"pattern":"isinstance($A, $B)","language":"python"},"text":"bool(isinstance($A, $B))"`,
	"go":         `{"pattern":"len($A)","language":"go"},"text":"(len($A))"`,
	"typescript": `{"pattern":"Array.isArray($A)","language":"typescript"},"text":"(Array.isArray($A))"`,
}

// TestRealRepositories: in checkouts of others a plan goes a commit of their own history again, edits the code by its
// structure, merges a branch with a conflict that it resolves, and pushes. Plain git apply takes the patch, it is what
// was committed, and the checkout's own tests pass. THREEGATE_REAL has a line LANGUAGE FOLDER COMMAND for each.
func TestRealRepositories(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(os.Getenv("THREEGATE_REAL")), "\n")
	n := newNode(t)
	for i, line := range lines {
		words := strings.SplitN(line, " ", 3)
		if len(words) != 3 {
			t.Fatalf("THREEGATE_REAL: %q is not LANGUAGE FOLDER COMMAND", line)
		}
		t.Run(words[0], func(t *testing.T) {
			n.real(t, fmt.Sprintf("TR-20260209-12%02d00Z-real", i), words[0], words[1], words[2])
		})
	}
}

func (n *node) real(t *testing.T, id, language, folder, check string) {
	here := filepath.Join(t.TempDir(), "here")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", here, "-c", "user.name=a", "-c", "user.email=a@b.invalid"}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		return string(out)
	}
	if out, err := exec.Command("git", "clone", "-q", folder, here).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	commit, files := lastEdit(git)
	if commit == "" {
		t.Fatal("no commit changes text files only")
	}
	git("checkout", "-q", "-B", "main", commit+"^")
	readme := strings.Fields(git("ls-files", ":(icase)README*"))[0]
	text := read(t, filepath.Join(here, readme))
	git("checkout", "-q", "-b", "theirs")
	must(t, os.WriteFile(filepath.Join(here, readme), []byte("theirs\n"+text), 0o644))
	git("commit", "-q", "-a", "-m", "docs: theirs")
	git("checkout", "-q", "main")
	bundle := filepath.Join(t.TempDir(), "repository.bundle")
	git("bundle", "create", "-q", bundle, "HEAD", "main", "theirs")

	var plan strings.Builder
	call := func(tool string, args any) {
		raw, ok := args.(string)
		if !ok {
			encoded, err := json.Marshal(args)
			must(t, err)
			raw = string(encoded)
		}
		fmt.Fprintf(&plan, `{"type":"ToolRequest","tool":%q,"args":%s,"request_id":"%d","session_id":"s","timestamp":1}`+"\n",
			tool, raw, strings.Count(plan.String(), "\n"))
	}
	commits := func(message string) {
		call("git_add", `{"paths":["**"]}`)
		call("git_commit", map[string]string{"message": message})
	}
	call("git_checkout", `{"target":"feat/real","create":true}`)
	for _, file := range files {
		call("file_patch", map[string]string{"path": file, "unified_diff": git("diff", "--no-ext-diff", commit+"^", commit, "--", file)})
	}
	commits("fix: their own commit again")
	call("ast_edit", `{"operation":"replace_pattern","where":`+equal[language]+`}`)
	commits("refactor: the same in other words")
	call("file_patch", map[string]string{"path": readme, "unified_diff": fmt.Sprintf("--- a/%s\n+++ b/%s\n@@ -1,3 +1,4 @@\n+ours\n %s", readme, readme,
		strings.Join(strings.SplitAfter(text, "\n")[:3], " "))})
	commits("docs: ours")
	call("git_merge", map[string]any{"branch": "origin/theirs", "resolutions": []map[string]string{{"path": readme, "content": "both\n" + text}}})
	call("git_push", `{"refspec":"HEAD:refs/heads/feat/real"}`)

	outputs := []string{"changes.patch", "push.bundle", "responses.jsonl"}
	n.send(request{id: id, language: "tools", command: "threegate-tools run /in/plan.jsonl", memoryMB: 1024, timeSec: 300, cpu: "2", outputs: outputs,
		inputs: map[string]string{"plan.jsonl": plan.String(), "repository.bundle": read(t, bundle), "registry.yaml": "version: 1\ngit: {allow_push: true}\n" +
			"validators: [{rule: code.ast.parsed, enforcement: blocking}, {rule: commit.message.conventional, enforcement: blocking}]\n"}})
	f := n.await(id)
	r := n.result(f)
	out := filepath.Join(strings.TrimSuffix(f.ResultPath, ".md") + ".artifacts")
	if r.ExitCode != 0 || !exists(filepath.Join(out, "changes.patch")) {
		t.Fatalf("exit code %d: %s %s %v", r.ExitCode, r.Stdout.Text, r.Stderr.Text, r.Safety)
	}
	git("apply", "--index", filepath.Join(out, "changes.patch"))
	pushed := n.archived(f.Job, "push.bundle", out)
	git("fetch", "-q", pushed, "refs/heads/feat/real:refs/heads/feat/real")
	if got, want := strings.TrimSpace(git("write-tree")), strings.TrimSpace(git("rev-parse", "feat/real^{tree}")); got != want {
		t.Errorf("the patch makes the tree %s, the push %s", got, want)
	}
	if !strings.HasPrefix(read(t, filepath.Join(here, readme)), "both\n") {
		t.Error("the conflict was not resolved as the plan says")
	}
	cmd := exec.Command("bash", "-o", "pipefail", "-c", check)
	cmd.Dir = here
	said, err := cmd.CombinedOutput()
	tail := strings.TrimSpace(string(said))
	t.Logf("%s: %d calls, %s; %s", filepath.Base(folder), strings.Count(plan.String(), "\n"), strings.TrimSpace(git("diff", "--cached", "--shortstat")),
		tail[strings.LastIndexByte(tail, '\n')+1:])
	if err != nil {
		t.Errorf("%s: %v: %s", check, err, tail)
	}
}

// archived is a file of a job, delivered or kept.
func (n *node) archived(job, name, delivered string) string {
	n.t.Helper()
	if file := filepath.Join(delivered, name); exists(file) {
		return file
	}
	found, err := filepath.Glob(filepath.Join(n.dir, "archive", "*", "*", job, "out", name))
	if err != nil || len(found) != 1 {
		n.t.Fatalf("no %s of %s", name, job)
	}
	return found[0]
}

// lastEdit is the newest commit that edits files which were there, at most twenty, none of them binary, and those files.
func lastEdit(git func(...string) string) (commit string, files []string) {
	for id := range strings.FieldsSeq(git("rev-list", "--no-merges", "--max-count=100", "HEAD")) {
		files = nil
		ok := true
		for line := range strings.Lines(git("diff-tree", "-r", "--no-commit-id", "--numstat", "--no-renames", "--diff-filter=ADM", id)) {
			words := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			ok = ok && len(words) == 3 && words[0] != "-" && !strings.HasPrefix(words[2], "\"") && !strings.HasPrefix(strings.ToLower(words[2]), "readme")
			files = append(files, words[len(words)-1])
		}
		ok = ok && strings.TrimSpace(git("diff-tree", "-r", "--no-commit-id", "--diff-filter=AD", "--name-only", id)) == ""
		if ok && len(files) > 0 && len(files) <= 20 {
			return id, files
		}
	}
	return "", nil
}
