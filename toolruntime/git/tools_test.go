package git

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
	"github.com/threegate/tool-exec/validate/secrets"
)

var operations = flag.Int("git.operations", 30, "random operations to compare with plain git")

// call makes one call, and returns its result and its error.
func (b *bench) call(rules *registry.Registry, name string, args map[string]any) (map[string]any, *contract.Error) {
	b.t.Helper()
	if rules == nil {
		rules = registry.Default()
	}
	if args == nil {
		args = map[string]any{}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	rules.Secrets = secrets.Finder{}
	for _, tool := range Tools(b.repo, rules) {
		if tool.Name != name {
			continue
		}
		c, err := tool.Prepare(raw)
		if err != nil {
			return nil, contract.AsError(err)
		}
		result, err := c.Run(b.t.Context())
		out, marshal := json.Marshal(result)
		data := map[string]any{}
		if err := errors.Join(marshal, json.Unmarshal(out, &data)); err != nil {
			b.t.Fatal(err)
		}
		if err != nil {
			return data, contract.AsError(err)
		}
		return data, nil
	}
	b.t.Fatalf("no tool %s", name)
	return nil, nil
}

// must makes a call that succeeds.
func (b *bench) must(name string, args map[string]any) map[string]any {
	b.t.Helper()
	data, err := b.call(nil, name, args)
	if err != nil {
		b.t.Fatalf("%s %v: %v", name, args, err)
	}
	return data
}

// origin is a repository with two branches and a tag; it returns its folder and a bundle of it.
func origin(t *testing.T) (dir, bundle string) {
	t.Helper()
	dir = t.TempDir()
	o := &bench{t: t, dir: dir}
	plain(t, dir, "init", "-q", "-b", "main")
	for i, name := range []string{"a", "b", "src/c", "src/-d"} {
		o.write(name, strings.Repeat(name+"\n", 20))
		plain(t, dir, "add", "-A")
		plain(t, dir, "commit", "-q", "-m", fmt.Sprint("feat: number ", i))
	}
	plain(t, dir, "tag", "-a", "v1", "-m", "first")
	plain(t, dir, "checkout", "-q", "-b", "fix/it", "HEAD~2")
	o.write("a", "changed\n"+strings.Repeat("a\n", 20))
	plain(t, dir, "commit", "-q", "-a", "-m", "fix: a")
	plain(t, dir, "checkout", "-q", "main")
	bundle = filepath.Join(t.TempDir(), "repository.bundle")
	plain(t, dir, "bundle", "create", "-q", bundle, "--all", "HEAD")
	return dir, bundle
}

func imported(t *testing.T, bundle string) *bench {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	b := &bench{t: t, dir: t.TempDir()}
	w, err := workspace.Open(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	if b.repo, err = Import(t.Context(), w, t.TempDir(), bundle); err != nil {
		t.Fatal(err)
	}
	b.repo.date = date
	return b
}

// TestLikeGit makes the same random calls here and with plain git: both succeed or fail, and have the same
// references, index and work tree after each. In the end, who publishes the bundle of pushes has the same
// branches as the repository that plain git pushed to.
func TestLikeGit(t *testing.T) {
	dir, bundle := origin(t)
	b := imported(t, bundle)
	b.repo.Out = t.TempDir()
	pushes := registry.Default()
	pushes.Git.AllowPush = true
	remote := filepath.Join(t.TempDir(), "remote.git")
	plain(t, dir, "clone", "-q", "--mirror", dir, remote)
	others(t, dir, bundle, "upstream", func(dir string) {
		x := &bench{t: t, dir: dir}
		for i, name := range []string{"src/c", "theirs"} {
			x.write(name, strings.Repeat(name+"\n", 15+i)+"line\n")
			plain(t, dir, "add", "-A")
			plain(t, dir, "commit", "-q", "-m", fmt.Sprint("feat: theirs ", i))
		}
	})
	ref := &bench{t: t, dir: filepath.Join(t.TempDir(), "clone")}
	plain(t, filepath.Dir(ref.dir), "clone", "-q", remote, ref.dir)
	plain(t, ref.dir, "remote", "set-head", "origin", "--delete")
	plain(t, ref.dir, "remote", "add", "upstream", filepath.Join(filepath.Dir(bundle), "upstream.bundle"))
	r := rand.New(rand.NewPCG(25, 3))
	done := map[string]int{}
	same := func(i int, name string, args map[string]any, git ...string) {
		t.Helper()
		_, err := b.call(pushes, name, args)
		if err != nil && err.Rule == cleanRule {
			return // plain git would go on in some of these cases
		}
		if err != nil && strings.Contains(err.Message, "a bundle can't carry a name alone") {
			return // plain git makes the branch
		}
		plainErr := ref.try(git...)
		if (err == nil) != (plainErr == nil) {
			t.Fatalf("%d: %s %v: %v, but plain git: %v", i, name, args, err, plainErr)
		}
		if err == nil {
			done[name]++
		} else if err.Code != contract.Git {
			t.Fatalf("%d: %s %v: %v", i, name, args, err)
		}
		if plainErr != nil && (name == "git_merge" || name == "git_rebase" || name == "git_pull") {
			_ = ref.try(git[0], "--abort")
		}
		if got, want := b.state(b.repo.dir), ref.state(filepath.Join(ref.dir, ".git")); got != want {
			t.Fatalf("%d: after %s %v:\n%s\nplain git:\n%s", i, name, args, got, want)
		}
	}
	plain(t, ref.dir, "fetch", "-q", "--no-tags", "upstream")
	same(0, "git_pull", map[string]any{"remote": "upstream"}, "merge", "-q", "--ff-only", "upstream/main")
	for i := range *operations {
		file := []string{"a", "b", "src/c", "src/-d", "new"}[r.IntN(5)]
		lines := slices.Repeat([]string{file}, 20)
		lines[r.IntN(20)] = fmt.Sprint("line ", i)
		for _, x := range []*bench{b, ref} {
			x.write(file, strings.Join(lines, "\n")+"\n")
		}
		if r.IntN(5) > 0 {
			m := []string{fmt.Sprint("feat: ", i), fmt.Sprint("fix: ", i), "fixup! feat: number 3"}[r.IntN(3)]
			same(i, "git_add", map[string]any{"paths": []string{"."}}, "add", ".")
			same(i, "git_commit", map[string]any{"message": m}, "commit", "-q", "-m", m)
		}
		branch := []string{"main", "fix/it", "feat/x", "feat/y"}[r.IntN(4)]
		onto := []string{"main", "origin/main", "fix/it", "feat/x"}[r.IntN(4)]
		switch r.IntN(7) {
		case 0:
			same(i, "git_checkout", map[string]any{"target": branch, "create": true}, "checkout", "-q", "-b", branch)
		case 1:
			same(i, "git_checkout", map[string]any{"target": branch}, "checkout", "-q", branch)
		case 2:
			same(i, "git_merge", map[string]any{"branch": onto}, "merge", "-q", "--no-ff", onto)
		case 3:
			same(i, "git_merge", map[string]any{"branch": onto, "no_ff": false}, "merge", "-q", "--ff", onto)
		case 4:
			same(i, "git_rebase", map[string]any{"onto": onto}, "rebase", "-q", "-i", "--autosquash", onto)
		case 5:
			spec := []string{"HEAD", "main", branch}[r.IntN(3)] + ":refs/heads/" + []string{"main", "fix/it", "feat/z"}[r.IntN(3)]
			same(i, "git_push", map[string]any{"refspec": spec}, "push", "-q", "origin", spec)
		case 6:
			if r.IntN(2) == 0 {
				same(i, "git_pull", map[string]any{"remote": "upstream"}, "rebase", "-q", "upstream/main")
			} else {
				same(i, "git_pull", map[string]any{"remote": "upstream", "rebase": false}, "merge", "-q", "upstream/main")
			}
		}
	}
	published := filepath.Join(t.TempDir(), "published.git")
	plain(t, dir, "clone", "-q", "--mirror", dir, published)
	plain(t, published, "fetch", "-q", filepath.Join(b.repo.Out, pushFile), "refs/heads/*:refs/heads/*")
	if got, want := plain(t, published, "for-each-ref"), plain(t, remote, "for-each-ref"); got != want {
		t.Errorf("published:\n%s\nplain git pushed:\n%s", got, want)
	}
	t.Logf("%d rounds: %v", *operations, done)
	for _, name := range []string{"git_add", "git_commit", "git_checkout", "git_merge", "git_rebase", "git_push", "git_pull"} {
		if done[name] == 0 {
			t.Errorf("no %s succeeded: %v", name, done)
		}
	}
}
