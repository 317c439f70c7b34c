package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

// others is a bundle of what others did meanwhile, next to the one that a workspace came from.
func others(t *testing.T, source, bundle, name string, work func(dir string)) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "others")
	plain(t, source, "clone", "-q", "--no-hardlinks", source, dir)
	work(dir)
	plain(t, dir, "bundle", "create", "-q", filepath.Join(filepath.Dir(bundle), name+".bundle"), "HEAD", "--branches",
		"--not", "origin/main~1")
}

func TestPull(t *testing.T) {
	source, bundle := origin(t)
	others(t, source, bundle, "upstream", func(dir string) {
		(&bench{t: t, dir: dir}).write("b", "theirs\n")
		plain(t, dir, "commit", "-q", "-a", "-m", "feat: theirs")
	})
	head := func(b *bench, rev string) string {
		id, err := b.repo.commit(t.Context(), rev)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	commit := func(b *bench, file string) {
		b.write(file, "ours\n")
		b.must("git_add", map[string]any{"paths": []string{"."}})
		b.must("git_commit", map[string]any{"message": "feat: ours"})
	}

	b := imported(t, bundle)
	base := head(b, "HEAD")
	b.must("git_pull", map[string]any{"remote": "origin"})
	if head(b, "HEAD") != base {
		t.Error("origin is where it came from, and something moved")
	}
	b.must("git_pull", map[string]any{"remote": "upstream"}) // forward
	if head(b, "HEAD") != head(b, "upstream/main") || head(b, "HEAD~1") != base {
		t.Error("it did not move forward")
	}
	if got, err := os.ReadFile(filepath.Join(b.dir, "b")); string(got) != "theirs\n" {
		t.Errorf("b is %q, %v", got, err)
	}

	for _, rebase := range []bool{true, false} {
		b = imported(t, bundle)
		b.must("git_checkout", map[string]any{"target": "feat/x", "create": true}) // a branch that the bundle lacks
		commit(b, "new")
		b.must("git_pull", map[string]any{"remote": "upstream", "rebase": rebase})
		want := map[bool]string{true: "HEAD~1", false: "HEAD^2"}[rebase]
		if head(b, want) != head(b, "upstream/main") {
			t.Errorf("rebase %v: %s is not theirs", rebase, want)
		}
	}

	for _, rebase := range []bool{true, false} {
		b = imported(t, bundle)
		commit(b, "b")
		before := head(b, "HEAD")
		data, err := b.call(nil, "git_pull", map[string]any{"remote": "upstream", "rebase": rebase})
		if err == nil || err.Code != contract.Git || data["conflicts"].([]any)[0] != "b" || head(b, "HEAD") != before {
			t.Errorf("rebase %v: a conflict became %v, %v", rebase, data, err)
		}
		if s := b.must("git_status", nil); len(s["changes"].([]any)) > 0 {
			t.Errorf("rebase %v: after a conflict: %v", rebase, s)
		}
	}
	b.write("a", "not staged\n")
	if _, err := b.call(nil, "git_pull", map[string]any{"remote": "upstream"}); err == nil || err.Rule != cleanRule {
		t.Errorf("into changes: %v", err)
	}
}

// TestHostilePulls: nothing of what is refused stays within reach of a call.
func TestHostilePulls(t *testing.T) {
	_, bundle := origin(t)
	b := imported(t, bundle)
	before := b.state(b.repo.dir)
	refused := func(remote string, code contract.Code) {
		t.Helper()
		_, err := b.call(nil, "git_pull", map[string]any{"remote": remote})
		if err == nil || err.Code != code {
			t.Errorf("%q: %v", remote, err)
		}
		if after := b.state(b.repo.dir); after != before {
			t.Errorf("%q changed\n%s\nto\n%s", remote, before, after)
		}
	}
	for _, name := range []string{"../x", "/etc/x", "ext::touch evil", "HTTPS://example.org/x", "file:///x", "ssh://example.org/x", "--upload-pack=evil", "-x", "", ".",
		"a/b", "X", "x\n", "x..y", strings.Repeat("x", 300)} {
		refused(name, contract.Validation)
	}
	refused("none", contract.Git)
	in := filepath.Dir(bundle)
	if err := os.Symlink(bundle, filepath.Join(in, "link.bundle")); err != nil {
		t.Fatal(err)
	}
	refused("link", contract.Git)
	if err := os.WriteFile(filepath.Join(in, "text.bundle"), []byte("[core]\n\tfsmonitor = evil\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused("text", contract.Git)
	for name, made := range map[string]string{"git": evil(t, "40000 .git="), "path": evil(t, "100644 ../x=evil"),
		"modules": evil(t, "100644 .gitmodules=[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack=evil\n")} {
		if err := os.Rename(made, filepath.Join(in, name+".bundle")); err != nil {
			t.Fatal(err)
		}
		refused(name, contract.Git)
		id, _, _ := strings.Cut(plain(t, in, "bundle", "list-heads", name+".bundle"), " ")
		if _, err := b.call(nil, "git_checkout", map[string]any{"target": id}); err == nil {
			t.Errorf("%s: its commit can be checked out", name)
		}
	}
	if left, err := filepath.Glob(filepath.Join(b.repo.dir, "pull-*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
	b.must("git_checkout", map[string]any{"target": "HEAD"})
	_, err := b.call(nil, "git_pull", nil)
	if err == nil || !strings.Contains(err.Message, "no branch") {
		t.Errorf("on no branch: %v", err)
	}
	files := newBench(t, map[string]string{"a": "1\n"})
	if _, err := files.call(nil, "git_pull", nil); err == nil || err.Code != contract.Git {
		t.Errorf("a workspace of files: %v", err)
	}
}
