package seal

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sealed is a folder with hostile things in raw/, and the digest of its list.
func sealed(t *testing.T, sound bool) (dir, digest string) {
	t.Helper()
	dir = t.TempDir()
	raw := filepath.Join(dir, "raw")
	must(t, os.MkdirAll(filepath.Join(raw, "inputs", "empty"), 0o700))
	write(t, filepath.Join(dir, "job.json"), "{}")
	write(t, filepath.Join(raw, "request.md"), "words")
	write(t, filepath.Join(raw, "inputs", "a\nb\xff\x1b[2J"), "words")
	must(t, unix.Mkfifo(filepath.Join(raw, "inputs", "fifo"), 0o600))
	must(t, os.Symlink("/dev/zero", filepath.Join(raw, "inputs", "link")))
	must(t, os.Link(filepath.Join(raw, "request.md"), filepath.Join(t.TempDir(), "other")))
	return dir, again(t, dir, sound)
}

func again(t *testing.T, dir string, sound bool) string {
	t.Helper()
	list, digest, err := Make(dir, sound)
	must(t, err)
	write(t, filepath.Join(dir, File), string(list))
	return digest
}

func write(t *testing.T, path, data string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(data), 0o600))
}

// one wants exactly one break.
func one(t *testing.T, dir, digest, path, what string) Break {
	t.Helper()
	broken, err := Check(dir, digest)
	if err != nil || len(broken) != 1 || broken[0].Path != path || !strings.Contains(broken[0].What, what) {
		t.Fatalf("%+v, %v; want %q: %q", broken, err, path, what)
	}
	return broken[0]
}

func whole(t *testing.T, dir, digest string) {
	t.Helper()
	if broken, err := Check(dir, digest); err != nil || len(broken) > 0 {
		t.Fatalf("%+v, %v", broken, err)
	}
}

func TestHostileFolders(t *testing.T) {
	for _, sound := range []bool{true, false} {
		dir, digest := sealed(t, sound)
		whole(t, dir, digest)
		if again(t, dir, sound) != digest {
			t.Error("the same folder has another seal")
		}
		if !one2(t, dir, digest, "raw/request.md").Shared { // it has a second name
			t.Error("that somebody else can write to it is not said")
		}
		one2(t, dir, digest, "raw/inputs/a\nb\xff\x1b[2J")
		fifo := filepath.Join(dir, "raw/inputs/fifo")
		must(t, errors.Join(os.Remove(fifo), os.Symlink("/dev/zero", fifo)))
		one(t, dir, digest, "raw/inputs/fifo", "it was neither a file nor a link and is not now")
		must(t, errors.Join(os.Remove(fifo), unix.Mkfifo(fifo, 0o600)))
		one2(t, dir, digest, "job.json")
	}
}

// one2 changes a file of the folder, wants that to be named, and takes it back.
func one2(t *testing.T, dir, digest, path string) Break {
	t.Helper()
	file := filepath.Join(dir, path)
	was, err := os.ReadFile(file)
	must(t, err)
	write(t, file, strings.ToUpper(string(was))+"x")
	b := one(t, dir, digest, path, "bytes")
	write(t, file, string(was))
	whole(t, dir, digest)
	return b
}

// A folder that became a link is not followed.
func TestNothingIsFollowed(t *testing.T) {
	dir, digest := sealed(t, true)
	raw, elsewhere := filepath.Join(dir, "raw"), filepath.Join(t.TempDir(), "raw")
	must(t, errors.Join(os.Rename(raw, elsewhere), os.Symlink(elsewhere, raw)))
	broken, err := Check(dir, digest)
	if err != nil || len(broken) != 5 { // all that was below, and the link
		t.Errorf("%+v, %v", broken, err)
	}
}

// To whoever may not read what came out of an inbox that is said, and not that it was changed.
func TestWhatMayNotBeRead(t *testing.T) {
	dir, digest := sealed(t, true)
	must(t, errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(filepath.Join(dir, "job.json"), 0o644),
		os.Chmod(filepath.Join(dir, File), 0o644)))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	was, err := unix.SetfsuidRetUid(65534)
	must(t, err)
	broken, err := Check(dir, digest)
	if _, back := unix.SetfsuidRetUid(was); back != nil {
		t.Fatal(back)
	}
	if err != nil || len(broken) != 4 {
		t.Fatalf("%+v, %v", broken, err)
	}
	for _, b := range broken {
		if !b.Unread || !strings.HasPrefix(b.Path, "raw/") {
			t.Errorf("%+v", b)
		}
	}
}

// Of what nobody bounded only so much is read; its size is sealed all the same.
func TestLargeFilesAreReadInPart(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "large"), "0123456789")
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	left := int64(4)
	e, err := hostile(root, "large", &left)
	must(t, err)
	if e.Hashed == nil || *e.Hashed != 4 || e.Size != 10 || left != 0 {
		t.Errorf("%+v, %d left", e, left)
	}
	for data, want := range map[string]string{"0123xxxxxx": "", "x123456789": "sha256", "0123": "bytes"} {
		write(t, filepath.Join(dir, "large"), data)
		if what, err := e.differs(root, "large"); err != nil || (what == "") != (want == "") ||
			!strings.Contains(what, want) {
			t.Errorf("%s: %q, %v", data, what, err)
		}
	}
}

// The list itself is no way around: it must be the one on record.
func TestTheListItself(t *testing.T) {
	dir, digest := sealed(t, true)
	path := filepath.Join(dir, File)
	list, err := os.ReadFile(path)
	must(t, err)

	write(t, path, string(list)+"\n")
	one(t, dir, digest, File, "all else is as it was sealed")
	must(t, os.Remove(path))
	one(t, dir, digest, File, "is gone; all else")

	write(t, filepath.Join(dir, "job.json"), "{x}")
	one(t, dir, digest, File, "what else can't be told")
	again(t, dir, true) // a list that fits
	one(t, dir, digest, File, "was changed")
	write(t, path, string(list))
	one(t, dir, digest, "job.json", "bytes")

	// Without a record the list is all there is.
	one(t, dir, "", "job.json", "bytes")
	for _, bad := range []string{"", "{}", `{"version":1,"job":"x","entries":[{"path":"../x","size":1}]}`} {
		write(t, path, bad)
		one(t, dir, "", File, "")
	}
}
