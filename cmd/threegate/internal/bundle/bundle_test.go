package bundle

import (
	"context"
	"errors"
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

var wide = Limits{Files: 10, Bytes: 1 << 20}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// entries lists everything below dir, hidden things too.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, p); rel != "." {
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func hashed(t *testing.T, dir string) []File {
	t.Helper()
	files, err := Folder(dir, wide)
	if err == nil {
		err = Hash(t.Context(), files, wide)
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestPutPlacesEverythingAndNothingElse(t *testing.T) {
	in, inbox := t.TempDir(), t.TempDir()
	write(t, in, map[string]string{"a.txt": "hello", "a/b.txt": "deep", "z": ""})
	b := Bundle{ID: "TR-x", Request: []byte("request"), Signature: []byte("sig"), Files: hashed(t, in)}
	p, err := Put(t.Context(), inbox, b, wide)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"TR-x.inputs", "TR-x.inputs/a", "TR-x.inputs/a/b.txt", "TR-x.inputs/a.txt", "TR-x.inputs/z",
		"TR-x.md", "TR-x.md.sig"}
	if got := entries(t, inbox); !slices.Equal(got, want) {
		t.Errorf("inbox holds %q, want %q", got, want)
	}
	if p.Request != filepath.Join(inbox, "TR-x.md") {
		t.Errorf("placed %+v", p)
	}
	if _, err := Put(t.Context(), inbox, b, wide); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	if got := entries(t, inbox); !slices.Equal(got, want) {
		t.Errorf("the second attempt changed the inbox: %q", got)
	}
}

// TestPutTakesBackWhatItPutDown fails at each step in turn.
func TestPutTakesBackWhatItPutDown(t *testing.T) {
	in := t.TempDir()
	write(t, in, map[string]string{"a": "hello"})
	files := hashed(t, in)
	changed := slices.Clone(files)
	changed[0].SHA256 = "0000"
	gone := slices.Clone(files)
	gone[0].Rel = "nope"
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		b     Bundle
		l     Limits
		setup map[string]string
		want  error
	}{
		"changed input":  {t.Context(), Bundle{ID: "TR-x", Files: changed}, wide, nil, ErrChanged},
		"vanished input": {t.Context(), Bundle{ID: "TR-x", Files: gone}, wide, nil, fs.ErrNotExist},
		"too large": {t.Context(), Bundle{ID: "TR-x", Files: files}, Limits{Files: 1, Bytes: 4}, nil,
			ErrTooMuch},
		"other inputs": {t.Context(), Bundle{ID: "TR-x", Files: files}, wide,
			map[string]string{"TR-x.inputs/a": "other"}, fs.ErrExist},
		"request is there": {t.Context(), Bundle{ID: "TR-x", Files: files}, wide, map[string]string{"TR-x.md": "other"},
			fs.ErrExist},
		"cancelled": {cancelled, Bundle{ID: "TR-x", Files: files, Signature: []byte("s")}, wide, nil,
			context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			inbox := t.TempDir()
			write(t, inbox, c.setup)
			before := entries(t, inbox)
			if _, err := Put(c.ctx, inbox, c.b, c.l); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if after := entries(t, inbox); !slices.Equal(before, after) {
				t.Errorf("left behind: %q, before %q", after, before)
			}
		})
	}
}

func TestPutGoesOnAfterAnAttemptThatBrokeOff(t *testing.T) {
	in, inbox := t.TempDir(), t.TempDir()
	write(t, in, map[string]string{"a": "hello", "b/c": "x"})
	write(t, inbox, map[string]string{"TR-x.inputs/a": "hello", "TR-x.inputs/b/c": "x", "TR-x.md.sig": "old"})
	p, err := Put(t.Context(), inbox, Bundle{ID: "TR-x", Request: []byte("r"), Signature: []byte("new"),
		Files: hashed(t, in)}, wide)
	if err != nil {
		t.Fatal(err)
	}
	if sig, err := os.ReadFile(p.Signature); err != nil || string(sig) != "new" {
		t.Errorf("signature %q, %v", sig, err)
	}
}

// TestPutTakesNothingOfAnEarlierApproval: what a killed attempt left must not go with another request.
func TestPutTakesNothingOfAnEarlierApproval(t *testing.T) {
	inbox := t.TempDir()
	write(t, inbox, map[string]string{"TR-x.md.sig": "old", "TR-y.inputs/a": "old"})
	if _, err := Put(t.Context(), inbox, Bundle{ID: "TR-x", Request: []byte("r")}, wide); err != nil {
		t.Fatal(err)
	}
	if _, err := Put(t.Context(), inbox, Bundle{ID: "TR-y", Request: []byte("r")}, wide); !errors.Is(err, fs.ErrExist) {
		t.Errorf("with inputs of another request: %v", err)
	}
	if got, want := entries(t, inbox), []string{"TR-x.md", "TR-y.inputs", "TR-y.inputs/a"}; !slices.Equal(got, want) {
		t.Errorf("the inbox holds %q, want %q", got, want)
	}
}

