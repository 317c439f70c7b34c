package containerd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	containerdclient "github.com/containerd/containerd/v2/client"
)

// What is removed is the folder of one task, and what can't be seen is not taken for gone.
func TestRemoveRemains(t *testing.T) {
	state := t.TempDir()
	c := &Client{Client: &containerdclient.Client{}, private: &daemon{cfg: Private{State: state}}}
	tasks := filepath.Join(state, "io.containerd.runtime.v2.task")
	for _, id := range []string{"one", "other"} {
		must(t, os.MkdirAll(filepath.Join(tasks, id, "rootfs"), 0o700))
	}
	for _, id := range []string{"", ".", "..", "one/", "one/rootfs", "/one", "../" + filepath.Base(tasks)} {
		if err := c.RemoveRemains(id); err == nil {
			t.Errorf("%q is taken for an id", id)
		}
	}
	must(t, c.RemoveRemains("one"))
	must(t, c.RemoveRemains("one"))
	if left, err := os.ReadDir(tasks); err != nil || len(left) != 1 || left[0].Name() != "other" {
		t.Errorf("left are %v, %v", left, err)
	}
	must(t, os.RemoveAll(tasks))
	must(t, os.WriteFile(tasks, nil, 0o600)) // no folder can be seen in it
	if err := c.RemoveRemains("other"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what can't be seen: %v", err)
	}
}
