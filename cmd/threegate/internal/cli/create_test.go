package cli_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/executors/image"
	"github.com/threegate/tool-exec/gate/config"
)

// A service may make its node before there are images: they are pinned when they have come,
// unless somebody has changed the configuration.
func TestImagesThatComeLater(t *testing.T) {
	dir := t.TempDir()
	n := cli.NewNode{Name: "host-1", Images: filepath.Join(dir, "images"), Service: true}
	node, mine := filepath.Join(dir, "node"), filepath.Join(dir, "mine")
	for _, d := range []string{node, mine} {
		_, err := cli.CreateNode(d, n)
		must(t, err)
		if _, err := cli.CreateNode(d, n); !errors.Is(err, fs.ErrExist) {
			t.Errorf("made twice: %v", err)
		}
	}
	file := filepath.Join(mine, config.FileName)
	text, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, append(text, "# mine\n"...), 0o640))

	var root bytes.Buffer
	w := tar.NewWriter(&root)
	must(t, w.WriteHeader(&tar.Header{Name: "etc", Typeflag: tar.TypeDir, Mode: 0o755}))
	must(t, w.Close())
	must(t, os.WriteFile(filepath.Join(dir, "root.tar"), root.Bytes(), 0o600))
	digest, err := image.Pack(filepath.Join(dir, "root.tar"), "python", image.Config{}, n.Images)
	must(t, err)

	pinned, err := cli.CreateNode(node, n)
	if err != nil || len(pinned) != 1 {
		t.Fatalf("pinned %v, %v", pinned, err)
	}
	l, err := config.Load(node)
	must(t, err)
	if got := l.Backends.ERA.Languages["python"].Image; got != digest {
		t.Errorf("python is %q, want %s", got, digest)
	}
	if l.Containerd.Address == "" || l.Containerd.Cgroup == config.Default().Containerd.Cgroup {
		t.Errorf("not of a service: %+v", l.Containerd)
	}
	for _, d := range []string{node, mine} {
		if _, err := cli.CreateNode(d, n); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s was changed again: %v", d, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
