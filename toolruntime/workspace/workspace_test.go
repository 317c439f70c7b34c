package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

func code(err error) contract.Code {
	var e *contract.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func open(t *testing.T, dir string) *Workspace {
	t.Helper()
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{"a": "a", "./a//b/": "a/b", "a/../b": "b", ".": ".", "..a": "..a", ".gitignore": ".gitignore"} {
		if got, err := Clean(in); err != nil || got != want {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "/", "/etc/passwd", "..", "../x", "a/../../x", "a\x00b", "a\nb", "\xff", ".git", ".git/config", "git~1/config", "GIT~1",
		".git.", ".git /x", ".git. ./x", ".git:x", ".git::$INDEX_ALLOCATION/x", "a\\.git\\x", ".g\u200cit/x", "\ufeff.GIT/x",
		"sub/.GIT/hooks/x", strings.Repeat("a/", 3000)} {
		if got, err := Clean(in); code(err) != contract.Policy {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
}

// TestNothingOutside tries every operation through links and prefixes that leave the workspace,
// also through a folder whose name begins like the workspace's (CVE-2025-53110).
func TestNothingOutside(t *testing.T) {
	top := t.TempDir()
	dir, out := filepath.Join(top, "work"), filepath.Join(top, "work-secret")
	write(t, filepath.Join(dir, "own"), "own")
	write(t, filepath.Join(out, "secret"), "secret")
	link(t, out, filepath.Join(dir, "abs"))
	link(t, "../work-secret", filepath.Join(dir, "rel"))
	link(t, "../work-secret/secret", filepath.Join(dir, "file"))
	link(t, "/etc/passwd", filepath.Join(dir, "passwd"))
	link(t, "loop", filepath.Join(dir, "loop"))
	w := open(t, dir)
	for _, p := range []string{"abs/secret", "rel/secret", "file", "passwd", "loop", "loop/x", "../work-secret/secret", out + "/secret"} {
		if data, _, err := w.Read(p, MaxFile); err == nil {
			t.Errorf("read %q: %q", p, data)
		}
		if err := w.Write(t.Context(), p, []byte("x"), 0, true); err == nil {
			t.Errorf("wrote %q", p)
		}
		if err := w.Copy(t.Context(), p, "copy", false, true); err == nil {
			t.Errorf("copied %q", p)
		}
		if err := w.Copy(t.Context(), "own", p+"/new", false, true); err == nil {
			t.Errorf("copied to %q/new", p)
		}
		if err := w.Move(t.Context(), "own", p+"/new", true); err == nil {
			t.Errorf("moved to %q/new", p)
		}
	}
	for _, p := range []string{"abs/secret", "rel/secret", "../work-secret", out} {
		if err := w.Move(t.Context(), p, "moved", false); code(err) != contract.Policy {
			t.Errorf("moved %q: %v", p, err)
		}
		if err := w.Delete(t.Context(), p, true, true); code(err) != contract.Policy {
			t.Errorf("deleted %q: %v", p, err)
		}
	}
	// A link itself can be deleted; what it points to stays.
	if err := w.Delete(t.Context(), "abs", true, false); err != nil {
		t.Error(err)
	}
	if err := w.Write(t.Context(), "rel", []byte("x"), 0, false); code(err) != contract.Policy {
		t.Errorf("wrote over a link: %v", err)
	}
	got, err := os.ReadFile(filepath.Join(out, "secret"))
	if entries, e := os.ReadDir(out); e != nil || len(entries) != 1 || err != nil || string(got) != "secret" {
		t.Errorf("outside: %q, %v, %v", got, entries, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "own")); string(got) != "own" {
		t.Errorf("own: %q, %v", got, err)
	}
}

// TestLinksInside shows what os.Root alone would follow.
func TestLinksInside(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "real/a"), "a")
	link(t, "real", filepath.Join(dir, "dir"))
	link(t, "real/a", filepath.Join(dir, "file"))
	w := open(t, dir)
	for _, p := range []string{"dir/a", "file"} {
		if _, _, err := w.Read(p, MaxFile); code(err) != contract.Policy {
			t.Errorf("%q: %v", p, err)
		}
	}
	if err := w.Delete(t.Context(), "dir/a", false, false); code(err) != contract.Policy {
		t.Errorf("deleted through a link: %v", err)
	}
	if err := w.Move(t.Context(), "file", "moved", false); err != nil {
		t.Error(err)
	}
	if to, err := os.Readlink(filepath.Join(dir, "moved")); to != "real/a" {
		t.Errorf("the link was not moved as it is: %q, %v", to, err)
	}
}

func TestSpecialFilesDoNotBlock(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a"), "a")
	w := open(t, dir)
	_, _, err := w.Read("fifo", MaxFile)
	for name, err := range map[string]error{"read": err, "write": w.Write(t.Context(), "fifo", nil, 0, false), "copy": w.Copy(t.Context(), "fifo", "b", false, true),
		"read a folder": func() error { _, _, err := w.Read(".", 1); return err }()} {
		if code(err) != contract.FileIO {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMoveAndCopyReplaceNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "a")
	write(t, filepath.Join(dir, "b"), "b")
	write(t, filepath.Join(dir, "d/e"), "e")
	w := open(t, dir)
	for name, err := range map[string]error{
		"move over a file": w.Move(t.Context(), "a", "b", false), "copy over a file": w.Copy(t.Context(), "a", "b", false, true),
		"move over a folder": w.Move(t.Context(), "a", "d", true), "copy over a folder": w.Copy(t.Context(), "a", "d", true, true),
		"into itself": w.Move(t.Context(), "d", "d/f", false), "copy into itself": w.Copy(t.Context(), "d", "d/f", false, true),
		"onto its parent": w.Move(t.Context(), "d/e", "d", true), "onto itself": w.Move(t.Context(), "a", "./a", true),
		"the workspace": w.Move(t.Context(), ".", "x", false), "to the workspace": w.Move(t.Context(), "a", ".", true),
		"what is not there": w.Move(t.Context(), "none", "x", false), "to no folder": w.Move(t.Context(), "a", "none/x", false),
		"delete the workspace": w.Delete(t.Context(), ".", true, true), "delete a folder": w.Delete(t.Context(), "d", false, true),
		"delete nothing": w.Delete(t.Context(), "none", false, false),
	} {
		if code(err) != contract.FileIO {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What the kernel itself refuses, if the name appears after it was looked at.
	if err := w.rename("a", "b", false); code(err) != contract.FileIO {
		t.Errorf("renamed over a file: %v", err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "b")); string(got) != "b" {
		t.Errorf("b holds %q", got)
	}
	for name, err := range map[string]error{"overwrite": w.Move(t.Context(), "a", "b", true), "folder": w.Copy(t.Context(), "d", "e", false, true)} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "e/e")); string(got) != "e" {
		t.Errorf("e/e holds %q", got)
	}
	if err := w.Delete(t.Context(), "none", false, true); err != nil {
		t.Error(err)
	}
}

// TestCopyOfATreeWithALink leaves nothing behind.
func TestCopyOfATreeWithALink(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "d/a"), "a")
	link(t, "/etc", filepath.Join(dir, "d/z"))
	w := open(t, dir)
	if err := w.Copy(t.Context(), "d", "c", false, true); code(err) != contract.FileIO {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestWriteKeepsOrSetsTheMode(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir)
	name := filepath.Join(dir, "sub/run")
	mode := func() fs.FileMode {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	if err := w.Write(t.Context(), "sub/run", nil, 0, false); code(err) != contract.FileIO {
		t.Errorf("made a folder: %v", err)
	}
	for _, step := range []struct{ set, want fs.FileMode }{{0, 0o644}, {0o755, 0o755}, {0, 0o755}} {
		if err := w.Write(t.Context(), "sub/run", []byte("x"), step.set, true); err != nil || mode() != step.want {
			t.Errorf("set %o: got %o, %v", step.set, mode(), err)
		}
	}
	if err := w.Copy(t.Context(), "sub/run", "plain", false, false); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "plain")); err != nil || info.Mode().Perm()&0o111 != 0 {
		t.Errorf("copied without its mode: %v, %v", info.Mode(), err)
	}
}

func TestReadIsBounded(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "big"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "big"), 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, _, err := open(t, dir).Read("big", 1000); code(err) != contract.FileIO {
		t.Errorf("got %v", err)
	}
}
