package toolruntime

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/git"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// calls is one call of each tool that has an effect, if it can have one.
var calls = map[string]string{
	"fs_list":      `{"glob":"**"}`,
	"fs_move":      `{"src":"a.go","dst":"b.go"}`,
	"fs_copy":      `{"src":"folder","dst":"copy"}`,
	"fs_delete":    `{"path":"folder","recursive":true}`,
	"file_read":    `{"path":"a.go"}`,
	"file_write":   `{"path":"x/y.go","content":"package y\n","create_dirs":true}`,
	"file_patch":   `{"path":"a.go","unified_diff":"--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,3 @@\n package a\n+\n func F() {}\n"}`,
	"grep":         `{"pattern":"func"}`,
	"proc_list":    `{}`,
	"shell_exec":   `{"cmd":"true"}`,
	"curl":         `{"url":"https://example.invalid/"}`,
	"git_status":   `{}`,
	"git_diff":     `{}`,
	"git_add":      `{"paths":["new"]}`,
	"git_commit":   `{"message":"feat: staged"}`,
	"git_checkout": `{"target":"fix/it"}`,
	"git_merge":    `{"branch":"origin/fix/it"}`,
	"git_rebase":   `{"onto":"origin/fix/it"}`,
	"git_push":     `{"refspec":"HEAD:refs/heads/feat/x"}`,
	"git_pull":     `{"remote":"upstream"}`,
	"validate":     `{}`,
	"ast_generate": `{"paths":["**/*.go"]}`,
	"ast_query":    `{"where":{"type":"fn"}}`,
	"ast_validate": `{"rules":[{"id":"x","enforcement":"warning","where":{"type":"fn"}}]}`,
	"ast_edit": `{"operation":"replace_node","where":{"type":"fn","name_like":"F","file_glob":"a.go"},` +
		`"text":"func G() {}"}`,
	"ast_external": `{"provider":"none","request":{"method":"textDocument/hover"}}`,
	"emit_metrics": `{}`,
}

// site is a workspace with a repository, of which calls can change everything.
type site struct {
	t       *testing.T
	dir     string
	git     string
	out     string
	session *Session
	record  bytes.Buffer
}

// bundles are the repository and what others did, made once.
var bundles = sync.OnceValues(func() (dir string, err error) {
	dir, err = os.MkdirTemp("", "bundles-")
	if err != nil {
		return "", err
	}
	script := `set -e
git init -q -b main src && cd src
printf 'package a\nfunc F() {}\n' > a.go; mkdir folder
for i in 1 2 3 4 5 6 7 8; do echo $i > folder/$i; done
git add -A && git commit -q -m 'feat: base'
git checkout -q -b fix/it && echo it > it && git add -A && git commit -q -m 'fix: it' && git checkout -q main
git bundle create -q ../repository.bundle --all HEAD
git checkout -q -b up && echo up > up && git add -A && git commit -q -m 'feat: up' && git branch -q -f main up && git checkout -q main
git bundle create -q ../upstream.bundle HEAD main`
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.org",
		"GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return dir, err
})

func newSite(t *testing.T, more ...contract.Tool) *site {
	t.Helper()
	in, err := bundles()
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: t.TempDir(), git: t.TempDir(), out: t.TempDir()}
	w, err := workspace.Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	repo, err := git.Import(t.Context(), w, s.git, filepath.Join(in, "repository.bundle"))
	if err != nil {
		t.Fatal(err)
	}
	repo.Out = s.out
	rules, err := registry.Parse([]byte("version: 1\nshell_allow: ['^true$', '^sleep ']\ngit: {allow_push: true, " +
		"require_clean_tree_for_commit: false}\nvalidators: [{rule: code.todo.blockers, enforcement: blocking}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	s.session = session(Options{Timeline: &s.record}, append(Tools(w, repo, rules), more...)...)
	return s
}

// prepare brings the workspace to where the call of a tool has something to do.
func (s *site) prepare(tool string) {
	s.t.Helper()
	todo := map[string][][2]string{
		"git_add": {{"file_write", `{"path":"new","content":"x\n"}`}},
		"git_commit": {{"file_write", `{"path":"new","content":"x\n"}`},
			{"git_add", `{"paths":["new"]}`}},
	}[tool]
	if tool == "git_merge" || tool == "git_rebase" || tool == "git_push" || tool == "git_pull" {
		todo = [][2]string{{"file_write", `{"path":"new","content":"x\n"}`}, {"git_add", `{"paths":["new"]}`},
			{"git_commit", `{"message":"feat: ours"}`}}
	}
	for i, c := range todo {
		want(s.t, c[0], s.session.Do(s.t.Context(), request(fmt.Sprint("prepare", i), c[0], c[1])), "")
	}
	s.record.Reset()
}

// state is all that a call can change: files, the index, references and pushes.
func (s *site) state() string {
	s.t.Helper()
	s.session.Close()
	var all strings.Builder
	for _, dir := range []string{s.dir, s.out} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				var data []byte
				data, err = os.ReadFile(path)
				fmt.Fprintf(&all, "%s %x\n", path, sha256.Sum256(data))
			} else {
				fmt.Fprintln(&all, path)
			}
			return err
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"for-each-ref", "refs/heads", "refs/remotes/origin"}, {"symbolic-ref", "-q", "HEAD"},
		{"ls-files", "--stage"}, {"status", "--porcelain"}} {
		cmd := exec.Command("git", append([]string{"--git-dir", s.git, "--work-tree", s.dir}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			s.t.Fatalf("git %v: %v: %s", args, err, out)
		}
		all.Write(out)
	}
	err := filepath.WalkDir(s.git, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			s.t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all.String()
}

// countdown is a context that is cancelled when it is asked for the n-th time whether it is over.
type countdown struct {
	context.Context
	mu     sync.Mutex
	left   int
	cancel context.CancelFunc
	why    error
}

func (c *countdown) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left == 0 {
		c.cancel()
	}
}

