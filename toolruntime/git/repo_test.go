package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// bench is a workspace with its repository.
type bench struct {
	t    *testing.T
	dir  string
	repo *Repo
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	b := &bench{t: t, dir: t.TempDir()}
	for name, content := range files {
		b.write(name, content)
	}
	w, err := workspace.Open(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	if b.repo, err = Begin(t.Context(), w, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) write(name, content string) {
	b.t.Helper()
	name = filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// changes returns the patch, and which files it does not hold.
func (b *bench) changes() (string, string) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "changes.patch")
	binary, err := b.repo.Changes(b.t.Context(), file)
	if err != nil {
		b.t.Fatal(err)
	}
	patch, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(patch), fmt.Sprint(binary)
}

// plain runs git in a folder as a person would, and returns its output.
func plain(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := plainly(dir, args...)
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func plainly(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir), "GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email,
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + email, "GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date,
		"GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "GIT_MERGE_AUTOEDIT=no"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (b *bench) try(args ...string) error {
	_, err := plainly(b.dir, args...)
	return err
}

// state is everything that a person could see: references, HEAD, the index and the work tree.
func (b *bench) state(gitDir string) string {
	b.t.Helper()
	var all string
	for _, args := range [][]string{{"for-each-ref"}, {"ls-files", "-s"}, {"status", "--porcelain", "-uall"}, {"diff"}} {
		all += plain(b.t, b.dir, append([]string{"--git-dir", gitDir, "--work-tree", b.dir}, args...)...)
	}
	head, err := os.ReadFile(filepath.Join(gitDir, "HEAD"))
	if err != nil {
		b.t.Fatal(err)
	}
	return all + string(head)
}

const date = "2026-02-09T12:00:00Z"

func TestChangesArePlainGits(t *testing.T) {
	begin := map[string]string{"a.txt": "one\ntwo\n", "gone": "x\n", "moved": "1\n2\n3\n4\n5\n", ".gitignore": "*.tmp\nkept\n",
		"kept": "as it came\n", "crlf": "a\r\nb\r\n", "latin1": "caf\xe9\n", "dir with space/-dash": "x\n"}
	b := newBench(t, begin)
	reference := t.TempDir()
	if err := os.CopyFS(reference, os.DirFS(b.dir)); err != nil {
		t.Fatal(err)
	}
	plain(t, reference, "init", "-q", "-b", "main")
	plain(t, reference, "add", "-A", "-f")
	plain(t, reference, "commit", "-q", "-m", "begin")
	change := func(dir string) {
		for name, content := range map[string]string{"a.txt": "one\n2\n", "new/file": "n\n", "x.tmp": "ignored\n",
			"kept": "changed\n", "crlf": "a\r\nc\r\n", "latin1": "th\xe9\n", "new\nline": "x\n", "dir with space/-dash": "y\n"} {
			(&bench{t: t, dir: dir}).write(name, content)
		}
		if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "moved"), filepath.Join(dir, "moved to")); err != nil {
			t.Fatal(err)
		}
	}
	change(b.dir)
	change(reference)
	plain(t, reference, "add", "-A")
	want := plain(t, reference, "diff", "--cached", "HEAD")
	got, binary := b.changes()
	if got != want || binary != "[]" {
		t.Errorf("changes.patch is\n%s\n%s, git's is\n%s", got, binary, want)
	}
	if strings.Contains(got, "x.tmp") || !strings.Contains(got, "rename to moved to") {
		t.Error("the test does not test what it should")
	}
	if again, _ := b.changes(); again != got {
		t.Error("a second patch differs")
	}
}

// TestChangesOfHostileFiles: what a .gitattributes or .gitmodules says has no effect, links are not followed.
func TestChangesOfHostileFiles(t *testing.T) {
	b := newBench(t, map[string]string{".gitattributes": "* -diff filter=evil diff=evil text eol=crlf merge=evil\n",
		".gitmodules": "[submodule \"x\"]\n\tpath = sub\n\turl = ext::touch evil\n\tupdate = !touch evil\n", "a": "1\n"})
	b.write("a", "2\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	b.write("bin", "\x00\x01")
	patch, binary := b.changes()
	if !strings.Contains(patch, "-1\n+2\n") || !strings.Contains(patch, "+/etc/passwd\n") || binary != "[bin]" {
		t.Errorf("binary files %s, changes.patch is\n%s", binary, patch)
	}
}
