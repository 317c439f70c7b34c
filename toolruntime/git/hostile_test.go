package git

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// TestImport compares a bundle's checkout with what git clone makes of it.
func TestImport(t *testing.T) {
	source, bundle := origin(t)
	b := imported(t, bundle)
	ref := filepath.Join(t.TempDir(), "clone")
	plain(t, filepath.Dir(ref), "clone", "-q", bundle, ref)
	plain(t, ref, "remote", "set-head", "origin", "--delete")
	if got, want := b.state(b.repo.dir), (&bench{t: t, dir: ref}).state(filepath.Join(ref, ".git")); got != want {
		t.Errorf("imported:\n%s\ncloned:\n%s", got, want)
	}
	if _, err := os.Lstat(filepath.Join(b.dir, ".git")); err == nil {
		t.Error("the git directory lies in the workspace")
	}
	s := b.must("git_status", nil)
	if fmt.Sprint(s["branch"], s["ahead"], s["changes"]) != "main0 []" {
		t.Errorf("the status is %v", s)
	}
	// What is new goes out as a bundle that the source takes.
	file := filepath.Join(t.TempDir(), "commits.bundle")
	if any, err := b.repo.Commits(t.Context(), file); any || err != nil {
		t.Errorf("new commits before there are any: %v, %v", any, err)
	}
	b.must("git_checkout", map[string]any{"target": "feat/x", "create": true})
	b.write("a", "x\n")
	b.must("git_add", map[string]any{"paths": []string{"a"}})
	commit := b.must("git_commit", map[string]any{"message": "feat: x", "signoff": true})["commit"]
	if s := b.must("git_status", nil); s["branch"] != "feat/x" {
		t.Errorf("the status is %v", s)
	}
	if any, err := b.repo.Commits(t.Context(), file); !any || err != nil {
		t.Errorf("no new commits: %v", err)
	}
	plain(t, source, "fetch", "-q", file, "feat/x:feat/x")
	if got := strings.TrimSpace(plain(t, source, "rev-parse", "feat/x")); got != commit {
		t.Errorf("the source has %s, not %s", got, commit)
	}
	if got := plain(t, source, "log", "-1", "--format=%B", "feat/x"); got != "feat: x\n\nSigned-off-by: "+name+" <"+email+">\n\n" {
		t.Errorf("the message is %q", got)
	}
	patch, _ := b.changes()
	if want := plain(t, source, "diff", "main", "feat/x"); patch != want {
		t.Errorf("changes.patch is\n%s\nwant\n%s", patch, want)
	}
}

// evil makes a bundle of one commit with a tree that no git writes.
func evil(t *testing.T, entries ...string) string {
	t.Helper()
	return byHand(t, "a <a@b> 1 +0000", entries...)
}

// byHand makes a bundle of one commit.
func byHand(t *testing.T, author string, entries ...string) string {
	t.Helper()
	dir := t.TempDir()
	plain(t, dir, "init", "-q", "-b", "main")
	hash := func(kind, content string) string {
		cmd := exec.Command("git", "hash-object", "-w", "--literally", "-t", kind, "--stdin")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(content)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	var tree bytes.Buffer
	for _, e := range entries {
		head, content, _ := strings.Cut(e, "=")
		id := make([]byte, 20)
		kind := "blob"
		if strings.HasPrefix(head, "40000 ") {
			kind = "tree"
		}
		if _, err := fmt.Sscanf(hash(kind, content), "%x", &id); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&tree, "%s\x00%s", head, id)
	}
	commit := hash("commit", "tree "+hash("tree", tree.String())+"\nauthor "+author+"\ncommitter a <a@b> 1 +0000\n\nx\n")
	plain(t, dir, "update-ref", "refs/heads/main", commit)
	bundle := filepath.Join(t.TempDir(), "evil.bundle")
	plain(t, dir, "bundle", "create", "-q", bundle, "main")
	return bundle
}

