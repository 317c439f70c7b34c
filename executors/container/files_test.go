package container

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/spool/durable"
)

// What is written is read back whole, whatever its size and the umask, and nothing of an
// earlier file or of the making is left.
func TestFilesOfABox(t *testing.T) {
	b := runDir(t.TempDir())
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	for _, size := range []int{100_000, 0, 1, 5000} {
		want := string(bytes.Repeat([]byte("x"), size))
		data, err := json.Marshal(want)
		must(t, "encode", err)
		must(t, "write", writeFile(b.path("file"), data, 0o644))
		var got string
		if err := b.read("file", &got); err != nil || got != want {
			t.Errorf("%d bytes: %d were read, %v", size, len(got), err)
		}
	}
	if st, err := os.Stat(b.path("file")); err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("its mode: %v, %v", st.Mode(), err)
	}
	if left, err := os.ReadDir(b.path()); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	var v any
	if err := b.read("none", &v); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file that is not there:", err)
	}
	must(t, "link", os.Symlink(b.path("file"), b.path("link")))
	if err := b.read("link", &v); !errors.Is(err, durable.ErrNotRegular) {
		t.Error("a link was followed:", err)
	}
	must(t, "grow", os.Truncate(b.path("file"), job.MaxFileBytes+1))
	if data, err := b.readText("file", job.MaxFileBytes); err != nil || len(data) != job.MaxFileBytes {
		t.Errorf("%d bytes were read of a file that is too large, %v", len(data), err)
	}
}
