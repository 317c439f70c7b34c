package spool_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool"
)

func newPublisher(t *testing.T) (*spool.Publisher, string) {
	t.Helper()
	dir := t.TempDir()
	p, err := spool.NewPublisher(dir)
	mustNot(t, err)
	return p, dir
}

func source(t *testing.T, text string) spool.Artifact {
	t.Helper()
	p := filepath.Join(t.TempDir(), "source")
	mustNot(t, os.WriteFile(p, []byte(text), 0o600))
	return spool.Artifact{RelPath: "out/a.txt", SourcePath: p, SHA256: sum(text)}
}

func TestDelivery(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	p, dir := newPublisher(t)
	a := source(t, "artifact")
	for range 2 { // staging again is the same as staging once
		mustNot(t, p.Stage("TS-a.md", []byte("result"), []spool.Artifact{a}))
		if seen, err := filepath.Glob(filepath.Join(dir, "*.md")); err != nil || len(seen) > 0 {
			t.Fatalf("visible before the commit: %v, %v", seen, err)
		}
	}
	for range 2 {
		mustNot(t, p.Commit("TS-a.md", ""))
	}
	for path, want := range map[string]fs.FileMode{"TS-a.md": 0o640, "TS-a.artifacts": 0o750 | fs.ModeDir,
		"TS-a.artifacts/out": 0o750 | fs.ModeDir, "TS-a.artifacts/out/a.txt": 0o640} {
		if fi, err := os.Lstat(filepath.Join(dir, path)); err != nil || fi.Mode() != want {
			t.Errorf("%s has mode %v, want %v (%v)", path, fi.Mode(), want, err)
		}
	}
	if err := p.Discard("TS-a.md"); !errors.Is(err, spool.ErrConflict) {
		t.Errorf("a delivered result was discarded: %v", err)
	}
	// CORE takes it away: it does not come back.
	mustNot(t, os.Remove(p.ResultPath("TS-a.md")))
	mustNot(t, p.Commit("TS-a.md", ""))
	if es, err := os.ReadDir(dir); err != nil || len(es) != 1 {
		t.Errorf("left: %v, %v", es, err)
	}
}

func TestDeliveryNeverOverwrites(t *testing.T) {
	a := source(t, "artifact")
	for name, prepare := range map[string]func(dir string){
		"another result": func(dir string) {
			mustNot(t, os.WriteFile(filepath.Join(dir, "TS-a.md"), []byte("first"), 0o600))
		},
		"a longer result": func(dir string) {
			mustNot(t, os.WriteFile(filepath.Join(dir, "TS-a.md"), []byte("result and more"), 0o600))
		},
		"a FIFO": func(dir string) { mustNot(t, syscall.Mkfifo(filepath.Join(dir, "TS-a.md"), 0o600)) },
		"a symlink": func(dir string) {
			mustNot(t, os.Symlink("/etc/passwd", filepath.Join(dir, "TS-a.md")))
		},
		"a folder": func(dir string) { mustNot(t, os.Mkdir(filepath.Join(dir, "TS-a.md"), 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			p, dir := newPublisher(t)
			prepare(dir)
			before, _ := os.Lstat(filepath.Join(dir, "TS-a.md"))
			wantErr(t, p.Stage("TS-a.md", []byte("result"), []spool.Artifact{a}), spool.ErrConflict)
			after, _ := os.Lstat(filepath.Join(dir, "TS-a.md"))
			if before != nil && !os.SameFile(before, after) {
				t.Error("it was replaced")
			}
		})
	}
	t.Run("appeared since", func(t *testing.T) {
		p, dir := newPublisher(t)
		mustNot(t, p.Stage("TS-a.md", []byte("result"), nil))
		mustNot(t, os.WriteFile(filepath.Join(dir, "TS-a.md"), []byte("first!"), 0o600))
		wantErr(t, p.Commit("TS-a.md", ""), spool.ErrConflict)
		if data, err := os.ReadFile(filepath.Join(dir, "TS-a.md")); err != nil || string(data) != "first!" {
			t.Errorf("it was replaced: %q, %v", data, err)
		}
	})
}

func TestDeliveryRefuses(t *testing.T) {
	good := source(t, "artifact")
	wrong := good
	wrong.SHA256 = sum("something else")
	link := good
	link.SourcePath = filepath.Join(t.TempDir(), "link")
	mustNot(t, os.Symlink(good.SourcePath, link.SourcePath))
	fifo := good
	fifo.SourcePath = filepath.Join(t.TempDir(), "fifo")
	mustNot(t, syscall.Mkfifo(fifo.SourcePath, 0o600))
	at := func(path string) spool.Artifact { a := good; a.RelPath = path; return a }
	for name, as := range map[string][]spool.Artifact{
		"wrong digest": {wrong}, "symlink": {link}, "FIFO": {fifo}, "twice": {good, good},
		"above": {at("../x")}, "absolute": {at("/x")}, "the folder": {at(".")}, "no name": {at("")},
		"one below the other": {at("x"), at("x/y")}, "name too long": {at(strings.Repeat("x", 256))},
	} {
		p, dir := newPublisher(t)
		if err := p.Stage("TS-a.md", []byte("result"), as); err == nil {
			t.Errorf("%s: staged", name)
		}
		if es, err := os.ReadDir(dir); err != nil || len(es) > 0 {
			t.Errorf("%s: left %v, %v", name, es, err)
		}
	}
	p, _ := newPublisher(t)
	for _, name := range []string{"", "TS-a", "TR-a.md", "TS-../a.md", "TS-a/b.md", "TS-a..b.md", ".TS-a.md",
		"TS-\n.md", "TS-" + strings.Repeat("x", 230) + ".md"} {
		if err := p.Stage(name, nil, nil); err == nil {
			t.Errorf("%q: staged", name)
		}
		if err := p.Commit(name, ""); err == nil {
			t.Errorf("%q: committed", name)
		}
	}
}

func TestDiscardRemovesWhatWasStaged(t *testing.T) {
	p, dir := newPublisher(t)
	mustNot(t, p.Stage("TS-a.md", []byte("result"), []spool.Artifact{source(t, "x")}))
	mustNot(t, p.Discard("TS-a.md"))
	if es, err := os.ReadDir(dir); err != nil || len(es) > 0 {
		t.Errorf("left %v, %v", es, err)
	}
}

// TestAnUnmountedFolderGetsNothing: once CORE's folder was a mount, what lies
// below the mount point is not CORE's folder.
func TestAnUnmountedFolderGetsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "core")
	mustNot(t, os.Mkdir(dir, 0o750))
	mount := func() { mustNot(t, unix.Mount("none", dir, "tmpfs", 0, "size=1m")) }
	mount()
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	p, err := spool.NewPublisher(dir)
	mustNot(t, err)
	mustNot(t, p.Stage("TS-x.md", []byte("x"), nil))
	mustNot(t, unix.Unmount(dir, 0))
	for name, f := range map[string]func() error{
		"Stage":   func() error { return p.Stage("TS-x.md", []byte("x"), nil) },
		"Commit":  func() error { return p.Commit("TS-x.md", "") },
		"Discard": func() error { return p.Discard("TS-x.md") },
	} {
		if err := f(); !errors.Is(err, spool.ErrAway) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if es, err := os.ReadDir(dir); err != nil || len(es) > 0 {
		t.Errorf("put below the mount point: %v, %v", es, err)
	}
	mount()
	mustNot(t, p.Stage("TS-x.md", []byte("x"), nil))
	mustNot(t, p.Commit("TS-x.md", ""))
}

