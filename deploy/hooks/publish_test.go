// Package hooks tests programs that an operator can configure as hooks.
package hooks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const firstJob = "j0123456789abcdefghjkmnpqrs"

type bench struct {
	t                                *testing.T
	job, top, node, queue, bare, dir string
	// sealed is called when the job is sealed and noted.
	sealed func()
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
	b := benchIn(t, t.TempDir())
	for _, dir := range []string{b.out(), b.queue, b.dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.file("outcome.json", `{"outcome":{"exit_code":0}}`)
	b.file("admission.json", `{"request":{"Outputs":[{"path":"/out/notes.md"},{"path":"/out/changes.patch"}]}}`)
	b.git(b.dir, "init", "-q", "-b", "main")
	b.commit("one")
	b.git(b.top, "clone", "-q", "--bare", b.dir, b.bare)
	// A hook that would run.
	hook := "#!/bin/sh\ntouch " + marker(t) + "\n"
	if err := os.WriteFile(filepath.Join(b.bare, "hooks", "reference-transaction"), []byte(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	b.git(b.dir, "checkout", "-q", "-b", "feat/x")
	b.commit("two")
	b.commit("three")
	b.patch("main", "feat/x")
	return b
}

func benchIn(t *testing.T, top string) *bench {
	return &bench{t: t, job: firstJob, top: top, node: filepath.Join(top, "node"), queue: filepath.Join(top, "queue"),
		bare: filepath.Join(top, "bare.git"), dir: filepath.Join(top, "work")}
}

// copy is a bench like this one.
func (b *bench) copy(t *testing.T) *bench {
	t.Helper()
	c := benchIn(t, t.TempDir())
	if err := os.CopyFS(c.top, os.DirFS(b.top)); err != nil {
		t.Fatal(err)
	}
	return c
}

// marker is a file that must not appear.
func marker(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ran")
	t.Cleanup(func() {
		if _, err := os.Lstat(name); err == nil {
			t.Error("a hook of the repository ran")
		}
	})
	return name
}

func (b *bench) out() string { return filepath.Join(b.node, "archive", "2026", "02", b.job, "out") }

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

// header writes the lines of the bundle's beginning anew, as a hostile run can.
func (b *bench) header(old, new string) {
	b.t.Helper()
	name := filepath.Join(b.out(), "push.bundle")
	data, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, bytes.Replace(data, []byte(old), []byte(new), 1), 0o600)
	}
	if err != nil || !bytes.Contains(data, []byte(old)) {
		b.t.Fatalf("%q is not in the bundle, %v", old, err)
	}
}

// patch writes what the gate judged of the job: the difference between two commits.
func (b *bench) patch(from, to string) {
	b.t.Helper()
	b.file("out/changes.patch", b.git(b.dir, "diff", "--no-renames", from, to)+"\n")
}

// file writes a file of the job's folder.
func (b *bench) file(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.out(), "..", name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// seal lists the files of the job's folder, as the gate does, and returns the list's digest.
func (b *bench) seal() string {
	b.t.Helper()
	type entry struct {
		Path   string `json:"path"`
		Kind   string `json:"kind,omitempty"`
		SHA256 string `json:"sha256,omitempty"`
	}
	top := filepath.Dir(b.out())
	sum := func(data []byte) string { s := sha256.Sum256(data); return hex.EncodeToString(s[:]) }
	entries := []entry{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "seal.json" {
			return err
		}
		name, err := filepath.Rel(top, path)
		e := entry{Path: name, Kind: "link"}
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			entries = append(entries, entry{Path: name, SHA256: sum(data)})
			return err
		}
		entries = append(entries, e)
		return err
	})
	text, err2 := json.Marshal(map[string]any{"version": 1, "job": b.job, "entries": entries})
	if err := errors.Join(err, err2); err != nil {
		b.t.Fatal(err)
	}
	b.file("seal.json", string(text))
	return sum(text)
}

// note tells the program of an answer, as the node's hook does.
func (b *bench) note(answer string) {
	b.t.Helper()
	cmd := exec.Command("./publish-push", "--note", b.queue)
	cmd.Stdin = strings.NewReader(`{"hook_version":1,"answer":"` + answer + `","job":"` + b.job + `","seal":"` + b.seal() + `"}` + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%v: %s", err, out)
	}
}

