package outtree_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/outtree"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func paths(tree outtree.Tree) []string {
	var p []string
	for _, f := range tree.Files {
		p = append(p, f.Path)
	}
	return p
}

func reasons(tree outtree.Tree) string {
	var b strings.Builder
	for _, r := range tree.Refused {
		fmt.Fprintf(&b, "%s: %s\n", r.Path, r.Reason)
	}
	return b.String()
}

var wide = outtree.Bounds{Bytes: 1 << 20, Files: 1000}

// checkCopied proves that every file is there, bytes and hash agreeing.
func checkCopied(t *testing.T, dst string, tree outtree.Tree) {
	t.Helper()
	for _, f := range tree.Files {
		path := filepath.Join(dst, f.Path)
		data, err := os.ReadFile(path)
		must(t, err)
		sum := sha256.Sum256(data)
		if int64(len(data)) != f.Size || hex.EncodeToString(sum[:]) != f.SHA256 {
			t.Errorf("%s: size or hash is not that of the copy", f.Path)
		}
		if st, err := os.Lstat(path); err != nil || st.Mode() != 0o640 {
			t.Errorf("%s: mode %v, %v", f.Path, st.Mode(), err)
		}
	}
	n := 0
	err := filepath.WalkDir(dst, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if !errors.Is(err, os.ErrNotExist) || len(tree.Files) > 0 { // without files there is no folder
		must(t, err)
	}
	if n != len(tree.Files) {
		t.Errorf("%d files lie in the copy, %d are listed", n, len(tree.Files))
	}
}

func TestCopy(t *testing.T) {
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "out")
	put(t, filepath.Join(src, "b.txt"), "b")
	put(t, filepath.Join(src, "a/deep/x.bin"), "\x00\xff")
	put(t, filepath.Join(src, "ünïcode ✓.txt"), "u")
	put(t, filepath.Join(src, "empty"), "")
	must(t, os.Mkdir(filepath.Join(src, "nothing in here"), 0o755))
	for range 2 { // the second replaces the first
		tree, err := outtree.Copy(src, dst, wide)
		must(t, err)
		if want := []string{"a/deep/x.bin", "b.txt", "empty", "ünïcode ✓.txt"}; !slices.Equal(paths(tree), want) ||
			len(tree.Refused) != 0 {
			t.Errorf("files %v, refused %v", paths(tree), tree.Refused)
		}
		checkCopied(t, dst, tree)
		if _, err := os.Stat(filepath.Join(dst, "nothing in here")); err == nil {
			t.Error("an empty folder was made")
		}
		put(t, filepath.Join(dst, "stale"), "of an earlier copy")
	}
}

