package image_test

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/threegate/tool-exec/executors/image"
)

func TestPrograms(t *testing.T) {
	program := func(name string) file {
		return file{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755}, "x"}
	}
	root := []file{link("bin", "usr/bin"), program("usr/bin/python3.11"), link("usr/bin/python3", "python3.11"),
		link("usr/bin/python", "/bin/python3"), reg("usr/bin/README", "x"), link("usr/bin/gone", "nowhere"),
		link("usr/bin/loop", "loop"), link("usr/bin/a", "b"), link("usr/bin/b", "a"), dir("usr/bin/folder"),
		program("usr/bin/sub/deep"), program("usr/sbin/admin"), link("usr/bin/up", "../sbin/admin"),
		{tar.Header{Name: "usr/bin/hard", Typeflag: tar.TypeLink, Linkname: "usr/bin/python3.11"}, ""},
		program("opt/tool"), program("usr/bin/two words")}
	for _, c := range []struct {
		name string
		env  []string
		want []string
	}{
		{"default", nil, []string{"hard", "python", "python3", "python3.11", "up"}},
		{"of the image", []string{"A=b", "PATH=/opt:/bin:/none:relative"},
			[]string{"hard", "python", "python3", "python3.11", "tool", "up"}},
		{"none", []string{"PATH="}, nil},
	} {
		l := t.TempDir()
		digest := mustPack(t, writeTar(t, root...), "x", image.Config{Env: c.env}, l)
		got, known, err := image.Programs(l, digest)
		if err != nil || !known || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, known %v, %v; want %v", c.name, got, known, err, c.want)
		}
	}
	if _, _, err := image.Programs(t.TempDir(), "sha256:"+string(make([]byte, 64))); err == nil {
		t.Error("no digest is no error")
	}
	l := t.TempDir()
	mustPack(t, writeTar(t, root...), "x", image.Config{}, l)
	digest := "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	if _, _, err := image.Programs(l, digest); !errors.Is(err, image.ErrNotFound) {
		t.Errorf("an image that is not there: %v", err)
	}
}

// An image that another program made says nothing of its programs.
func TestProgramsNotKnown(t *testing.T) {
	dir := t.TempDir()
	blob := func(v any) map[string]any {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(data))
		folder := filepath.Join(dir, "blobs", "sha256")
		if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, sum), data, 0o644)); err != nil {
			t.Fatal(err)
		}
		return map[string]any{"digest": "sha256:" + sum, "size": len(data)}
	}
	config := blob(map[string]any{"architecture": "amd64"})
	manifest := blob(map[string]any{"schemaVersion": 2, "config": config, "layers": []any{config},
		"mediaType": "application/vnd.oci.image.manifest.v1+json"})
	if got, known, err := image.Programs(dir, manifest["digest"].(string)); err != nil || known || len(got) > 0 {
		t.Errorf("%v, known %v, %v", got, known, err)
	}
}
