// Package hooks tests programs that an operator can configure as hooks.
package hooks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const job = "j0123456789abcdefghjkmnpqrs"

type bench struct {
	t                      *testing.T
	node, queue, bare, dir string
}

func (b *bench) git(dir string, args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgSign=false",
		"-c", "core.hooksPath=/dev/null"},
		args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// newBench is a node whose job pushed two commits to feat/x, and the repository that they are for.
func newBench(t *testing.T) *bench {
	t.Helper()
	top := t.TempDir()
	b := &bench{t, filepath.Join(top, "node"), filepath.Join(top, "queue"), filepath.Join(top, "bare.git"), filepath.Join(top, "work")}
	for _, dir := range []string{b.out(), b.queue, b.dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.git(b.dir, "init", "-q", "-b", "main")
	b.commit("one")
	b.git(top, "clone", "-q", "--bare", b.dir, b.bare)
	// A hook that would run.
	hook := "#!/bin/sh\ntouch " + top + "/ran\n"
	if err := os.WriteFile(filepath.Join(b.bare, "hooks", "reference-transaction"), []byte(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	b.git(b.dir, "checkout", "-q", "-b", "feat/x")
	b.commit("two")
	b.commit("three")
	t.Cleanup(func() {
		if _, err := os.Lstat(filepath.Join(top, "ran")); err == nil {
			t.Error("a hook of the repository ran")
		}
	})
	return b
}

func (b *bench) out() string { return filepath.Join(b.node, "archive", "2026", "02", job, "out") }

func (b *bench) commit(name string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(name+"\n"), 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.git(b.dir, "add", ".")
	b.git(b.dir, "commit", "-q", "-m", "feat: "+name)
}

func (b *bench) bundle(args ...string) {
	b.t.Helper()
	b.git(b.dir, append([]string{"bundle", "create", "-q", filepath.Join(b.out(), "push.bundle")}, args...)...)
}

// run notes the job as the node's hook does, and publishes.
func (b *bench) run() (string, error) {
	b.t.Helper()
	cmd := exec.Command("./publish-push", "--note", b.queue)
	cmd.Stdin = strings.NewReader(`{"hook_version":1,"answer":"delivered","job":"` + job + `"}` + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command("./publish-push", "--publish", b.queue, "--node", b.node, "--repository", b.bare,
		"--branch", "feat/*").CombinedOutput()
	return string(out), err
}

func (b *bench) refs() string {
	return b.git(b.bare, "for-each-ref", "--format=%(refname) %(objectname)")
}

func (b *bench) queued() string {
	b.t.Helper()
	entries, err := os.ReadDir(b.queue)
	if err != nil {
		b.t.Fatal(err)
	}
	names := ""
	for _, e := range entries {
		names += e.Name()
	}
	return names
}

func TestPublish(t *testing.T) {
	b := newBench(t)
	if out, err := b.run(); err != nil || out != "" || b.queued() != "" {
		t.Errorf("a job that pushed nothing: %v: %s%s", err, out, b.queued())
	}
	b.bundle("feat/x", "--not", "main")
	for range 2 { // told twice, it is as told once
		out, err := b.run()
		if err != nil || out != job+": published refs/heads/feat/x\n" || b.queued() != "" {
			t.Errorf("%v: %s%s", err, out, b.queued())
		}
	}
	if got, want := b.git(b.bare, "rev-parse", "feat/x"), b.git(b.dir, "rev-parse", "feat/x"); got != want {
		t.Errorf("feat/x is %s, want %s", got, want)
	}
	b.git(b.bare, "fsck", "--strict")

	// It is told of a job before the job is in the archive.
	if err := os.Rename(filepath.Join(b.node, "archive"), filepath.Join(b.node, "spool")); err != nil {
		t.Fatal(err)
	}
	if out, err := b.run(); err != nil || b.queued() != job {
		t.Errorf("%v: %s%s", err, out, b.queued())
	}
}

func TestRefused(t *testing.T) {
	for name, prepare := range map[string]func(b *bench){
		"another branch": func(b *bench) {
			b.git(b.dir, "branch", "release", "feat/x")
			b.bundle("feat/x", "release", "--not", "main")
		},
		"a tag": func(b *bench) {
			b.git(b.dir, "tag", "feat/t")
			b.bundle("feat/t", "--not", "main")
		},
		"no fast-forward": func(b *bench) {
			b.git(b.bare, "fetch", "-q", b.dir, "feat/x:feat/x")
			b.git(b.dir, "reset", "-q", "--hard", "main")
			b.commit("four")
			b.bundle("feat/x", "--not", "main")
		},
		"a commit that the repository lacks": func(b *bench) { b.bundle("feat/x", "--not", "feat/x~1") },
		"a tree that git would warn of": func(b *bench) {
			blob := b.git(b.dir, "hash-object", "-w", "one")
			cmd := exec.Command("git", "-C", b.dir, "mktree")
			cmd.Stdin = strings.NewReader("100644 blob " + blob + "\t.git\n")
			tree, err := cmd.Output()
			if err != nil {
				b.t.Fatal(err)
			}
			id := b.git(b.dir, "commit-tree", "-m", "evil", "-p", "main", strings.TrimSpace(string(tree)))
			b.git(b.dir, "update-ref", "refs/heads/feat/evil", id)
			b.bundle("feat/evil", "--not", "main")
		},
		"no bundle": func(b *bench) {
			if err := os.WriteFile(filepath.Join(b.out(), "push.bundle"), []byte("[core]\n"), 0o600); err != nil {
				b.t.Fatal(err)
			}
		},
		"a link": func(b *bench) {
			b.bundle("feat/x", "--not", "main")
			name := filepath.Join(b.out(), "push.bundle")
			if err := os.Rename(name, name+".other"); err != nil {
				b.t.Fatal(err)
			}
			if err := os.Symlink(name+".other", name); err != nil {
				b.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			prepare(b)
			before := b.refs()
			out, err := b.run()
			if err == nil || !strings.HasPrefix(out, job+": refused: ") || b.queued() != job+".refused" {
				t.Errorf("%v: %s%s", err, out, b.queued())
			}
			if after := b.refs(); after != before {
				t.Errorf("%s became %s", before, after)
			}
		})
	}
	// A message without a job is not noted, whatever its name would be.
	cmd := exec.Command("./publish-push", "--note", t.TempDir())
	cmd.Stdin = strings.NewReader(`{"job":"../../x"}`)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("it was noted: %s", out)
	}
}