// TestOldDates: what old tools wrote as dates of commits does not keep a repository out; other mistakes do.
func TestOldDates(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for author, taken := range map[string]bool{"a <a@b> 1313584730 +51800": true, "a <a@b>1 +0000": true,
		"a <a@b> 01 +0000": true, "a <a@b": false, "a <a@b> x +0000": false} {
		w, err := workspace.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		_, err = Import(t.Context(), w, t.TempDir(), byHand(t, author, "100644 a=x\n"))
		if (err == nil) != taken || err != nil && !strings.Contains(err.Error(), "can come as a folder, workspace/") ||
			err != nil && strings.Contains(err.Error(), "unborn") {
			t.Errorf("%q: %v", author, err)
		}
	}
}

// TestHostileBundles: none is imported, and nothing is written to the workspace.
func TestHostileBundles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	source, good := origin(t)
	raw, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	file := func(content []byte) string {
		name := filepath.Join(t.TempDir(), "x.bundle")
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	link := filepath.Join(t.TempDir(), "link.bundle")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	thin := filepath.Join(t.TempDir(), "thin.bundle")
	plain(t, source, "bundle", "create", "-q", thin, "main~1..main")
	headless := filepath.Join(t.TempDir(), "tag.bundle")
	plain(t, source, "bundle", "create", "-q", headless, "v1")
	for name, bundle := range map[string]string{
		"a file in .git":     evil(t, "40000 .git="),
		"a path of its own":  evil(t, "100644 ../x=evil"),
		"a link as modules":  evil(t, "120000 .gitmodules=/etc/passwd"),
		"an option as url":   evil(t, "100644 .gitmodules=[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack=evil\n"),
		"cut off":            file(raw[:len(raw)-100]),
		"a changed byte":     file(append(bytes.Clone(raw[:len(raw)-40]), append([]byte{raw[len(raw)-40] ^ 1}, raw[len(raw)-39:]...)...)),
		"no bundle":          file([]byte("[core]\n\tfsmonitor = evil\n")),
		"empty":              file(nil),
		"a link":             link,
		"absent":             filepath.Join(t.TempDir(), "none"),
		"a folder":           source,
		"not all of history": thin,
		"no branch":          headless,
	} {
		dir := t.TempDir()
		w, err := workspace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Import(t.Context(), w, t.TempDir(), bundle)
		if in, _ := os.ReadDir(dir); err == nil || len(in) > 0 {
			t.Errorf("%s: error %v, %d files in the workspace", name, err, len(in))
		}
	}
}

// TestHostileArguments: no argument is an option, a transport, another's path or a pattern of git's own.
func TestHostileArguments(t *testing.T) {
	_, bundle := origin(t)
	b := imported(t, bundle)
	mark := filepath.Join(t.TempDir(), "mark")
	before := b.state(b.repo.dir)
	bad := []string{"--upload-pack=touch " + mark, "-c core.pager=touch", "--output=" + mark, "--exec=touch " + mark, "-x",
		"ext::touch " + mark, "file:///etc", "https://example.com/x.git", "/etc/passwd", "../x", "..", "a/../../x", ".git/config",
		".GIT/config", "src/.git", "x\ny", "x\x00y", ":(exclude)*", ":/", ":!a", "refs/heads/../../x", "a..b", "a b",
		"x.lock", "", strings.Repeat("x", 5000)}
	for _, arg := range bad {
		for _, c := range []struct {
			name string
			args map[string]any
		}{
			{"git_diff", map[string]any{"rev": arg}},
			{"git_diff", map[string]any{"paths": []string{arg}}},
			{"git_add", map[string]any{"paths": []string{arg}}},
			{"git_checkout", map[string]any{"target": arg}},
			{"git_checkout", map[string]any{"target": arg, "create": true}},
			{"git_merge", map[string]any{"branch": arg}},
			{"git_rebase", map[string]any{"onto": arg}},
		} {
			data, err := b.call(nil, c.name, c.args)
			if err == nil && !(c.name == "git_diff" && data["patch"] == "") {
				t.Errorf("%s takes %v", c.name, c.args)
			}
		}
	}
	if _, err := b.call(nil, "git_commit", map[string]any{"message": "x\x00y", "allow_empty": true}); err == nil {
		t.Error("git_commit takes a NUL")
	}
	if after := b.state(b.repo.dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("a command ran")
	}
}

