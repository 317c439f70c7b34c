package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// toolCall is one line of a plan, and what must come of it.
type toolCall struct {
	tool, args string
	code       string // OK if empty
	has        string // stands in the response
}

// mistakes are what servers of such tools are known to get wrong, as calls. They work on the repository of
// mistakenRepository, one after the other. Some are missing, as a plan that writes to a path outside is refused
// before its first call.
var mistakes = map[string][]toolCall{
	"1 paths": {
		{"file_read", `{"path":"../../etc/passwd"}`, "E_POLICY", "sec.paths.sandbox"},
		{"file_read", `{"path":"/etc/passwd"}`, "E_POLICY", "sec.paths.sandbox"},
		{"file_read", `{"path":"../workspace-/x"}`, "E_POLICY", "sec.paths.sandbox"}, // begins as the workspace's name does
		{"file_read", `{"path":"src/../../x"}`, "E_POLICY", "sec.paths.sandbox"},
		{"file_read", `{"path":"src/a.txt\u0000.md"}`, "E_POLICY", "sec.paths.sandbox"},
		{"file_read", `{"path":"passwd"}`, "E_POLICY", "symbolic link"},
		{"file_read", `{"path":"etc/passwd"}`, "E_POLICY", "symbolic link"},
		{"file_read", `{"path":"up/up/in/plan.jsonl"}`, "E_POLICY", "symbolic link"},
		{"file_read", `{"path":"inside/a.txt"}`, "E_POLICY", "symbolic link"},
		{"file_write", `{"path":"out/pwned","content":"x"}`, "E_POLICY", "symbolic link"},
		{"file_write", `{"path":"passwd","content":"x"}`, "E_POLICY", "symbolic link"},
		{"file_patch", `{"path":"src/a.txt","unified_diff":"--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n"}`,
			"E_VALIDATION_FAIL", ""},
		{"fs_list", `{"glob":"../**"}`, "E_POLICY", ""},
		{"fs_list", `{"glob":"up/**"}`, "", `"files":[]`},
		{"fs_list", `{"glob":"{..,src}/**"}`, "", `"files":["src/a.txt"]`},
		{"grep", `{"pattern":"root","glob":"/etc/*"}`, "E_POLICY", ""},
		{"grep", `{"pattern":"root","glob":"etc/**"}`, "", `"matches":[]`},
		{"fs_copy", `{"src":"passwd","dst":"copied"}`, "E_FILE_IO", "links and devices"},
		{"fs_copy", `{"src":"etc","dst":"copied"}`, "E_FILE_IO", "links and devices"},
		{"fs_copy", `{"src":"src/a.txt","dst":"out/pwned"}`, "E_POLICY", "symbolic link"},
		{"fs_move", `{"src":"src/a.txt","dst":"../pwned"}`, "E_POLICY", ""},
		{"fs_move", `{"src":"src/a.txt","dst":"up/pwned"}`, "E_POLICY", "symbolic link"},
		{"fs_move", `{"src":"src/a.txt","dst":"crlf.txt"}`, "E_FILE_IO", "exists"},
		{"fs_delete", `{"path":"etc/passwd","force":true}`, "E_POLICY", "symbolic link"},
		{"fs_delete", `{"path":".","recursive":true,"force":true}`, "E_FILE_IO", ""},
		{"fs_delete", `{"path":"src"}`, "E_FILE_IO", "is a folder"},
		{"shell_exec", `{"cmd":"python make.py","cwd":"up"}`, "E_FILE_IO", ""},
		{"shell_exec", `{"cmd":"python make.py","cwd":".."}`, "E_POLICY", ""},
	},
	"2 what is git's": {
		{"shell_exec", `{"cmd":"python make.py","must_succeed":true}`, "", `"code":0`},
		{"file_read", `{"path":".git/config"}`, "E_POLICY", "belongs to git"},
		{"file_read", `{"path":"link-to-git/config"}`, "E_POLICY", "symbolic link"},
		{"fs_move", `{"src":"src","dst":".git/src"}`, "E_POLICY", "belongs to git"},
		{"fs_delete", `{"path":".git","recursive":true,"force":true}`, "E_POLICY", "belongs to git"},
		{"fs_list", `{"glob":"**/config","include_hidden":true}`, "", `"files":[]`},
		{"file_read", `{"path":"pipe"}`, "E_FILE_IO", "no regular file"},
		{"git_add", `{"paths":["../"]}`, "E_POLICY", "sec.paths.sandbox"},
		{"git_add", `{"paths":["/etc/passwd"]}`, "E_POLICY", ""},
		{"git_add", `{"paths":[".git/config"]}`, "E_POLICY", ""},
		{"git_add", `{"paths":["etc/passwd"]}`, "E_GIT", ""},
		{"git_add", `{"paths":[":(top)src"]}`, "E_GIT", ""},
		{"git_status", `{}`, "", `"branch":"main"`},
		{"fs_delete", `{"path":"link-to-git"}`, "", ""},
		{"fs_delete", `{"path":"pipe"}`, "", ""},
	},
	"3 options in arguments": {
		{"git_diff", `{"rev":"--output=/out/pwned"}`, "E_VALIDATION_FAIL", ""},
		{"git_diff", `{"rev":"HEAD","paths":["--output=/out/pwned"]}`, "", `"patch":""`},
		{"git_diff", `{"rev":"HEAD --ext-diff"}`, "E_GIT", ""},
		{"git_diff", `{"rev":"HEAD:src/a.txt"}`, "E_GIT", ""},
		{"git_add", `{"paths":["--force"]}`, "E_GIT", ""},
		{"git_add", `{"paths":["--pathspec-from-file=/etc/passwd"]}`, "E_GIT", ""},
		{"git_commit", `{"message":"--amend","allow_empty":true}`, "", `"commit":`},
		{"git_commit", `{"message":"-F/etc/passwd"}`, "E_GIT", ""},
		{"git_checkout", `{"target":"--orphan=x"}`, "E_VALIDATION_FAIL", ""},
		{"git_checkout", `{"target":"-f","create":true}`, "E_VALIDATION_FAIL", ""},
		{"git_checkout", `{"target":"../x","create":true}`, "E_VALIDATION_FAIL", ""},
		{"git_checkout", `{"target":"refs/heads/x","create":true}`, "E_VALIDATION_FAIL", ""},
		{"git_merge", `{"branch":"--strategy=python"}`, "E_VALIDATION_FAIL", ""},
		{"git_merge", `{"branch":"FETCH_HEAD"}`, "E_GIT", ""},
		{"git_rebase", `{"onto":"--exec=python make.py"}`, "E_VALIDATION_FAIL", ""},
		{"git_push", `{"remote":"ext::python make.py","refspec":"HEAD:refs/heads/x"}`, "E_GIT", "there is no remote"},
		{"git_push", `{"remote":"EXT::python make.py","refspec":"HEAD:refs/heads/x"}`, "E_GIT", "there is no remote"},
		{"git_pull", `{"remote":"ext::python make.py"}`, "E_VALIDATION_FAIL", ""},
		{"git_pull", `{"remote":"--upload-pack=python"}`, "E_VALIDATION_FAIL", ""},
		{"git_push", `{"remote":"--receive-pack=python","refspec":"HEAD:refs/heads/x"}`, "E_GIT", "there is no remote"},
		{"git_push", `{"remote":"/in/repository.bundle","refspec":"HEAD:refs/heads/x"}`, "E_GIT", "there is no remote"},
		{"git_push", `{"refspec":"--mirror"}`, "E_VALIDATION_FAIL", ""},
		{"git_push", `{"refspec":"--all:refs/heads/x"}`, "E_VALIDATION_FAIL", ""},
		{"git_push", `{"refspec":"HEAD:refs/heads/--x"}`, "E_VALIDATION_FAIL", ""},
		{"git_push", `{"refspec":"+HEAD:refs/heads/main"}`, "E_POLICY", ""},
		{"git_push", `{"refspec":"HEAD:refs/heads/main","force":true}`, "E_POLICY", ""},
		{"validate", `{"rule_id":"--x"}`, "E_VALIDATION_FAIL", ""},
		{"validate", `{"glob":"../**"}`, "E_POLICY", ""},
		{"grep", `{"pattern":"--pre=python"}`, "", `"matches":[]`},
		{"grep", `{"pattern":"one","glob":"--pre=python"}`, "", `"matches":[]`},
		{"grep", `{"pattern":"(a+)+$"}`, "", `"matches":`}, // RE2: no pattern is slow
		{"grep", `{"pattern":"(?<=a)b"}`, "E_VALIDATION_FAIL", "RE2"},
		{"proc_list", `{"filter":"--x"}`, "", `"processes":[]`},
		{"proc_list", `{"filter":"("}`, "E_VALIDATION_FAIL", ""},
	},
	"4 commands": {
		{"shell_exec", `{"cmd":"python make.py; python make.py"}`, "E_POLICY", "sec.shell.allowlist"},
		{"shell_exec", `{"cmd":"python make.py\npython make.py"}`, "E_POLICY", ""},
		{"shell_exec", `{"cmd":"python make.py && id"}`, "E_POLICY", ""},
		{"shell_exec", `{"cmd":"python $(id).py"}`, "E_POLICY", ""},
		{"shell_exec", "{\"cmd\":\"python `id`.py\"}", "E_POLICY", ""},
		{"shell_exec", `{"cmd":"python make.py > /out/pwned"}`, "E_POLICY", ""},
		{"shell_exec", `{"cmd":"A=b python make.py"}`, "E_POLICY", ""},
		{"shell_exec", `{"cmd":"python *.py"}`, "E_POLICY", ""},
		{"shell_exec", `{"cmd":"python ~/x"}`, "E_POLICY", ""},
		{"shell_exec", `{"cmd":"./python make.py"}`, "E_POLICY", ""},
		{"shell_exec", `{"cmd":"pythonx make.py"}`, "E_POLICY", "shell_allow"},
		{"shell_exec", `{"cmd":"sh -c id"}`, "E_POLICY", "shell_allow"},
		{"shell_exec", `{"cmd":"git --paginate log"}`, "E_POLICY", "shell_allow"},
		{"shell_exec", `{"cmd":"python make.py","env":{"LD_PRELOAD":"/tmp/x.so"}}`, "E_POLICY", "LD_PRELOAD"},
		{"shell_exec", `{"cmd":"python make.py","env":{"GIT_PAGER":"python make.py"}}`, "E_POLICY", "GIT_PAGER"},
		{"shell_exec", `{"cmd":"python make.py","env":{"PYTHONSTARTUP":"make.py"}}`, "E_POLICY", ""},
		// An allowed program may run any other: what it finds is the sandbox, which has no shell and no such program.
		{"shell_exec", `{"cmd":"rg --pre sh x"}`, "E_SHELL", "no program"},
		{"shell_exec", `{"cmd":"python flood.py"}`, "", `"truncated":true`},
		{"shell_exec", `{"cmd":"python flood.py endless","timeout_ms":500}`, "E_TIMEOUT", ""},
		{"shell_exec", `{"cmd":"python wall.py"}`, "", `"stdout":"held\n"`},
	},
	"5 patches": {
		{"file_patch", `{"path":"src/a.txt","unified_diff":"--- a/src/a.txt\n+++ b/src/a.txt\n@@ -2 +2 @@\n-two\n+TWO\n"}`,
			"E_VALIDATION_FAIL", "context"},
		{"file_patch", `{"path":"src/a.txt","unified_diff":"--- a/src/a.txt\n+++ b/src/a.txt\n@@ -2,0 +3 @@\n+more\n"}`,
			"E_VALIDATION_FAIL", "context"},
		{"file_patch", `{"path":"src/a.txt","unified_diff":"--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,3 +1,3 @@\n one\n-TWO\n+2\n three\n"}`,
			"E_VALIDATION_FAIL", "does not fit"},
		{"file_patch", `{"path":"src/a.txt","unified_diff":"--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,3 +1,3 @@\n one\n-two \n+2\n three\n"}`,
			"E_VALIDATION_FAIL", "does not fit"}, // no fuzz: a space counts
		{"file_patch", `{"path":"src/a.txt","unified_diff":"--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,2 +1,3 @@\n one\n+$& $1 \\0 $$\n two\n"}`,
			"", `"hunks_applied":1`}, // an addition stays where its context is
		{"file_patch", `{"path":"src/a.txt","unified_diff":"--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,2 +1,3 @@\n one\n+x\n two\n@@ -5,2 +6,2 @@\n four\n-no\n+yes\n"}`,
			"E_VALIDATION_FAIL", ""}, // all or nothing
		{"file_read", `{"path":"src/a.txt"}`, "", `"content":"one\n$& $1 \\0 $$\ntwo\nthree\nfour\nfive\n"`},
		{"file_patch", `{"path":"twice.txt","unified_diff":"--- a/twice.txt\n+++ b/twice.txt\n@@ -2,3 +2,3 @@\n x\n-y\n+z\n x\n"}`,
			"E_VALIDATION_FAIL", "ambiguous"},
		{"file_patch", `{"path":"crlf.txt","unified_diff":"--- a/crlf.txt\n+++ b/crlf.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"}`,
			"E_VALIDATION_FAIL", "LF, and line 1 of the file ends with CR LF"},
		{"file_patch", `{"path":"crlf.txt","unified_diff":"--- a/crlf.txt\n+++ b/crlf.txt\n@@ -1,3 +1,3 @@\n one\r\n-two\r\n+2\r\n three\r\n"}`,
			"", ""},
		{"file_read", `{"path":"crlf.txt"}`, "", `"content":"one\r\n2\r\nthree\r\n"`},
		{"file_patch", `{"path":"bom.txt","unified_diff":"--- a/bom.txt\n+++ b/bom.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"}`,
			"E_VALIDATION_FAIL", ""},
		{"file_patch", `{"path":"bom.txt","unified_diff":"--- a/bom.txt\n+++ b/bom.txt\n@@ -1,3 +1,3 @@\n \ufeffone\n-two\n+2\n three\n"}`,
			"", ""},
		{"file_read", `{"path":"bom.txt"}`, "", `"content":"` + "\ufeff" + `one\n2\nthree\n"`},
		{"file_write", `{"path":"src/a.txt","content":"x","expect_sha256":"` + strings.Repeat("0", 64) + `"}`, "E_VALIDATION_FAIL", ""},
		{"git_add", `{"paths":["src/**","*.txt"]}`, "", `"added":3`},
		{"git_commit", `{"message":"fix: what $& means"}`, "", `"commit":`},
	},
	"6 hosts": {
		{"curl", `{"url":"http://one.example/"}`, "", `"status":200`},
		{"curl", `{"url":"http://one.example/hops/3"}`, "", `"status":200`},
		{"curl", `{"url":"http://one.example/hops/4"}`, "E_POLICY", "redirects"},
		{"curl", `{"url":"http://one.example/?to=http://127.0.0.1/"}`, "E_POLICY", "sec.network.allowlist"},
		{"curl", `{"url":"http://one.example/?to=http://169.254.169.254/latest"}`, "E_POLICY", ""},
		{"curl", `{"url":"http://one.example/?to=http://[::ffff:10.0.0.1]/"}`, "E_POLICY", ""},
		{"curl", `{"url":"http://one.example/?to=file:///etc/passwd"}`, "E_POLICY", ""},
		{"curl", `{"url":"http://one.example/?to=http://two.example/"}`, "E_POLICY", ""},
		// The registry allows it; the node's proxy knows that its address is private.
		{"curl", `{"url":"http://one.example/?to=http://neighbour.example/"}`, "", `"status":403`},
		{"curl", `{"url":"http://one.example@10.0.0.1/"}`, "E_POLICY", ""},
		{"curl", `{"url":"http://10.0.0.1#one.example"}`, "E_POLICY", ""},
		{"curl", `{"url":"http://one.example/","method":"POST","body":"x"}`, "E_POLICY", ""},
		{"curl", `{"url":"http://one.example/","headers":{"Host":"two.example"}}`, "E_VALIDATION_FAIL", ""},
		{"curl", `{"url":"http://one.example/","headers":{"X":"a\r\nHost: two.example"}}`, "E_HTTP", ""},
		{"curl", `{"url":"http://one.example/","max_bytes":5}`, "", `"truncated":true`},
		{"git_pull", `{"remote":"http://two.example/git/theirs"}`, "E_POLICY", "sec.network.allowlist"},
		{"git_pull", `{"remote":"http://one.example@10.0.0.1/git/theirs"}`, "E_POLICY", ""},
		{"git_pull", `{"remote":"http://neighbour.example/git/theirs"}`, "E_HTTP", "403"},
		{"git_pull", `{"remote":"http://one.example/hops/3"}`, "E_HTTP", "not git's"},
		{"git_pull", `{"remote":"http://one.example/hops/4"}`, "E_POLICY", "redirects"},
		{"git_pull", `{"remote":"https://one.example/git/theirs"}`, "E_HTTP", "certificate"},
		{"file_read", `{"path":"theirs.txt"}`, "E_FILE_IO", ""},
		{"git_pull", `{"remote":"http://one.example/git/theirs"}`, "", `"pulled":true`},
		{"file_read", `{"path":"theirs.txt"}`, "", `"content":"theirs\n"`},
	},
	"7 code": {
		{"file_write", `{"path":"c.go","content":"package c\n\nfunc f() {}\n"}`, "", ""},
		{"ast_query", `{"where":{"type":"fn","file_glob":"c.go"}}`, "", `"id":"ed5c57eeec2c05a0:11-22:c.go"`},
		{"ast_edit", `{"operation":"replace_node","target_node_id":"ed5c57eeec2c05a0:11-22:../c.go","text":"x"}`, "E_POLICY",
			"sec.paths.sandbox"},
		{"ast_edit", `{"operation":"replace_node","target_node_id":"ed5c57eeec2c05a0:11-22:c.go","text":"func f("}`, "E_AST_PARSE",
			"no longer parse"},
		{"ast_edit", `{"operation":"replace_node","target_node_id":"ed5c57eeec2c05a0:11-22:c.go","text":"func f() { println(\"$& $1\") }"}`,
			"", `"edited":true`},
		{"ast_edit", `{"operation":"replace_node","target_node_id":"ed5c57eeec2c05a0:11-22:c.go","text":"func g() {}"}`, "E_AST_EDIT",
			"has changed since"}, // a stale id
		{"file_read", `{"path":"c.go"}`, "", `{ println(\"$& $1\") }`},
		{"ast_external", `{"provider":"gopls","request":{"method":"workspace/executeCommand","params":{"command":"x"}}}`,
			"E_POLICY", "no request that is passed on"},
		{"ast_external", `{"provider":"gopls","request":{"method":"textDocument/hover","params":{"x":"file:///../../etc/passwd"}}}`,
			"E_POLICY", ""},
		{"ast_external", `{"provider":"python","request":{"method":"workspace/symbol"}}`, "E_POLICY", "ast.servers"},
		{"fs_delete", `{"path":"c.go"}`, "", ""},
	},
}

