package durable_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool/durable"
)

// faulty makes one step fail, before or after it happened, and records all.
type faulty struct {
	at      string // name of the step
	applied bool
	torn    bool
	steps   []string
}

func (f *faulty) seam(s durable.Step, apply func() error) error {
	f.steps = append(f.steps, s.Name)
	if s.Name != f.at {
		return apply()
	}
	if f.torn && s.Torn != nil {
		return errors.Join(unix.EIO, s.Torn())
	}
	if f.applied {
		return errors.Join(unix.EIO, apply())
	}
	return unix.EIO
}

func write(d durable.Disk, dir string, replace bool) error {
	return d.WriteFile("w", dir, "file", []byte("new"), 0o640, replace)
}

func TestWriteFileTakesEveryStep(t *testing.T) {
	f := &faulty{}
	dir := t.TempDir()
	if err := write(durable.Disk{Seam: f.seam}, dir, false); err != nil {
		t.Fatal(err)
	}
	want := []string{"w.create", "w.write", "w.close", "w.fsync", "w.rename", "w.fsyncdir"}
	if !slices.Equal(f.steps, want) {
		t.Errorf("steps %v, want %v", f.steps, want)
	}
	fi, err := os.Stat(filepath.Join(dir, "file"))
	if err != nil || fi.Mode() != 0o640 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	if err := write(durable.Disk{}, dir, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("writing over a file: %v", err)
	}
}

// TestWriteFileFaults has every step of a write fail in each way, and asserts
// what the error promises: without ErrUncertain nothing happened.
func TestWriteFileFaults(t *testing.T) {
	for _, replace := range []bool{false, true} {
		calm := &faulty{}
		if err := write(durable.Disk{Seam: calm.seam}, t.TempDir(), replace); err != nil {
			t.Fatal(err)
		}
		for _, step := range calm.steps {
			for _, f := range []faulty{{at: step}, {at: step, applied: true}, {at: step, torn: true}} {
				name := fmt.Sprintf("replace=%v %s applied=%v torn=%v", replace, step, f.applied, f.torn)
				dir := t.TempDir()
				path := filepath.Join(dir, "file")
				if replace {
					if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				err := write(durable.Disk{Seam: f.seam}, dir, replace)
				got, readErr := os.ReadFile(path)
				there := readErr == nil && string(got) == "new"
				switch {
				case err == nil && !there:
					t.Errorf("%s: no error, but the file is %q", name, got)
				case err != nil && !errors.Is(err, unix.EIO):
					t.Errorf("%s: the error lost its cause: %v", name, err)
				case err != nil && !errors.Is(err, durable.ErrUncertain) && there:
					t.Errorf("%s: %v, but it happened", name, err)
				case readErr == nil && string(got) != "new" && string(got) != "old":
					t.Errorf("%s: the file is %q", name, got)
				case strings.HasSuffix(step, ".fsync") && err == nil, strings.HasSuffix(step, ".fsyncdir") &&
					!errors.Is(err, durable.ErrUncertain):
					t.Errorf("%s: a failed sync was ignored: %v", name, err)
				}
				es, _ := os.ReadDir(dir)
				for _, e := range es {
					if e.Name() != "file" {
						t.Errorf("%s: %s is left", name, e.Name())
					}
				}
			}
		}
	}
}

func TestAStaleTemporaryIsNoHindrance(t *testing.T) {
	dir := t.TempDir()
	tmp := filepath.Join(dir, durable.Temporary("file"))
	if err := os.Symlink("/etc/passwd", tmp); err != nil {
		t.Fatal(err)
	}
	if err := write(durable.Disk{}, dir, false); err != nil {
		t.Fatal(err)
	}
	if !durable.IsTemporary(filepath.Base(tmp)) {
		t.Error("a temporary is not known as one")
	}
}

func TestMoveFindsOutWhatHappened(t *testing.T) {
	for _, applied := range []bool{true, false} {
		dir := t.TempDir()
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		if err := os.WriteFile(a, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f := &faulty{at: "m.rename", applied: applied}
		err := durable.Disk{Seam: f.seam}.Move("m", a, b, false)
		if (err == nil) != applied {
			t.Errorf("applied=%v: %v", applied, err)
		}
		if errors.Is(err, durable.ErrUncertain) {
			t.Errorf("applied=%v: uncertain although both folders could be read", applied)
		}
	}
	// It can't be found out when the folder can't be read.
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := (durable.Disk{}).Move("m", filepath.Join(loop, "x"), filepath.Join(dir, "y"), false); !errors.Is(err,
		durable.ErrUncertain) {
		t.Errorf("an unknown outcome: %v", err)
	}
}

func TestMoveDoesNotOverwrite(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, n), []byte(n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := durable.Disk{}.Rename("m", filepath.Join(dir, "a"), filepath.Join(dir, "b"))
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "b")); err != nil || string(got) != "b" {
		t.Errorf("b is %q, %v", got, err)
	}
	// The loser of a race: the source is gone, and the target is another's.
	err = durable.Disk{}.Move("m", filepath.Join(dir, "gone"), filepath.Join(dir, "b"), false)
	if err == nil {
		t.Error("moving what is not there worked")
	}
}

func TestCopyIsBounded(t *testing.T) {
	for size, fits := range map[int]bool{0: true, 9: true, 10: true, 11: false, 1 << 20: false} {
		p := filepath.Join(t.TempDir(), "copy")
		c, err := durable.Disk{}.Copy("c", p, 0o600, bytes.NewReader(make([]byte, size)), 10)
		_, statErr := os.Stat(p)
		if fits {
			if err != nil || c.Size != int64(size) || len(c.SHA256) != 64 || statErr != nil {
				t.Errorf("%d bytes: %+v, %v", size, c, err)
			}
			continue
		}
		if !errors.Is(err, durable.ErrTooLong) || !errors.Is(statErr, fs.ErrNotExist) {
			t.Errorf("%d bytes: %v, %v", size, err, statErr)
		}
	}
	broken := io.MultiReader(strings.NewReader("abc"), errReader{})
	p := filepath.Join(t.TempDir(), "copy")
	if _, err := (durable.Disk{}).Copy("c", p, 0o600, broken, 10); !errors.Is(err, durable.ErrSource) ||
		!errors.Is(err, unix.ELOOP) {
		t.Errorf("a source that breaks: %v", err)
	}
	if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a copy is left: %v", err)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, unix.ELOOP }

// TestAFailedOpenRemovesNothing: what lies under the name then is somebody else's.
func TestAFailedOpenRemovesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stdout")
	if err := os.WriteFile(path, []byte("output"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &faulty{at: "w.create"}
	if _, err := (durable.Disk{Seam: f.seam}).Copy("w", path, 0o600, strings.NewReader("x"), 10); !errors.Is(err,
		unix.EIO) {
		t.Fatalf("the fault was not told: %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "output" {
		t.Errorf("it left %q, %v", got, err)
	}
}