// TestNothingOfTheRepositoryRuns: hooks, filters, drivers, editors, monitors and signers that a repository or a
// user names, all at once, and none is started.
func TestNothingOfTheRepositoryRuns(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	script := filepath.Join(t.TempDir(), "evil")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho $0 $* >>"+mark+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	var evil strings.Builder
	for _, kv := range []string{"core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "diff.external",
		"gpg.program", "sequence.editor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.command",
		"diff.evil.textconv", "merge.evil.driver", "uploadpack.packObjectsHook", "trailer.evil.command"} {
		section, key := kv[:strings.LastIndex(kv, ".")], kv[strings.LastIndex(kv, ".")+1:]
		if first, sub, ok := strings.Cut(section, "."); ok {
			section = first + " \"" + sub + "\""
		}
		fmt.Fprintf(&evil, "[%s]\n\t%s = %s\n", section, key, script)
	}
	fmt.Fprintf(&evil, "[commit]\n\tgpgSign = true\n[core]\n\thooksPath = %s\n", home)
	config := evil.String()
	for _, hook := range []string{"pre-commit", "commit-msg", "post-commit", "post-checkout", "pre-rebase", "post-rewrite",
		"post-merge", "prepare-commit-msg", "reference-transaction", "post-index-change"} {
		if err := os.Symlink(script, filepath.Join(home, hook)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	for name, value := range map[string]string{"GIT_EXTERNAL_DIFF": script, "GIT_EDITOR": script, "GIT_PAGER": script,
		"GIT_SSH_COMMAND": script, "GIT_CONFIG_PARAMETERS": "'core.fsmonitor=" + script + "'", "EDITOR": script, "PAGER": script,
		"GIT_DIR": "/nonexistent", "GIT_INDEX_FILE": "/nonexistent", "GIT_EXEC_PATH": home} {
		t.Setenv(name, value)
	}
	b := newBench(t, map[string]string{".gitattributes": "* filter=evil diff=evil merge=evil\n", "a": "1\n", "b": "1\n"})
	// A program of the plan found the git directory, and wrote there what it could.
	f, err := os.OpenFile(filepath.Join(b.repo.dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(config); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := os.CopyFS(filepath.Join(b.repo.dir, "hooks"), os.DirFS(filepath.Dir(script))); err != nil {
		t.Fatal(err)
	}
	commit := func(file, content string) {
		b.write(file, content)
		b.must("git_add", map[string]any{"paths": []string{"."}})
		b.must("git_commit", map[string]any{"message": "fix: it"})
	}
	b.must("git_checkout", map[string]any{"target": "feat/x", "create": true})
	commit("a", "2\n")
	b.must("git_checkout", map[string]any{"target": "main"})
	commit("b", "2\n")
	b.must("git_merge", map[string]any{"branch": "feat/x"})
	b.must("git_checkout", map[string]any{"target": "feat/x"})
	commit("a", "3\n")
	b.must("git_rebase", map[string]any{"onto": "main"})
	b.write("a", "4\n")
	b.must("git_status", nil)
	if d := b.must("git_diff", nil); !strings.Contains(d["patch"].(string), "-3\n+4\n") {
		t.Errorf("the diff is %v", d)
	}
	b.changes()
	if ran, err := os.ReadFile(mark); err == nil {
		t.Errorf("this ran:\n%s", ran)
	}
}

// TestNames: files with any name are staged and told of, and a link leads nowhere.
func TestNames(t *testing.T) {
	b := newBench(t, map[string]string{"a": "1\n"})
	for _, name := range []string{"-x", "--all", "new\nline", "sp ace", "q\"uote", "caf\xe9", "[x]", ":(top)y", "*"} {
		b.write(name, "1\n")
	}
	if err := os.Symlink("/etc", filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.call(nil, "git_add", map[string]any{"paths": []string{"link/passwd"}}); err == nil {
		t.Error("a path through a link is staged")
	}
	if n := b.must("git_add", map[string]any{"paths": []string{"-x", "--all", ":(top)y"}})["added"]; n != 3.0 {
		t.Errorf("%v paths were added", n)
	}
	if n := b.must("git_add", map[string]any{"paths": []string{"."}})["added"]; n != 7.0 {
		t.Errorf("%v paths were added", n)
	}
	var paths []string
	for _, c := range b.must("git_status", nil)["changes"].([]any) {
		paths = append(paths, c.(map[string]any)["path"].(string))
	}
	want := []string{"*", "--all", "-x", ":(top)y", "[x]", "caf\ufffd", "link", "new\nline", "q\"uote", "sp ace"}
	if fmt.Sprintf("%q", paths) != fmt.Sprintf("%q", want) {
		t.Errorf("the status has %q, want %q", paths, want)
	}
}

func TestRules(t *testing.T) {
	b := newBench(t, map[string]string{"a": "1\n", "b": "1\n"})
	b.write("a", "2\n")
	b.write("b", "2\n")
	b.must("git_add", map[string]any{"paths": []string{"a"}})
	rules := func(text string) *registry.Registry {
		r, err := registry.Parse([]byte("version: 1\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := func(what string, err *contract.Error, code contract.Code, rule string) {
		t.Helper()
		if err == nil || err.Code != code || err.Rule != rule || err.Hint == "" {
			t.Errorf("%s: %+v", what, err)
		}
	}
	commit := map[string]any{"message": "a message"}
	_, err := b.call(nil, "git_commit", commit)
	want("unstaged changes", err, contract.Policy, cleanRule)
	for _, c := range []struct {
		tool string
		args map[string]any
	}{{"git_checkout", map[string]any{"target": "main"}}, {"git_merge", map[string]any{"branch": "main"}},
		{"git_rebase", map[string]any{"onto": "main"}}} {
		_, err := b.call(nil, c.tool, c.args)
		want(c.tool, err, contract.Policy, cleanRule)
	}
	part := "git: {require_clean_tree_for_commit: false}\nvalidators: [{rule: commit.message.conventional, enforcement: %s}, " +
		"{rule: branch.naming.convention, enforcement: %[1]s}]\n"
	_, err = b.call(rules(fmt.Sprintf(part, "blocking")), "git_commit", commit)
	want("the message", err, contract.Validation, "commit.message.conventional")
	data, err := b.call(rules(fmt.Sprintf(part, "warning")), "git_commit", commit)
	if w := data["warnings"].([]any); err != nil || len(w) != 1 || !strings.HasPrefix(w[0].(string), "commit.message.conventional: ") {
		t.Errorf("%v, %v", data, err)
	}
	branch := map[string]any{"target": "My_Branch", "create": true}
	_, err = b.call(rules(fmt.Sprintf(part, "blocking")), "git_checkout", branch)
	want("the branch", err, contract.Validation, "branch.naming.convention")
	if data, err = b.call(nil, "git_checkout", branch); err != nil || len(data["warnings"].([]any)) != 0 {
		t.Errorf("a rule that is not listed: %v, %v", data, err)
	}
}

// TestRulesOfChanges: a commit is held to the rules that the registry lists, and validate looks before it.
func TestRulesOfChanges(t *testing.T) {
	listed := func(level registry.Level) *registry.Registry {
		r := registry.Default()
		for _, rule := range []string{"code.todo.blockers", "test.required.changed", "secrets.scan"} {
			r.Validators = append(r.Validators, registry.Validator{Rule: rule, Enforcement: level})
		}
		return r
	}
	b := newBench(t, map[string]string{"a.go": "// TODO: as it came\n"})
	key := "ghp_" + "x9Kf2LmQ8vRt4Wz7" + "Yb3Nc6Hj1Pd5Sg0Ae2Uo"
	commit := func(level registry.Level, message string) (map[string]any, *contract.Error) {
		b.must("git_add", map[string]any{"paths": []string{"."}})
		return b.call(listed(level), "git_commit", map[string]any{"message": message})
	}
	blocked := func(rule, content string) {
		t.Helper()
		b.write("a.go", content)
		b.write("docs.md", "x\n")
		data, err := b.call(listed(registry.Blocking), "validate", nil)
		if err == nil || err.Rule != rule || fmt.Sprint(data["checked"]) !=
			"[sec.paths.sandbox code.todo.blockers test.required.changed secrets.scan]" {
			t.Errorf("validate: %v, %v", data, err)
		}
		if data, err := b.call(listed(registry.Blocking), "validate", map[string]any{"glob": "*.md"}); err != nil {
			t.Errorf("validate of other files: %v, %v", data, err)
		}
		if _, err := commit(registry.Blocking, "fix: x"); err == nil || err.Rule != rule ||
			err.Code != contract.Validation || strings.Contains(err.Message, key) {
			t.Errorf("%q is committed: %v", content, err)
		}
	}
	blocked("code.todo.blockers", "// TODO: as it came\n// FIXME\n")
	blocked("test.required.changed", "// TODO: as it came\nx\n")
	b.write("a_test.go", "x\n")
	blocked("secrets.scan", "// TODO: as it came\n\x00\ntoken = \""+key+"\"\n") // to git no text
	blocked("secrets.scan", "// TODO: as it came\ntoken = \""+key+"\"\n")
	data, err := b.call(listed(registry.Blocking), "validate", map[string]any{"rule_id": "secrets.scan", "enforcement": "warning"})
	if v := data["violations"].([]any); err != nil || len(v) != 1 || v[0].(map[string]any)["line"] != 2.0 {
		t.Errorf("validate: %v, %v", data, err)
	}
	if _, err := b.call(nil, "validate", map[string]any{"rule_id": "build.must.pass"}); err == nil {
		t.Error("validate says that it builds")
	}
	if data, err := commit(registry.Warning, "fix: x"); err != nil || len(data["warnings"].([]any)) != 1 {
		t.Errorf("a warning: %v, %v", data, err)
	}
	b.write("a.go", "x\n")
	if _, err := commit(registry.Blocking, "fix: x\n\nTests-Not-Needed: a comment goes\n"); err != nil {
		t.Error(err)
	}
}

func TestPush(t *testing.T) {
	source, bundle := origin(t)
	b := imported(t, bundle)
	allow := registry.Default()
	allow.Git.AllowPush = true
	push := func(rules *registry.Registry, refspec string, force bool) *contract.Error {
		t.Helper()
		_, err := b.call(rules, "git_push", map[string]any{"refspec": refspec, "force": force})
		return err
	}
	refused := func(what string, err *contract.Error, code contract.Code) {
		t.Helper()
		if err == nil || err.Code != code {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("no folder", push(allow, "HEAD:refs/heads/feat/x", false), contract.Git)
	b.repo.Out = t.TempDir()
	refused("the default", push(nil, "HEAD:refs/heads/feat/x", false), contract.Policy)
	refused("force", push(allow, "HEAD:refs/heads/feat/x", true), contract.Policy)
	refused("force by a plus", push(allow, "+HEAD:refs/heads/feat/x", false), contract.Policy)
	refused("not forward", push(allow, "HEAD~1:refs/heads/main", false), contract.Git)
	refused("nothing new", push(allow, "HEAD:refs/heads/feat/x", false), contract.Git)
	for _, bad := range []string{"HEAD", ":refs/heads/main", "HEAD:refs/tags/v1", "HEAD:refs/heads/--x", "--all:refs/heads/x",
		"HEAD:refs/heads/../x", "HEAD:refs/heads/", "HEAD:ext::x", "HEAD:refs/heads/feat/a\u2028b", "HEAD:refs/heads/feat/\u0430",
		"HEAD:refs/heads/feat/x y", "HEAD:refs/heads/feat/" + strings.Repeat("x", 200)} {
		if err := push(allow, bad, false); err == nil {
			t.Errorf("%s is pushed", bad)
		}
	}
	if _, err := b.call(allow, "git_checkout", map[string]any{"target": "feat/a\u2028b", "create": true}); err == nil {
		t.Error("a branch is made that can't leave")
	}
	if _, err := b.call(allow, "git_push", map[string]any{"remote": "ext::x", "refspec": "HEAD:refs/heads/x"}); err == nil {
		t.Error("an address is taken for a remote")
	}
	b.write("a", "x\n")
	refused("changes", push(allow, "HEAD:refs/heads/feat/x", false), contract.Policy)
	b.must("git_add", map[string]any{"paths": []string{"."}})
	b.must("git_commit", map[string]any{"message": "feat: x"})
	for _, refspec := range []string{"HEAD:refs/heads/main", "main:refs/heads/feat/x"} {
		if err := push(allow, refspec, false); err != nil {
			t.Errorf("%s: %v", refspec, err)
		}
	}
	// A bundle leaves out a branch without new commits.
	refused("an old commit under a new name", push(allow, "HEAD~1:refs/heads/feat/old", false), contract.Git)
	if err := push(allow, "HEAD:refs/heads/main", false); err != nil {
		t.Errorf("pushed again: %v", err)
	}
	plain(t, source, "checkout", "-q", "--detach")
	plain(t, source, "fetch", "-q", filepath.Join(b.repo.Out, pushFile), "refs/heads/*:refs/heads/*")
	ids := strings.Fields(plain(t, source, "rev-parse", "main", "feat/x"))
	if head, err := b.repo.commit(t.Context(), "HEAD"); err != nil || ids[0] != head || ids[1] != head {
		t.Errorf("the source has %v, want %s, %v", ids, head, err)
	}
	if s := b.must("git_status", nil); s["ahead"] != 0.0 {
		t.Errorf("the status is %v", s)
	}
}

func TestConflictsChangeNothing(t *testing.T) {
	b := newBench(t, map[string]string{"a": "1\n"})
	b.must("git_checkout", map[string]any{"target": "feat/x", "create": true})
	for _, branch := range []string{"feat/x", "main"} {
		b.must("git_checkout", map[string]any{"target": branch})
		b.write("a", branch)
		b.must("git_add", map[string]any{"paths": []string{"a"}})
		b.must("git_commit", map[string]any{"message": "fix: a"})
	}
	before := b.state(b.repo.dir)
	for _, c := range []struct {
		tool string
		args map[string]any
	}{{"git_merge", map[string]any{"branch": "feat/x"}}, {"git_rebase", map[string]any{"onto": "feat/x"}}} {
		data, err := b.call(nil, c.tool, c.args)
		if err == nil || err.Code != contract.Git || fmt.Sprint(data["conflicts"]) != "[a]" {
			t.Errorf("%s: %v, %v", c.tool, data, err)
		}
		if after := b.state(b.repo.dir); after != before {
			t.Errorf("%s: before\n%s\nafter\n%s", c.tool, before, after)
		}
	}
}

func TestConventions(t *testing.T) {
	b := newBench(t, map[string]string{"a": "0\n"})
	r, err := registry.Parse([]byte("version: 1\nvalidators: [{rule: commit.message.conventional, enforcement: blocking}, " +
		"{rule: branch.naming.convention, enforcement: blocking}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for text, good := range map[string]bool{
		"feat: x": true, "fix(a/b): x\n\nbody\n": true, "refactor(core)!: x": true, "chore: x\n": true, "fixup! feat: x": true,
		"feat:x": false, "feat : x": false, "Feat: x": false, "x": false, "feat: x\nbody": false, "feat(): x": false,
		"WIP: x": false, "feat: ": false, " feat: x": false,
	} {
		b.write("a", text)
		b.must("git_add", map[string]any{"paths": []string{"a"}})
		_, err := b.call(r, "git_commit", map[string]any{"message": text})
		if (err == nil) != good || err != nil && err.Rule != "commit.message.conventional" {
			t.Errorf("%q: %v", text, err)
		}
	}
	b.write("a", "the last\n")
	b.must("git_add", map[string]any{"paths": []string{"a"}})
	b.must("git_commit", map[string]any{"message": "feat: the last"})
	for name, good := range map[string]bool{"feat/token-parser": true, "fix/issue-12": true, "release/1.2.0": true,
		"feat": false, "Feat/x": false, "feat/X": false, "x/y": false, "feat/a--b": false} {
		_, err := b.call(r, "git_checkout", map[string]any{"target": name, "create": true})
		if (err == nil) != good || err != nil && err.Rule != "branch.naming.convention" {
			t.Errorf("%q: %v", name, err)
		}
	}
}