// makePy makes what a program of a plan can: links and pipes in the workspace, and a folder named .git whose
// configuration would run a program. floodPy writes without end. wallPy tries what the sandbox forbids.
const (
	makePy = `import os
os.makedirs(".git/hooks")
evil = "python " + os.path.abspath("wall.py")
open(".git/config", "w").write(f"[core]\n\tfsmonitor = {evil}\n\tpager = {evil}\n\thooksPath = hooks\n[diff]\n\texternal = {evil}\n")
open(".git/hooks/pre-commit", "w").write("#!/usr/bin/python\nopen('/out/pwned', 'w')\n")
os.chmod(".git/hooks/pre-commit", 0o755)
os.symlink(".git", "link-to-git")
os.mkfifo("pipe")
`
	floodPy = `import sys
left = 256
while left > 0:
    sys.stdout.write("x" * 65535 + "\n")
    left -= 0 if sys.argv[1:] else 1
`
	wallPy = `import os
for tried in (lambda: open("/in/pwned", "w"), lambda: open("/usr/bin/pwned", "w"), lambda: os.execv("/bin/sh", ["sh"])):
    try:
        tried()
        print("not held")
    except OSError:
        pass
print("held")
`
)

// mistakenRepository is a bundle of a repository whose links lead out, and whose attributes name programs.
func mistakenRepository(t *testing.T) (dir, bundle string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"src/a.txt": "one\ntwo\nthree\nfour\nfive\n", "crlf.txt": "one\r\ntwo\r\nthree\r\n",
		"bom.txt": "\ufeffone\ntwo\nthree\n", "twice.txt": "x\ny\nx\ny\nx\ny\n", ".gitattributes": "* filter=evil diff=evil merge=evil\n",
		"make.py": makePy, "flood.py": floodPy, "wall.py": wallPy} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for name, to := range map[string]string{"passwd": "/etc/passwd", "etc": "/etc", "up": "..", "out": "/out", "inside": "src"} {
		must(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	bundle = filepath.Join(t.TempDir(), "b")
	plainGit(t, dir, "init", "-q", "-b", "main")
	plainGit(t, dir, "add", ".")
	plainGit(t, dir, "commit", "-q", "-m", "feat: begin")
	plainGit(t, dir, "bundle", "create", "-q", bundle, "HEAD", "main")
	return dir, bundle
}

// plainGit runs the host's git as nobody has configured it.
func plainGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.invalid"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// TestToolMistakes runs each known mistake of such servers through the whole gate, as one plan, and compares what
// was delivered.
func TestToolMistakes(t *testing.T) {
	var calls []toolCall
	var groups []string
	for name := range mistakes {
		groups = append(groups, name)
	}
	slices.Sort(groups)
	for _, name := range groups {
		calls = append(calls, mistakes[name]...)
	}
	var plan strings.Builder
	for i, c := range calls {
		fmt.Fprintf(&plan, `{"type":"ToolRequest","tool":%q,"args":%s,"request_id":"r%d","session_id":"s","timestamp":1}`+"\n",
			c.tool, c.args, i)
	}
	dir, bundle := mistakenRepository(t)
	repositories := t.TempDir()
	theirs := filepath.Join(repositories, "theirs")
	plainGit(t, repositories, "clone", "-q", bundle, theirs)
	must(t, os.WriteFile(filepath.Join(theirs, "theirs.txt"), []byte("theirs\n"), 0o644))
	plainGit(t, theirs, "add", ".")
	plainGit(t, theirs, "commit", "-q", "-m", "feat: theirs")
	n := newWebNode(t, repositories)
	r := request{id: "TR-20260209-200000Z-mistakes", language: "tools", command: "threegate-tools run --keep-going /in/plan.jsonl",
		network: "allowlist", memoryMB: 256, timeSec: 300, outputs: []string{"responses.jsonl", "changes.patch", "timeline.jsonl"},
		inputs: map[string]string{"plan.jsonl": plan.String(), "repository.bundle": read(t, bundle),
			"registry.yaml": "version: 1\nnetwork: {allowed_domains: [one.example, neighbour.example]}\n" +
				"shell_allow: ['^python(\\s|$)', '^rg\\s']\ngit: {allow_push: true, require_clean_tree_for_commit: false}\n"}}
	n.send(r)
	f := n.await(r.id)
	res := n.result(f)
	delivered := strings.TrimSuffix(f.ResultPath, ".md") + ".artifacts"
	if *f.ExitCode != 1 || !exists(filepath.Join(delivered, "responses.jsonl")) {
		t.Fatalf("exit code %d\n%s\n%s\n%v", *f.ExitCode, res.Stdout.Text, res.Stderr.Text, res.Safety.Unexpected)
	}
	responses := strings.Split(strings.TrimSuffix(read(t, filepath.Join(delivered, "responses.jsonl")), "\n"), "\n")
	if len(responses) != len(calls) {
		t.Fatalf("%d responses to %d calls", len(responses), len(calls))
	}
	for i, c := range calls {
		var got struct {
			Tool   string `json:"tool"`
			OK     bool   `json:"ok"`
			Errors []struct {
				Code string `json:"code"`
			} `json:"errors"`
		}
		must(t, json.Unmarshal([]byte(responses[i]), &got))
		code := ""
		if len(got.Errors) > 0 {
			code = got.Errors[0].Code
		}
		if got.Tool != c.tool || code != c.code || got.OK != (code == "") || !strings.Contains(responses[i], c.has) {
			t.Errorf("%s %s: want %s and %s, got %.600s", c.tool, c.args, or(c.code, "OK"), c.has, responses[i])
		}
	}
	for _, note := range res.Safety.Unexpected {
		if strings.Contains(note, "pwned") {
			t.Errorf("something was written: %s", note)
		}
	}
	// The patch holds what the good calls changed, and no more.
	plainGit(t, dir, "apply", filepath.Join(delivered, "changes.patch"))
	for name, want := range map[string]string{"src/a.txt": "one\n$& $1 \\0 $$\ntwo\nthree\nfour\nfive\n",
		"crlf.txt": "one\r\n2\r\nthree\r\n", "bom.txt": "\ufeffone\n2\nthree\n", "theirs.txt": "theirs\n"} {
		if got := read(t, filepath.Join(dir, name)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := strings.Count(read(t, filepath.Join(delivered, "changes.patch")), "diff --git "); got != 4 {
		t.Errorf("the patch changes %d files", got)
	}
	n.check()
}