func (c *countdown) Err() error {
	if c.tick(); c.Context.Err() != nil {
		return c.why
	}
	return nil
}
func (c *countdown) Done() <-chan struct{} { c.tick(); return c.Context.Done() }

// Value hides the context within, whose end is no end of its time.
func (c *countdown) Value(any) any { return nil }

// TestCancelledAtWork cancels each tool's call, or lets its time be over, at one place of its work after the other. It has
// either done all of it and is OK in the timeline, or nothing and is E_TIMEOUT there.
func TestCancelledAtWork(t *testing.T) {
	for i, tool := range slices.Concat(Contracts(), Contracts()) {
		why, says := context.Canceled, "was cancelled"
		if i >= len(Contracts()) {
			why, says = context.DeadlineExceeded, "took longer"
		}
		t.Run(tool.Name, func(t *testing.T) {
			t.Parallel()
			at, whole := 0, false
			for ; !whole && at < 60; at += 1 + at/8 {
				s := newSite(t)
				s.prepare(tool.Name)
				before := s.state()
				base, cancel := context.WithCancel(t.Context())
				ctx := &countdown{Context: base, left: at + 1, cancel: cancel, why: why}
				resp := s.session.Do(ctx, request("call", tool.Name, calls[tool.Name]))
				cancelled := base.Err() != nil
				cancel()
				after := s.state()
				entries, err := contract.ParseTimeline(s.record.Bytes())
				if err != nil || len(entries) != 1 {
					t.Fatalf("at %d: %d entries, %v", at, len(entries), err)
				}
				code := entries[0].Code
				ended := code == contract.CodeOK || tool.Name == "curl" && code == string(contract.Policy) ||
					tool.Name == "ast_external" && code == string(contract.Policy)
				if code == string(contract.Timeout) && !strings.Contains(resp.Errors[0].Message, says) {
					t.Fatalf("at %d: %v", at, resp.Errors)
				}
				if code == string(contract.Timeout) && (after != before || !cancelled) {
					t.Fatalf("at %d: it was cancelled (%v), and changed\n%s\nto\n%s", at, resp.Errors, before, after)
				}
				if code != string(contract.Timeout) && !ended {
					t.Fatalf("at %d: %s %v", at, code, resp.Errors)
				}
				whole = ended && !cancelled
			}
			if !whole {
				t.Errorf("after %d places it was still cancelled", at)
			}
		})
	}
}

// TestCancelledWhileItWaits: a call that waits for another one that writes ends with its time, and writes nothing, as does
// one that comes too late. Tools that only read do not wait.
func TestCancelledWhileItWaits(t *testing.T) {
	inside, free := make(chan bool), make(chan bool)
	busy := contract.NewTool("busy", "test", time.Hour, struct{}{}, func(context.Context, struct{}) (result, error) {
		inside <- true
		<-free
		return result{true}, nil
	})
	s := newSite(t, busy)
	before := s.state()
	go s.session.Do(t.Context(), request("busy", "busy", `{}`))
	<-inside
	for i, over := range []string{"was cancelled", "took longer"} {
		for _, tool := range Contracts() {
			ctx, cancel := context.WithCancel(t.Context())
			if i == 1 {
				ctx, cancel = context.WithDeadline(t.Context(), time.Unix(0, 0))
			}
			cancel()
			resp := s.session.Do(ctx, request(fmt.Sprint(tool.Name, i), tool.Name, calls[tool.Name]))
			want(t, tool.Name, resp, contract.Timeout)
			if len(resp.Errors) > 0 && !strings.Contains(resp.Errors[0].Message, over) {
				t.Errorf("%s: %v", tool.Name, resp.Errors)
			}
		}
	}
	close(free)
	if after := s.state(); after != before {
		t.Errorf("changed\n%s\nto\n%s", before, after)
	}
}

// TestFilesTouched: the metrics count each file that a call wrote, moved, copied, deleted or checked out, once.
func TestFilesTouched(t *testing.T) {
	more := map[string]float64{"fs_move": 2, "fs_copy": 8, "fs_delete": 1, "file_write": 1, "file_patch": 1,
		"git_checkout": 1, "git_merge": 1, "git_rebase": 1, "git_pull": 1, "ast_edit": 1}
	for _, tool := range Contracts() {
		s := newSite(t)
		s.prepare(tool.Name)
		metric := func() float64 {
			s.session.mu.Lock()
			defer s.session.mu.Unlock()
			return s.session.metrics(time.Time{})["files_touched"]
		}
		before := metric()
		s.session.Do(t.Context(), request("call", tool.Name, calls[tool.Name]))
		if got := metric() - before; got != more[tool.Name] {
			t.Errorf("%s touched %v files, not %v", tool.Name, got, more[tool.Name])
		}
	}
}