func TestInputsThatAreNoFiles(t *testing.T) {
	for name, make := range map[string]func(string) error{
		"link": func(p string) error { return os.Symlink("/etc/passwd", p) },
		"pipe": func(p string) error { return unix.Mkfifo(p, 0o644) },
	} {
		dir := t.TempDir()
		if err := make(filepath.Join(dir, "x")); err != nil {
			t.Fatal(err)
		}
		if _, err := Folder(dir, wide); !errors.Is(err, durable.ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Named([]string{"/dev/zero"}, wide); !errors.Is(err, durable.ErrNotRegular) {
		t.Errorf("device: %v", err)
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"a/x": "", "b/x": "", "1": "", "2": ""})
	if _, err := Named([]string{filepath.Join(dir, "a/x"), filepath.Join(dir, "b/x")}, wide); err == nil {
		t.Error("two files of one name were taken")
	}
	if _, err := Folder(dir, Limits{Files: 3, Bytes: 10}); !errors.Is(err, ErrTooMuch) {
		t.Errorf("too many: %v", err)
	}
	if files, err := Folder(filepath.Join(dir, "none"), wide); err != nil || files != nil {
		t.Errorf("no folder: %v, %v", files, err)
	}
}

func TestInFolder(t *testing.T) {
	for p, want := range map[string]bool{"/in/a": true, "/in/a/b": true, "/in/": false, "/in": false, "/in/../x": false,
		"/in/a/../b": false, "/out/a": false, "/in//a": false, "/in/..": false, "/in/..a": true} {
		if _, got := InFolder(p); got != want {
			t.Errorf("InFolder(%q) = %v", p, got)
		}
	}
}

// TestLinksPutThereLater swaps what was listed for links, as its owner could.
func TestLinksPutThereLater(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "sub")
	write(t, secret, map[string]string{"x": "host"})
	for name, swap := range map[string]func(dir string) error{
		"file": func(dir string) error {
			p := filepath.Join(dir, "sub/x")
			return errors.Join(os.Remove(p), os.Symlink(filepath.Join(secret, "x"), p))
		},
		"folder": func(dir string) error {
			p := filepath.Join(dir, "sub")
			return errors.Join(os.RemoveAll(p), os.Symlink(secret, p))
		},
		"all": func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.Symlink(filepath.Dir(secret), dir))
		},
	} {
		dir := filepath.Join(t.TempDir(), "TR-x.inputs")
		write(t, dir, map[string]string{"sub/x": "mine"})
		files, err := Folder(dir, wide)
		if err == nil {
			err = swap(dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := Hash(t.Context(), files, wide); !errors.Is(err, durable.ErrNotRegular) {
			t.Errorf("%s: got %v, and the hash %q", name, err, files[0].SHA256)
		}
	}
}

func TestAFolderThatIsALink(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"real/x": "host"})
	link := filepath.Join(dir, "TR-x.inputs")
	if err := os.Symlink(filepath.Join(dir, "real"), link); err != nil {
		t.Fatal(err)
	}
	if files, err := Folder(link, wide); !errors.Is(err, durable.ErrNotRegular) {
		t.Errorf("listed %v, %v", files, err)
	}
	// A person may name a folder by a link.
	if files, err := Named([]string{link}, wide); err != nil || len(files) != 1 {
		t.Errorf("named: %v, %v", files, err)
	}
}

func TestReadIsOfWhatWasHashed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"x": "0123456789"})
	f := hashed(t, dir)[0]
	var got strings.Builder
	if err := Read(t.Context(), f, &got); err != nil || got.String() != "0123456789" {
		t.Errorf("%q, %v", got.String(), err)
	}
	for _, other := range []string{"0123456780", "0123", "0123456789+"} {
		write(t, dir, map[string]string{"x": other})
		if err := Read(t.Context(), f, io.Discard); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", other, err)
		}
	}
}

// A file that lies nowhere is hashed and copied like any other.
func TestFileInMemory(t *testing.T) {
	dir := t.TempDir()
	files := []File{{Rel: "a/b.txt", Data: []byte("hello")}}
	if err := Hash(t.Context(), files, wide); err != nil {
		t.Fatal(err)
	}
	if err := CopyFolder(t.Context(), dir, "x.inputs", files, wide); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "x.inputs/a/b.txt"))
	if err != nil || string(got) != "hello" || files[0].Size != 5 {
		t.Errorf("%q, %+v, %v", got, files[0], err)
	}
}
