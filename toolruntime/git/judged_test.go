package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

// rulesOf is a registry in which rules block.
func rulesOf(t *testing.T, language string, rules ...string) *registry.Registry {
	t.Helper()
	text := "version: 1\ngit: {allow_push: true}\nast: {language: " + language + "}\nvalidators:\n"
	for _, rule := range rules {
		text += "  - {rule: " + rule + ", enforcement: blocking}\n"
	}
	r, err := registry.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bad are changes of others, each with the rule that it breaks.
var bad = []struct{ rule, file, content string }{
	{"code.ast.parsed", "new.go", "package x\n\nfunc f( {\n"},
	{"code.todo.blockers", "b", "TODO: later\n"},
	{"secrets.scan", "b", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY\nkey = AKIAZQ3DRSTUVWXY2345\n"},
	{"sec.paths.sandbox", "b", "-> /etc/passwd"},
	{"build.must.pass", "new.go", "package x\n\nvar y int = \"\"\n"},
	{"test.required.changed", "new.go", "package x\n"},
}

// TestEveryWayIsJudged: what others did meets the rules that git_commit holds one's own work to, before a branch moves.
func TestEveryWayIsJudged(t *testing.T) {
	source, bundle := origin(t)
	for i, c := range bad {
		others(t, source, bundle, fmt.Sprint("bad", i), func(dir string) {
			x := &bench{t: t, dir: dir}
			if to, ok := strings.CutPrefix(c.content, "-> "); ok {
				if err := os.Symlink(to, filepath.Join(dir, "link")); err != nil {
					t.Fatal(err)
				}
			} else {
				x.write(c.file, c.content)
				x.write("go.mod", "module x\n")
			}
			plain(t, dir, "add", "-A")
			plain(t, dir, "commit", "-q", "-m", "feat: theirs")
		})
	}
	others(t, source, bundle, "good", func(dir string) {
		(&bench{t: t, dir: dir}).write("b", "theirs\n")
		plain(t, dir, "commit", "-q", "-a", "-m", "feat: theirs")
	})
	for i, c := range bad {
		b := imported(t, bundle)
		b.repo.Out = t.TempDir()
		b.write("ours", "ours\n")
		b.must("git_add", map[string]any{"paths": []string{"."}})
		b.must("git_commit", map[string]any{"message": "feat: ours"})
		rules := rulesOf(t, "go")
		if !strings.HasPrefix(c.rule, "sec.") {
			rules = rulesOf(t, "go", c.rule)
		}
		remote := fmt.Sprint("bad", i)
		before := b.state(b.repo.dir)
		refused := func(name string, args map[string]any) {
			t.Helper()
			_, err := b.call(rules, name, args)
			if err == nil || err.Rule != c.rule || !strings.Contains(err.Hint, "validators") {
				t.Errorf("%s: %s %v: %+v", c.rule, name, args, err)
			}
			after := b.state(b.repo.dir)
			if _, refs, ok := strings.Cut(after, "refs/remotes/"+remote); ok && before != after { // what was fetched
				_, rest, _ := strings.Cut(refs, "\n")
				head, _, _ := strings.Cut(after, "refs/remotes/"+remote)
				after = head[:strings.LastIndex(head, "\n")+1] + rest
			}
			if after != before {
				t.Errorf("%s: %s changed\n%s\nto\n%s", c.rule, name, before, after)
			}
		}
		refused("git_pull", map[string]any{"remote": remote, "rebase": false})
		refused("git_pull", map[string]any{"remote": remote})
		refused("git_merge", map[string]any{"branch": remote + "/main"})
		refused("git_rebase", map[string]any{"onto": remote + "/main"})
		refused("git_push", map[string]any{"refspec": remote + "/main:refs/heads/feat/x"})
		if made, err := filepath.Glob(filepath.Join(b.repo.Out, "*")); len(made) > 0 || err != nil {
			t.Errorf("%s: %v, %v", c.rule, made, err)
		}
		for name, args := range map[string]map[string]any{"git_pull": {"remote": "good"},
			"git_push": {"refspec": "HEAD:refs/heads/feat/x"}} {
			if c.rule == "build.must.pass" {
				continue // there is no Go to build
			}
			if _, err := b.call(rules, name, args); err != nil {
				t.Errorf("%s: %s: %v", c.rule, name, err)
			}
		}
		if left, err := filepath.Glob(filepath.Join(b.repo.dir, "*-*")); len(left) > 0 || err != nil {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// TestCommitsOfPrograms: a push judges a commit that a program made by itself.
func TestCommitsOfPrograms(t *testing.T) {
	_, bundle := origin(t)
	b := imported(t, bundle)
	b.repo.Out = t.TempDir()
	b.write("b", "FIXME\n")
	plain(t, b.dir, "--git-dir", b.repo.dir, "--work-tree", b.dir, "commit", "-q", "-a", "-m", "feat: by itself")
	b.write("ours", "ours\n")
	rules := rulesOf(t, "go", "code.todo.blockers")
	for name, args := range map[string]map[string]any{"git_add": {"paths": []string{"."}}} {
		b.must(name, args)
	}
	if _, err := b.call(rules, "git_commit", map[string]any{"message": "feat: on top"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.call(rules, "git_push", map[string]any{"refspec": "HEAD:refs/heads/feat/x"}); err == nil || err.Rule != "code.todo.blockers" {
		t.Errorf("pushed: %v", err)
	}
}

// TestProtectedBranches: a branch that the registry does not protect may have open tasks. They come onto a protected one
// by no way.
func TestProtectedBranches(t *testing.T) {
	_, bundle := origin(t)
	b := imported(t, bundle)
	b.repo.Out = t.TempDir()
	rules := rulesOf(t, "go", "code.todo.blockers")
	rules.Git.ProtectedBranches = []string{"main", "release/*"}
	call := func(want, name string, args map[string]any) {
		t.Helper()
		_, err := b.call(rules, name, args)
		got := ""
		if err != nil {
			got = err.Rule
		}
		if got != want {
			t.Errorf("%s %v: %+v", name, args, err)
		}
	}
	b.write("b", "FIXME\n")
	b.must("git_add", map[string]any{"paths": []string{"."}})
	call("code.todo.blockers", "git_commit", map[string]any{"message": "feat: task"})
	call("code.todo.blockers", "validate", map[string]any{})
	call("", "git_checkout", map[string]any{"target": "feat/x", "create": true})
	call("", "validate", map[string]any{})
	call("code.todo.blockers", "validate", map[string]any{"rule_id": "code.todo.blockers", "enforcement": "blocking"})
	call("", "git_commit", map[string]any{"message": "feat: task"})
	call("", "git_push", map[string]any{"refspec": "HEAD:refs/heads/feat/x"})
	call("code.todo.blockers", "git_push", map[string]any{"refspec": "HEAD:refs/heads/release/1"})
	call("", "git_checkout", map[string]any{"target": "main"})
	call("code.todo.blockers", "git_merge", map[string]any{"branch": "feat/x"})
	call("code.todo.blockers", "git_rebase", map[string]any{"onto": "feat/x"})
	call("code.todo.blockers", "git_push", map[string]any{"refspec": "feat/x:refs/heads/main"})
	call("", "git_checkout", map[string]any{"target": "feat/x"})
	b.write("b", "done\n")
	b.must("git_add", map[string]any{"paths": []string{"."}})
	call("", "git_commit", map[string]any{"message": "fix: task"})
	call("", "git_push", map[string]any{"refspec": "HEAD:refs/heads/release/1"})
}

// conflicting is a workspace whose main and fix/it have changed the same line of a, and of which fix/it took b away and
// both added c.
func conflicting(t *testing.T) (b *bench, ours, theirs string) {
	t.Helper()
	dir := t.TempDir()
	o := &bench{t: t, dir: dir}
	commit := func(message string) string {
		plain(t, dir, "add", "-A")
		plain(t, dir, "commit", "-q", "-m", message)
		return strings.TrimSpace(plain(t, dir, "rev-parse", "HEAD"))
	}
	plain(t, dir, "init", "-q", "-b", "main")
	o.write("a", "1\n2\n3\n")
	o.write("b", "b\n")
	commit("feat: base")
	plain(t, dir, "checkout", "-q", "-b", "fix/it")
	o.write("a", "1\ntheirs\n3\n")
	o.write("c", "theirs\n")
	plain(t, dir, "rm", "-q", "b")
	theirs = commit("fix: theirs")
	plain(t, dir, "checkout", "-q", "main")
	o.write("a", "1\nours\n3\n")
	o.write("b", "ours\n")
	o.write("c", "ours\n")
	ours = commit("feat: ours")
	bundle := filepath.Join(t.TempDir(), "repository.bundle")
	plain(t, dir, "bundle", "create", "-q", bundle, "--all", "HEAD")
	return imported(t, bundle), ours, theirs
}

// TestConflictsAreResolved: a conflict is told with all sides, and the next call resolves it; nothing else is taken for a
// resolution.
func TestConflictsAreResolved(t *testing.T) {
	for _, how := range []string{"git_merge", "git_rebase"} {
		b, ours, theirs := conflicting(t)
		what := map[string]any{"branch": "origin/fix/it"}
		if how == "git_rebase" {
			what = map[string]any{"onto": "origin/fix/it"}
		}
		call := func(more map[string]any, resolutions ...map[string]any) (map[string]any, *contract.Error) {
			args := map[string]any{"resolutions": resolutions}
			for _, m := range []map[string]any{what, more} {
				for k, v := range m {
					args[k] = v
				}
			}
			return b.call(nil, how, args)
		}
		before := b.state(b.repo.dir)
		data, err := call(nil)
		if err == nil || err.Code != contract.Git || fmt.Sprint(data["conflicts"]) != "[a b c]" || data["ours"] != ours ||
			data["theirs"] != theirs || !strings.Contains(err.Hint, "resolutions") {
			t.Fatalf("%s: %v, %v", how, data, err)
		}
		var told []string
		for _, s := range data["sides"].([]any) {
			s := s.(map[string]any)
			told = append(told, fmt.Sprint(s["path"], s["kind"], s["base"], s["ours"], s["theirs"]))
		}
		want := "[acontent1\n2\n3\n1\nours\n3\n1\ntheirs\n3\n bdeleted by themb\nours\n<nil> cadded by both<nil>ours\ntheirs\n]"
		commit := map[string]any{}
		if how == "git_rebase" {
			commit["commit"] = ours
		}
		if got := fmt.Sprint(told); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s: sides are %q, want %q", how, got, want)
		}
		one := func(path, key string, value any) map[string]any {
			r := map[string]any{"path": path, key: value}
			for k, v := range commit {
				r[k] = v
			}
			return r
		}
		all := []map[string]any{one("a", "content", "1\nboth\n3\n"), one("b", "delete", true), one("c", "take", "theirs")}
		for name, c := range map[string]struct {
			more        map[string]any
			resolutions []map[string]any
			code        contract.Code
		}{
			"moved":     {map[string]any{"theirs": ours}, all, contract.Git},
			"one less":  {nil, all[:2], contract.Git},
			"one more":  {nil, append(all[:3:3], one("none", "delete", true)), contract.Git},
			"two ways":  {nil, []map[string]any{{"path": "a", "delete": true, "take": "ours"}}, contract.Validation},
			"no way":    {nil, []map[string]any{{"path": "a"}}, contract.Validation},
			"elsewhere": {nil, []map[string]any{{"path": "a", "take": "ours", "commit": theirs}, all[1], all[2]}, contract.Git},
		} {
			if data, err := call(c.more, c.resolutions...); err == nil || err.Code != c.code {
				t.Errorf("%s: %s: %v, %v", how, name, data, err)
			}
			if after := b.state(b.repo.dir); after != before {
				t.Errorf("%s: %s changed\n%s\nto\n%s", how, name, before, after)
			}
		}
		if _, err := b.call(rulesOf(t, "go", "code.todo.blockers"), how, map[string]any{"branch": what["branch"], "onto": what["onto"],
			"resolutions": []map[string]any{one("a", "content", "TODO\n"), all[1], all[2]}}); err == nil && how == "git_merge" {
			t.Error("a resolution is not judged")
		}
		if data, err = call(map[string]any{"ours": ours, "theirs": theirs}, all...); err != nil {
			t.Fatalf("%s: %v, %v", how, data, err)
		}
		for name, want := range map[string]string{"a": "1\nboth\n3\n", "b": "", "c": "theirs\n"} {
			if got, _ := os.ReadFile(filepath.Join(b.dir, name)); string(got) != want {
				t.Errorf("%s: %s is %q", how, name, got)
			}
		}
		if s := b.must("git_status", nil); len(s["changes"].([]any)) > 0 {
			t.Errorf("%s: left %v", how, s)
		}
		if log := plain(t, b.dir, "--git-dir", b.repo.dir, "log", "-1", "--format=%B%P"); log !=
			map[string]string{"git_merge": "Merge remote-tracking branch 'origin/fix/it'\n" + ours + " ",
				"git_rebase": "feat: ours\n"}[how]+theirs+"\n" {
			t.Errorf("%s: the commit is %q", how, log)
		}
	}
}

// TestPullNamesWhatItFetched: the next call can merge it with resolutions.
func TestPullNamesWhatItFetched(t *testing.T) {
	source, bundle := origin(t)
	others(t, source, bundle, "upstream", func(dir string) {
		(&bench{t: t, dir: dir}).write("b", "theirs\n")
		plain(t, dir, "commit", "-q", "-a", "-m", "feat: theirs")
	})
	b := imported(t, bundle)
	b.write("b", "ours\n")
	b.must("git_add", map[string]any{"paths": []string{"."}})
	b.must("git_commit", map[string]any{"message": "feat: ours"})
	data, err := b.call(nil, "git_pull", map[string]any{"remote": "upstream", "rebase": false})
	if err == nil || data["branch"] != "upstream/main" {
		t.Fatalf("%v, %v", data, err)
	}
	b.must("git_merge", map[string]any{"branch": data["branch"], "ours": data["ours"],
		"resolutions": []map[string]any{{"path": "b", "take": "ours"}}})
}

// TestDiffOfTwoCommits is git's.
func TestDiffOfTwoCommits(t *testing.T) {
	_, bundle := origin(t)
	b := imported(t, bundle)
	for _, rev := range []string{"HEAD~2..HEAD", "origin/fix/it...HEAD", "HEAD~1.."} {
		got := b.must("git_diff", map[string]any{"rev": rev})["patch"]
		if want := plain(t, b.dir, "--git-dir", b.repo.dir, "diff", rev); got != want || want == "" {
			t.Errorf("%s: %s", rev, got)
		}
	}
	if _, err := b.call(nil, "git_diff", map[string]any{"rev": "HEAD..none"}); err == nil || !strings.Contains(err.Hint, "origin/fix/it") {
		t.Errorf("%v", err)
	}
}

// TestAddOfIgnored says so, in the caller's words.
func TestAddOfIgnored(t *testing.T) {
	b := newBench(t, map[string]string{".gitignore": "*.tmp\n"})
	b.write("x.tmp", "x\n")
	for path, want := range map[string]string{"x.tmp": "ignored", "none": "did not match any files"} {
		_, err := b.call(nil, "git_add", map[string]any{"paths": []string{path}})
		if err == nil || !strings.Contains(err.Message, want) || strings.Contains(err.Message+err.Hint, ":(") || !strings.Contains(err.Message, path) {
			t.Errorf("%s: %+v", path, err)
		}
	}
}