// TestDeliveryBelongsToCore: what CORE gets has its owner, group and modes before it appears.
func TestDeliveryBelongsToCore(t *testing.T) {
	const uid, gid = 4711, 4712
	p, dir := newPublisher(t)
	p.Access = spool.Access{UID: uid, GID: gid, Mode: 0o460}
	mustNot(t, p.Stage("TS-a.md", []byte("result"), []spool.Artifact{source(t, "artifact")}))
	mustNot(t, p.Commit("TS-a.md", ""))
	node := t.TempDir()
	mustNot(t, spool.Init(node))
	o := spool.NewOutbox(node, dir)
	o.Access = p.Access
	mustNot(t, o.Put("TN-a.json", []byte("{}")))
	mustNot(t, o.Deliver())
	for path, want := range map[string]fs.FileMode{"TS-a.md": 0o460, "TS-a.artifacts": 0o570 | fs.ModeDir,
		"TS-a.artifacts/out": 0o570 | fs.ModeDir, "TS-a.artifacts/out/a.txt": 0o460, "TN-a.json": 0o460} {
		fi, err := os.Lstat(filepath.Join(dir, path))
		mustNot(t, err)
		if st := fi.Sys().(*syscall.Stat_t); fi.Mode() != want || st.Uid != uid || st.Gid != gid {
			t.Errorf("%s is %v of %d:%d, want %v", path, fi.Mode(), st.Uid, st.Gid, want)
		}
	}
}

// TestDeliveryFollowsNoLink: whoever may write to CORE's folder puts a link in the place of the
// artifacts folder while it is filled; nothing is written, given away or removed where it leads.
func TestDeliveryFollowsNoLink(t *testing.T) {
	for _, at := range []string{"publish.artifacts.mkdir", "publish.artifact.create", "publish.artifact.write",
		"publish.artifacts.rename", "publish.artifact.fsync"} {
		p, dir := newPublisher(t)
		p.Access = spool.Access{UID: 4711, GID: 4711, Mode: 0o640}
		outside := t.TempDir()
		mustNot(t, os.MkdirAll(filepath.Join(outside, "out"), 0o755))
		var swapped atomic.Bool // syncs come from several goroutines
		p.Seam = func(s spool.Step, apply func() error) error {
			err := error(nil)
			if s.Op == spool.OpMkdir { // behind it, before it is opened
				err = apply()
			}
			if s.Name == at && swapped.CompareAndSwap(false, true) {
				made, globErr := filepath.Glob(filepath.Join(dir, "*TS-a.artifacts*"))
				mustNot(t, globErr)
				for _, path := range made {
					mustNot(t, os.Rename(path, filepath.Join(dir, "taken")))
					mustNot(t, os.Symlink(outside, path))
				}
			}
			if s.Op == spool.OpMkdir {
				return err
			}
			return apply()
		}
		a := source(t, "artifact")
		a.RelPath = "x.txt"
		b := source(t, "artifact")
		_ = p.Stage("TS-a.md", []byte("result"), []spool.Artifact{a, b}) // that it works is not promised
		if !swapped.Load() {
			t.Errorf("%s: no such step", at)
		}
		fi, err := os.Stat(outside)
		mustNot(t, err)
		es, err := os.ReadDir(filepath.Join(outside, "out"))
		mustNot(t, err)
		top, err := os.ReadDir(outside)
		mustNot(t, err)
		if st := fi.Sys().(*syscall.Stat_t); len(es) > 0 || len(top) != 1 || st.Uid == 4711 {
			t.Errorf("%s: outside are %v, %v, of %d", at, top, es, st.Uid)
		}
	}
}