func TestHostileEntries(t *testing.T) {
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "out")
	secret := filepath.Join(t.TempDir(), "secret")
	put(t, secret, "host secret")
	must(t, os.Symlink(secret, filepath.Join(src, "link")))
	must(t, os.Symlink(filepath.Dir(secret), filepath.Join(src, "dirlink")))
	must(t, os.Symlink("/dev/zero", filepath.Join(src, "zero")))
	must(t, os.Symlink("loop", filepath.Join(src, "loop")))
	must(t, unix.Mkfifo(filepath.Join(src, "fifo"), 0o644))
	must(t, unix.Mknod(filepath.Join(src, "device"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))))
	put(t, filepath.Join(src, "bad\xff\xfe"), "x")
	put(t, filepath.Join(src, "esc\x1b[2J"), "x")
	put(t, filepath.Join(src, "line\nbreak"), "x")
	put(t, filepath.Join(src, "rtl\u202etxt.exe"), "x")
	put(t, filepath.Join(src, "zero\u200bwidth"), "x")
	put(t, filepath.Join(src, "badfolder\x01", "inner"), "x")
	put(t, filepath.Join(src, strings.Repeat("d/", outtree.MaxDepth+3)+"deep"), "x")
	must(t, os.Mkdir(filepath.Join(src, "mnt"), 0o755))
	must(t, unix.Mount("t", filepath.Join(src, "mnt"), "tmpfs", 0, ""))
	defer unix.Unmount(filepath.Join(src, "mnt"), unix.MNT_DETACH)
	put(t, filepath.Join(src, "mnt", "inside"), "x")
	put(t, filepath.Join(src, "good"), "g")

	tree, err := outtree.Copy(src, dst, wide)
	must(t, err)
	if !slices.Equal(paths(tree), []string{"good"}) {
		t.Errorf("files %v", paths(tree))
	}
	checkCopied(t, dst, tree)
	got := reasons(tree)
	for _, want := range []string{
		`"link": is a symbolic link`, `"dirlink": is a symbolic link`, `"zero": is a symbolic link`,
		`"loop": is a symbolic link`,
		`"fifo": is a named pipe`, `"device": is a device`, `"bad\xff\xfe": name is not valid UTF-8`,
		`"esc\x1b[2J": name holds the invisible character U+001B`,
		`"line\nbreak": name holds the invisible character U+000A`,
		`"rtl\u202etxt.exe": name holds the invisible character U+202E`,
		`"zero\u200bwidth": name holds`, `"badfolder\x01": name holds`, `nested deeper than`,
		`"mnt": changed while it was read`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %s in\n%s", want, got)
		}
	}
	for _, r := range tree.Refused {
		for _, c := range []byte(r.Path) {
			if c < ' ' || c > '~' {
				t.Errorf("a refused path is shown raw: %q", r.Path)
			}
		}
	}
}

func TestBounds(t *testing.T) {
	src := t.TempDir()
	for i := range 20 {
		put(t, filepath.Join(src, fmt.Sprintf("f%02d", i)), strings.Repeat("x", 100))
	}
	dst := filepath.Join(t.TempDir(), "out")
	tree, err := outtree.Copy(src, dst, outtree.Bounds{Bytes: 550, Files: 1000})
	must(t, err)
	if len(tree.Files) != 5 || len(tree.Refused) != 15 ||
		!strings.Contains(reasons(tree), "its 100 bytes are more than the limit") {
		t.Errorf("bytes: %d files\n%s", len(tree.Files), reasons(tree))
	}
	tree, err = outtree.Copy(src, dst, outtree.Bounds{Bytes: 1 << 20, Files: 7})
	must(t, err)
	if len(tree.Files) != 7 || len(tree.Refused) != 13 ||
		!strings.Contains(reasons(tree), "more files than the limit") {
		t.Errorf("files: %d files\n%s", len(tree.Files), reasons(tree))
	}
	checkCopied(t, dst, tree)

	// A file that claims to be huge must not be read to its end.
	f, err := os.Create(filepath.Join(src, "sparse"))
	must(t, err)
	must(t, f.Truncate(1<<42))
	must(t, f.Close())
	tree, err = outtree.Copy(src, dst, wide)
	must(t, err)
	if len(tree.Files) != 20 || !strings.Contains(reasons(tree), `"sparse": its 4398046511104 bytes`) {
		t.Errorf("sparse: %d files\n%s", len(tree.Files), reasons(tree))
	}

	// Hard links are one file each, and count each time.
	hard := t.TempDir()
	put(t, filepath.Join(hard, "one"), strings.Repeat("y", 400))
	for i := range 3 {
		must(t, os.Link(filepath.Join(hard, "one"), filepath.Join(hard, fmt.Sprintf("two%d", i))))
	}
	tree, err = outtree.Copy(hard, dst, outtree.Bounds{Bytes: 1000, Files: 100})
	must(t, err)
	if len(tree.Files) != 2 || len(tree.Refused) != 2 {
		t.Errorf("hard links: %v\n%s", paths(tree), reasons(tree))
	}
}