// run notes the job and publishes.
func (b *bench) run(more ...string) (string, error) {
	b.t.Helper()
	b.note("delivered")
	if b.sealed != nil {
		b.sealed()
	}
	return b.publish(more...)
}

func (b *bench) publish(more ...string) (string, error) {
	args := append([]string{"--publish", b.queue, "--node", b.node, "--repository", b.bare, "--branch", "feat/*"}, more...)
	out, err := exec.Command("./publish-push", args...).CombinedOutput()
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

// refused runs it and wants it to refuse the job, for that reason.
func (b *bench) refused(why string) {
	b.t.Helper()
	before := b.refs()
	out, err := b.run()
	if err == nil || !strings.HasPrefix(out, b.job+": refused: "+why) || b.queued() != b.job+".refused" {
		b.t.Errorf("want %s: %v: %s%s", why, err, out, b.queued())
	}
	if after := b.refs(); after != before {
		b.t.Errorf("%s: %s became %s", why, before, after)
	}
}

func TestPublish(t *testing.T) {
	b := newBench(t)
	if b.note("cancelled"); b.queued() != "" {
		t.Errorf("a job without a result is noted")
	}
	if out, err := b.run(); err != nil || out != "" || b.queued() != "" {
		t.Errorf("a job that pushed nothing: %v: %s%s", err, out, b.queued())
	}
	b.bundle("feat/x", "--not", "main")
	b.file("withheld.json", `{"withheld":[{"channel":"stdout","rule":"a.b"}]}`)
	for range 2 { // told twice, it is as told once
		out, err := b.run()
		if err != nil || out != b.job+": published refs/heads/feat/x\n" || b.queued() != "" {
			t.Errorf("%v: %s%s", err, out, b.queued())
		}
	}
	if got, want := b.git(b.bare, "rev-parse", "feat/x"), b.git(b.dir, "rev-parse", "feat/x"); got != want {
		t.Errorf("feat/x is %s, want %s", got, want)
	}
	b.git(b.bare, "fsck", "--strict")

	// It is told of a job before the job is in the archive.
	b.sealed = func() {
		if err := os.Rename(filepath.Join(b.node, "archive"), filepath.Join(b.node, "spool")); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := b.run(); err != nil || b.queued() != b.job {
		t.Errorf("%v: %s%s", err, out, b.queued())
	}
}

// TestSealed: what is published is what the gate sealed, of a run that went well and a result that was delivered whole.
func TestSealed(t *testing.T) {
	b := newBench(t)
	b.bundle("feat/x", "--not", "main")
	good, err := os.ReadFile(filepath.Join(b.out(), "push.bundle"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		why           string
		before, after map[string]string // files that are written before the job is sealed, and after
	}{
		{why: "push.bundle is not as it was sealed", after: map[string]string{"out/push.bundle": string(good) + "\n"}},
		{why: "seal.json is not the one of the delivered result", after: map[string]string{"seal.json": "{}"}},
		{why: "outcome.json is not as it was sealed", after: map[string]string{"outcome.json": `{"outcome":{"exit_code": 0}}`}},
		{why: "the run ended with exit code 1", before: map[string]string{"outcome.json": `{"outcome":{"exit_code":1}}`}},
		{why: "it can't be read", before: map[string]string{"outcome.json": `[]`}},
		{why: "changes.patch is not as it was sealed", after: map[string]string{"out/changes.patch": "\n"}},
		{why: "'/out/changes.patch' was withheld from the result (code.todo.blockers)", before: map[string]string{"withheld.json": `{"withheld":` +
			`[{"channel":"stdout","rule":"a.b"},{"channel":"/out/changes.patch","rule":"code.todo.blockers"}]}`}},
	} {
		b.file("out/push.bundle", string(good))
		b.file("outcome.json", `{"outcome":{"exit_code":0}}`)
		for name, text := range tt.before {
			b.file(name, text)
		}
		b.sealed = func() {
			for name, text := range tt.after {
				b.file(name, text)
			}
		}
		b.refused(tt.why)
		if err := os.Remove(filepath.Join(b.queue, b.job+".refused")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRefused(t *testing.T) {
	first := newBench(t)
	for name, tt := range map[string]struct {
		why     string
		prepare func(b *bench)
	}{
		"another branch": {"the branch 'release' is not allowed", func(b *bench) {
			b.git(b.dir, "branch", "release", "feat/x")
			b.bundle("feat/x", "release", "--not", "main")
		}},
		"a tag": {"'refs/tags/feat/t' is no branch", func(b *bench) {
			b.git(b.dir, "tag", "feat/t")
			b.bundle("feat/t", "--not", "main")
		}},
		"no fast-forward": {"git fetch: ", func(b *bench) {
			b.git(b.bare, "fetch", "-q", b.dir, "feat/x:feat/x")
			b.git(b.dir, "reset", "-q", "--hard", "main")
			b.commit("four")
			b.patch("main", "feat/x")
			b.bundle("feat/x", "--not", "main")
		}},
		"a commit that the repository lacks": {"git bundle: ", func(b *bench) { b.bundle("feat/x", "--not", "feat/x~1") }},
		"a tree that git would warn of": {"git fsck: ", func(b *bench) {
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
		}},
		"no bundle": {"git bundle: ", func(b *bench) {
			if err := os.WriteFile(filepath.Join(b.out(), "push.bundle"), []byte("[core]\n"), 0o600); err != nil {
				b.t.Fatal(err)
			}
		}},
		"a branch twice, with another commit": {"the branch 'feat/x' is there twice", func(b *bench) {
			b.bundle("feat/x", "--not", "main")
			good := b.git(b.dir, "rev-parse", "feat/x")
			b.commit("four")
			b.bundle("feat/x", "--not", "main")
			evil := b.git(b.dir, "rev-parse", "feat/x")
			b.header(evil+" refs/heads/feat/x\n", evil+" refs/heads/feat/x\n"+good+" refs/heads/feat/x\n")
		}},
		"many branches": {"it has 20000 branches", func(b *bench) {
			b.bundle("feat/x", "--not", "main")
			tip := b.git(b.dir, "rev-parse", "feat/x")
			var many strings.Builder
			for i := range 20000 {
				fmt.Fprintf(&many, "%s refs/heads/feat/%d\n", tip, i)
			}
			b.header(tip+" refs/heads/feat/x\n", many.String())
		}},
		"a name with an escape is withheld": {`'/out/\x1b[2J' was withheld`, func(b *bench) {
			b.bundle("feat/x", "--not", "main")
			b.file("withheld.json", `{"withheld":[{"channel":"/out/\u001b[2J","rule":"a.b"}]}`)
		}},
		"a link": {"[Errno", func(b *bench) {
			b.bundle("feat/x", "--not", "main")
			name := filepath.Join(b.out(), "push.bundle")
			if err := os.Rename(name, name+".other"); err != nil {
				b.t.Fatal(err)
			}
			if err := os.Symlink(name+".other", name); err != nil {
				b.t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := first.copy(t)
			tt.prepare(b)
			b.refused(tt.why)
		})
	}
	// A message without a job is not noted, whatever its name would be.
	seal := `","seal":"` + strings.Repeat("a", 64)
	for _, message := range []string{"../../x" + seal, firstJob, firstJob + `","seal":"../x`} {
		cmd := exec.Command("./publish-push", "--note", t.TempDir())
		cmd.Stdin = strings.NewReader(`{"answer":"delivered","job":"` + message + `"}`)
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("%s: it was noted: %s", message, out)
		}
	}
}

// TestOneBadJob: a job that can't be published is reported, and keeps none of the others.
func TestOneBadJob(t *testing.T) {
	for name, prepare := range map[string]func(bad *bench){
		"a branch with a line separator": func(bad *bench) {
			bad.git(bad.dir, "branch", "feat/a\u2028b", "feat/x")
			bad.bundle("feat/a\u2028b", "--not", "main")
		},
		"a branch of other letters": func(bad *bench) {
			bad.git(bad.dir, "branch", "feat/\u0430", "feat/x")
			bad.bundle("feat/\u0430", "--not", "main")
		},
		"a record that is nested deep": func(bad *bench) {
			bad.bundle("feat/x", "--not", "main")
			bad.file("outcome.json", strings.Repeat("[", 100_000))
		},
		"a record of another shape": func(bad *bench) {
			bad.bundle("feat/x", "--not", "main")
			bad.file("admission.json", `{"request":{"Outputs":null}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			good := newBench(t)
			good.bundle("feat/x", "--not", "main")
			good.note("delivered")
			bad := *good
			bad.job = "j00000000000000000000000000" // it comes first
			if err := os.CopyFS(filepath.Dir(bad.out()), os.DirFS(filepath.Dir(good.out()))); err != nil {
				t.Fatal(err)
			}
			prepare(&bad)
			bad.note("delivered")
			out, err := good.publish()
			if err == nil || !strings.HasPrefix(out, bad.job+": refused: ") || strings.Contains(out, "Traceback") ||
				!strings.Contains(out, good.job+": published refs/heads/feat/x\n") || good.queued() != bad.job+".refused" {
				t.Errorf("%v: %s%s", err, out, good.queued())
			}
		})
	}
}

// TestJudged: what is published is what changes.patch says, which is what the gate judged, unless the operator wants
// the rest as well.
func TestJudged(t *testing.T) {
	first := newBench(t)
	const differs = "its commits are not what changes.patch makes of "
	for name, tt := range map[string]struct {
		why     string
		prepare func(b *bench)
	}{
		"a commit more than the patch": {differs, func(b *bench) {
			b.commit("four")
			b.bundle("feat/x", "--not", "main")
		}},
		"a patch of something else": {"git apply: ", func(b *bench) {
			b.bundle("feat/x", "--not", "main")
			b.patch("main~0", "main")
			b.file("out/changes.patch", "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n")
		}},
		"a file that is no text": {"git apply: ", func(b *bench) {
			if err := os.WriteFile(filepath.Join(b.dir, "binary"), []byte("\x00\x01"), 0o644); err != nil {
				t.Fatal(err)
			}
			b.commit("four")
			b.patch("main", "feat/x")
			b.bundle("feat/x", "--not", "main")
		}},
		// Nobody judged what the last commit no longer has, and whoever fetches the branch gets it.
		"a commit that another one takes back": {"not all of its commit ", func(b *bench) {
			b.commit("smuggled")
			b.git(b.dir, "rm", "-q", "smuggled")
			b.git(b.dir, "commit", "-q", "-m", "fix: nothing")
			b.bundle("feat/x", "--not", "main")
		}},
		"a history from elsewhere": {"not all of its commit ", func(b *bench) {
			b.git(b.dir, "checkout", "-q", "--orphan", "other")
			b.commit("smuggled")
			b.git(b.dir, "checkout", "-q", "feat/x")
			b.git(b.dir, "merge", "-q", "--allow-unrelated-histories", "-s", "ours", "-m", "fix: merge", "other")
			b.bundle("feat/x", "--not", "main")
		}},
		"two branches": {"it has 2 branches, and changes.patch tells of one", func(b *bench) {
			b.git(b.dir, "branch", "feat/y", "feat/x~1")
			b.bundle("feat/x", "feat/y", "--not", "main")
		}},
		"no patch": {"there is no changes.patch", func(b *bench) {
			b.bundle("feat/x", "--not", "main")
			if err := os.Remove(filepath.Join(b.out(), "changes.patch")); err != nil {
				t.Fatal(err)
			}
		}},
		"a patch that nobody declared": {"changes.patch was no output of the request", func(b *bench) {
			b.bundle("feat/x", "--not", "main")
			b.file("admission.json", `{"request":{"Outputs":[{"path":"/out/notes.md"}]}}`)
		}},
		// Merged, it would take back what main has since.
		"a merge that takes back": {"its commits begin at 2 commits of the repository, and changes.patch at one", func(b *bench) {
			b.git(b.dir, "checkout", "-q", "main")
			b.commit("fix")
			b.git(b.bare, "fetch", "-q", b.dir, "main:main")
			b.git(b.dir, "checkout", "-q", "feat/x")
			b.git(b.dir, "merge", "-q", "-s", "ours", "-m", "fix: merge", "main")
			b.bundle("feat/x", "--not", "main")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := first.copy(t)
			b.t = t
			tt.prepare(b)
			b.refused(tt.why)
			if out, err := b.run("--unjudged"); err != nil || !strings.HasPrefix(out, b.job+": published refs/heads/feat/x") {
				t.Errorf("though it is allowed: %v: %s", err, out)
			}
		})
	}
	b := first.copy(t)
	b.t = t
	b.bundle("feat/x", "--not", "main")
	b.git(b.dir, "checkout", "-q", "main")
	b.commit("meanwhile") // what the branch forked from is still the base
	b.git(b.bare, "fetch", "-q", b.dir, "main:main")
	if out, err := b.run(); err != nil {
		t.Errorf("main has moved on: %v: %s", err, out)
	}
}
