//go:build oracles

package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

var commits = flag.Int("patch.commits", 1000, "commits of each repository to replay")

// TestReplay replays the last commits of the repositories that REPLAY_REPO names (separated by spaces), along the
// first parents, one upon the other: patches by file_patch, and what is no patch of text by the tools that are for
// it. After each commit the work tree has git's own tree id. What no tool can do, git does; it is counted.
func TestReplay(t *testing.T) {
	repos := strings.Fields(os.Getenv("REPLAY_REPO"))
	if len(repos) == 0 {
		t.Fatal("REPLAY_REPO names no repository")
	}
	for _, repo := range repos {
		t.Run(filepath.Base(filepath.Dir(repo)), func(t *testing.T) { replay(t, repo) })
	}
}

type replayer struct {
	t          *testing.T
	repo, work string
	env        []string
	tools      map[string]contract.Tool
	count      map[string]int
}

func replay(t *testing.T, repo string) {
	p := &replayer{t: t, repo: repo, work: t.TempDir(), tools: map[string]contract.Tool{}, count: map[string]int{}}
	dir := t.TempDir()
	p.env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_DIR=" + dir, "GIT_WORK_TREE=" + p.work, "HOME=" + dir}
	p.git("init", "-q", "--template=")
	found, err := exec.Command("git", "-C", repo, "rev-parse", "HEAD", "--path-format=absolute", "--git-path", "objects").Output()
	if err != nil {
		t.Fatalf("%s is no repository: %v", repo, err)
	}
	head, objects, _ := strings.Cut(strings.TrimSpace(string(found)), "\n")
	for name, content := range map[string]string{"objects/info/alternates": objects + "\n",
		"info/attributes": "* !text !eol !crlf !ident !filter !working-tree-encoding !diff\n"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Open(p.work)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range Tools(w) {
		p.tools[x.Name] = x
	}
	list := strings.Fields(p.git("rev-list", "--first-parent", fmt.Sprint("--max-count=", *commits+1), "--reverse", head))
	p.git("read-tree", "--reset", "-u", list[0])
	for i := range len(list) - 1 {
		p.commit(list[i], list[i+1])
		p.git("add", "--all", "--force", ".")
		want := strings.TrimSpace(p.git("rev-parse", list[i+1]+"^{tree}"))
		if got := strings.TrimSpace(p.git("write-tree")); got != want {
			t.Fatalf("commit %s: the tree is %s, git's is %s:\n%s", list[i+1], got, want,
				p.git("diff", "--stat", want, got))
		}
	}
	t.Logf("%d commits, each with git's tree", len(list)-1)
	for _, what := range slices.Sorted(maps.Keys(p.count)) {
		t.Logf("%6d %s", p.count[what], what)
	}
}

func (p *replayer) git(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = p.work, p.env
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("git %q: %v\n%s", args, err, said.String())
	}
	return string(out)
}

// call makes a call that must succeed, and counts it.
func (p *replayer) call(name string, args map[string]any) any {
	p.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		p.t.Fatal(err)
	}
	c, err := p.tools[name].Prepare(raw)
	if err != nil {
		p.t.Fatalf("%s %.500s: %v", name, raw, err)
	}
	out, err := c.Run(context.Background())
	if err != nil {
		p.t.Fatalf("%s %.2000s: %v", name, raw, err)
	}
	p.count[name]++
	return out
}

// entry is what a commit does with one path.
type entry struct {
	oldMode, newMode, blob, status string
	old, path                      string // old differs for what was renamed
	patch                          string
}

// plain says whether only plain files are concerned.
func (e entry) plain() bool {
	for _, mode := range []string{e.oldMode, e.newMode} {
		if mode != "000000" && mode != "100644" && mode != "100755" {
			return false
		}
	}
	return true
}

func (p *replayer) entries(from, to string) (out []entry) {
	fields := strings.Split(p.git("diff-tree", "-r", "-M", "--raw", "-z", "--full-index", from, to), "\x00")
	patches := sections(p.git("diff-tree", "-r", "-M", "-p", "--full-index", "--no-textconv", from, to))
	for i := 0; i+1 < len(fields); {
		f := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		e := entry{oldMode: f[0], newMode: f[1], blob: f[3], status: f[4][:1], old: fields[i+1], path: fields[i+1]}
		i += 2
		if e.status == "R" {
			e.path = fields[i]
			i++
		}
		n := 1
		if e.status == "T" { // git writes a deletion and a new file
			n = 2
		}
		if len(patches) < n {
			p.t.Fatalf("%s: git wrote fewer patches than changes", to)
		}
		e.patch, patches = patches[0], patches[n:]
		out = append(out, e)
	}
	if len(patches) > 0 {
		p.t.Fatalf("%s: git wrote more patches than changes", to)
	}
	return out
}

// commit makes the changes of one commit.
func (p *replayer) commit(from, to string) {
	p.t.Helper()
	entries := p.entries(from, to)
	for _, e := range entries {
		if e.status == "D" && e.plain() {
			p.call("fs_delete", map[string]any{"path": e.old})
		}
	}
	aside := func(i int) string { return fmt.Sprint("replay-", i) } // files can change places
	for i, e := range entries {
		if e.status == "R" && e.plain() {
			p.call("fs_move", map[string]any{"src": e.old, "dst": aside(i)})
		}
	}
	for i, e := range entries {
		switch {
		case !e.plain():
			p.byGit(e, "a link, a submodule, or another kind of file")
		case e.status == "R":
			p.makeFolder(e.path)
			p.call("fs_move", map[string]any{"src": aside(i), "dst": e.path})
			p.content(e)
		case e.status != "D":
			p.content(e)
		}
	}
}

func (p *replayer) makeFolder(path string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(p.work, path)), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// content changes what is in a file, and its mode.
func (p *replayer) content(e entry) {
	p.t.Helper()
	lead, hunks, text := strings.Cut(e.patch, "\n@@ ")
	switch {
	case !text && strings.Contains(lead, "\nBinary files "):
		p.byGit(e, "binary")
		return
	case !utf8.ValidString(e.patch):
		p.byGit(e, "not UTF-8, which JSON can't carry")
		return
	case !text && e.oldMode == "000000":
		p.call("file_write", map[string]any{"path": e.path, "content": "", "create_dirs": true,
			"mode_octal": e.newMode[2:]})
		return
	case text && e.oldMode == "000000":
		p.call("file_patch", map[string]any{"path": e.path, "unified_diff": e.patch})
		return
	case text:
		diff := "--- a/" + e.path + "\n+++ b/" + e.path + "\n@@ " + hunks
		p.call("file_patch", map[string]any{"path": e.path, "unified_diff": diff})
	}
	if e.oldMode != e.newMode {
		content := p.call("file_read", map[string]any{"path": e.path, "max_bytes": MaxFile}).(readResult)
		p.call("file_write", map[string]any{"path": e.path, "content": content.Content, "mode_octal": e.newMode[2:]})
	}
}

// byGit takes one path as the commit has it.
func (p *replayer) byGit(e entry, why string) {
	p.t.Helper()
	p.count["by git: "+why]++
	if e.old != e.path || e.newMode == "000000" {
		p.git("rm", "-q", "-r", "--cached", "--ignore-unmatch", "--", e.old)
		if err := os.RemoveAll(filepath.Join(p.work, e.old)); err != nil {
			p.t.Fatal(err)
		}
	}
	if e.newMode == "000000" {
		return
	}
	p.makeFolder(e.path)
	p.git("update-index", "--add", "--replace", "--cacheinfo", e.newMode+","+e.blob+","+e.path)
	p.git("checkout-index", "-f", "--", e.path)
}
