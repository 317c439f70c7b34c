package bundle

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/spool/durable"
)

// swapper is a requester who owns the folder that is written to: at the first byte
// of a copy the folder in the making is moved away, and a link leads elsewhere.
type swapper struct {
	context.Context
	t           *testing.T
	dir, victim string
	done        bool
}

// Err is called before each part of a file is read.
func (s *swapper) Err() error {
	if s.done {
		return nil
	}
	s.done = true
	found, err := filepath.Glob(filepath.Join(s.dir, ".*.tmp"))
	if err != nil || len(found) != 1 {
		s.t.Fatalf("in the making: %v, %v", found, err)
	}
	if err := errors.Join(os.Rename(found[0], found[0]+".away"), os.Symlink(s.victim, found[0])); err != nil {
		s.t.Fatal(err)
	}
	return nil
}

func TestCopyFolderIsNotLedElsewhere(t *testing.T) {
	in, dir, victim := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, in, map[string]string{"a": "first", "b": "second", "c/d": "third"})
	err := CopyFolder(&swapper{Context: t.Context(), t: t, dir: dir, victim: victim}, dir, "TR-x.inputs", hashed(t, in),
		wide)
	if got := entries(t, victim); len(got) != 0 {
		t.Errorf("written elsewhere: %q", got)
	}
	if err == nil {
		t.Error("it claims to have copied it")
	}
	if _, err := os.Lstat(filepath.Join(dir, "TR-x.inputs")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something took its name: %v", err)
	}
}

// A place stays the folder that was opened, whatever its path leads to later.
func TestPlaceIsPinned(t *testing.T) {
	base := t.TempDir()
	dir, victim := filepath.Join(base, "requests"), filepath.Join(base, "victim")
	write(t, dir, map[string]string{"TR-x.md": "as it was", "TR-x.md.sig": "old"})
	write(t, victim, map[string]string{"TR-x.md": "precious", "TR-x.md.sig": "precious"})
	p, err := OpenPlace(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := errors.Join(os.Rename(dir, dir+".away"), os.Symlink(victim, dir)); err != nil {
		t.Fatal(err)
	}
	if data, err := p.Read("TR-x.md", 100); err != nil || string(data) != "as it was" {
		t.Errorf("read %q, %v", data, err)
	}
	if err := p.WriteFile("TR-x.md", []byte("approved"), 0o640, true); err != nil {
		t.Error(err)
	}
	if err := p.Remove("TR-x.md.sig"); err != nil {
		t.Error(err)
	}
	if err := p.WriteFile("TR-x.md", nil, 0o640, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("written over: %v", err)
	}
	for _, name := range []string{"TR-x.md", "TR-x.md.sig"} {
		if data, err := os.ReadFile(filepath.Join(victim, name)); err != nil || string(data) != "precious" {
			t.Errorf("%s elsewhere: %q, %v", name, data, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir+".away", "TR-x.md")); err != nil || string(data) != "approved" {
		t.Errorf("%q, %v", data, err)
	}
	if got := strings.Join(entries(t, dir+".away"), " "); got != "TR-x.md" {
		t.Errorf("left: %s", got)
	}
}

// Nothing is read or replaced through a link, and no name leads out.
func TestPlaceFollowsNothing(t *testing.T) {
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	write(t, filepath.Dir(victim), map[string]string{"victim": "precious"})
	if err := os.Symlink(victim, filepath.Join(dir, "TR-x.md")); err != nil {
		t.Fatal(err)
	}
	p, err := OpenPlace(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Read("TR-x.md", 100); !errors.Is(err, durable.ErrNotRegular) {
		t.Errorf("read a link: %v", err)
	}
	for _, name := range []string{"", ".", "..", "../x", "a/b"} {
		if err := p.WriteFile(name, nil, 0o640, true); err == nil {
			t.Errorf("wrote %q", name)
		}
		if _, err := p.Read(name, 1); err == nil {
			t.Errorf("read %q", name)
		}
	}
	if err := p.WriteFile("TR-x.md", []byte("new"), 0o640, true); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(victim); err != nil || string(data) != "precious" {
		t.Errorf("%q, %v", data, err)
	}
	if fi, err := os.Lstat(filepath.Join(dir, "TR-x.md")); err != nil || fi.Mode() != 0o640 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
}

// A gate takes what appears in its inbox away at once: that is no failure.
func TestWhatIsTakenAtOnceWasWritten(t *testing.T) {
	dir := t.TempDir()
	stop, stopped := make(chan bool), make(chan int)
	go func() {
		taken := 0
		for {
			select {
			case <-stop:
				stopped <- taken
				return
			default:
			}
			if os.Remove(filepath.Join(dir, "TR-x.md")) == nil {
				taken++
			}
		}
	}()
	const times = 300
	for range times {
		if err := WriteFile(dir, "TR-x.md", []byte("request"), 0o640, true); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	if taken := <-stopped; taken == 0 {
		t.Error("nothing was taken")
	}
}
