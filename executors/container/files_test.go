package container

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// What is written is read back whole, whatever its size and the umask, and nothing of an
// earlier file or of the making is left.
func TestFilesOfABox(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	for _, size := range []int{100_000, 0, 1, 2047, 2048, 2049, 4096, 5000} {
		want := bytes.Repeat([]byte("x"), size)
		must(t, "write", writeFile(path, want, 0o644))
		if got, err := readFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %d were read, %v", size, len(got), err)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("its mode: %v, %v", st.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := readFile(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file that is not there:", err)
	}
	must(t, "link", os.Symlink(path, path+".link"))
	if _, err := readFile(path + ".link"); !errors.Is(err, unix.ELOOP) {
		t.Error("a link was followed:", err)
	}
	must(t, "grow", os.Truncate(path, job.MaxFileBytes+1))
	if data, err := readFile(path); err == nil {
		t.Errorf("%d bytes were read of a file that is too large", len(data))
	}
}