func TestLongList(t *testing.T) {
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "out")
	for i := range outtree.MaxRefused + 50 {
		must(t, os.Symlink("x", filepath.Join(src, fmt.Sprintf("%03d%s", i, strings.Repeat("l", 240)))))
	}
	must(t, os.Mkdir(dst, 0o700))
	tree, err := outtree.Copy(src, dst, wide)
	must(t, err)
	if _, err := os.Lstat(dst); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing was copied, and there is a folder for it: %v", err)
	}
	if len(tree.Refused) != outtree.MaxRefused+1 || !strings.Contains(tree.Refused[outtree.MaxRefused].Reason, "50 more") {
		t.Errorf("%d refused, last %v", len(tree.Refused), tree.Refused[len(tree.Refused)-1])
	}
	if n := len(tree.Refused[0].Path); n > 210 {
		t.Errorf("a refused path of %d bytes", n)
	}
}

// Somebody swaps files for links, pipes and folders while they are read: what
// is copied must be files of this tree all the same.
func TestSwappedWhileRead(t *testing.T) {
	src := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	put(t, secret, "host secret")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			for j := range 8 {
				path := filepath.Join(src, fmt.Sprint("f", j))
				os.RemoveAll(path)
				switch (i + j) % 5 {
				case 0:
					os.WriteFile(path, []byte("harmless"), 0o644)
				case 1:
					os.Symlink(secret, path)
				case 2:
					unix.Mkfifo(path, 0o644)
				case 3:
					os.Symlink(filepath.Dir(secret), path)
				case 4:
					os.Mkdir(path, 0o755)
					os.Symlink(secret, filepath.Join(path, "secret"))
				}
			}
		}
	}()
	dst := filepath.Join(t.TempDir(), "out")
	for range 500 {
		tree, err := outtree.Copy(src, dst, wide)
		must(t, err)
		checkCopied(t, dst, tree)
		for _, f := range tree.Files {
			data, err := os.ReadFile(filepath.Join(dst, f.Path))
			must(t, err)
			if !bytes.HasPrefix([]byte("harmless"), data) {
				t.Fatalf("%s holds %q", f.Path, data)
			}
		}
	}
	close(stop)
	wg.Wait()
}

// Somebody makes files longer and shorter while they are read: what is copied is
// within the bounds, and its hash is that of the copy.
func TestGrowsWhileRead(t *testing.T) {
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "out")
	bounds := outtree.Bounds{Bytes: 256 << 10, Files: 4}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		f, err := os.Create(filepath.Join(src, "grows"))
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		for piece := make([]byte, 32<<10); ; {
			select {
			case <-stop:
				return
			default:
			}
			_ = f.Truncate(0)
			for at := range int64(3 * bounds.Bytes / int64(len(piece))) {
				_, _ = f.WriteAt(piece, at*int64(len(piece)))
			}
		}
	})
	copied, refused := 0, 0
	for n := 0; n < 300 || copied == 0 || refused == 0; n++ {
		tree, err := outtree.Copy(src, dst, bounds)
		must(t, err)
		checkCopied(t, dst, tree)
		for _, f := range tree.Files {
			if f.Size > bounds.Bytes {
				t.Fatalf("%d bytes were copied, %d are allowed", f.Size, bounds.Bytes)
			}
		}
		copied, refused = copied+len(tree.Files), refused+len(tree.Refused)
	}
	close(stop)
	wg.Wait()
}

func TestCopyStream(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	put(t, src, "0123456789")
	for _, tt := range []struct {
		limit int64
		want  string
	}{{100, "0123456789"}, {4, "0123"}, {0, ""}} {
		s, err := outtree.CopyStream(src, dst, tt.limit)
		must(t, err)
		sum := sha256.Sum256([]byte(tt.want))
		want := executors.Stream{Total: int64(len(tt.want)), Kept: int64(len(tt.want)),
			SHA256: hex.EncodeToString(sum[:])}
		if data, _ := os.ReadFile(dst); string(data) != tt.want || s != want {
			t.Errorf("limit %d: %q, %+v", tt.limit, data, s)
		}
	}
	if s, err := outtree.CopyStream(filepath.Join(dir, "none"), dst, 10); err != nil || s.Kept != 0 {
		t.Errorf("a stream that is not there: %+v, %v", s, err)
	}
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	if _, err := outtree.CopyStream(filepath.Join(dir, "link"), dst, 10); err == nil {
		t.Error("a link was followed")
	}
}
