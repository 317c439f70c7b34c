package image_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors/image"
)

func names(entries []image.Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestAdd(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "images")
	pack := func(layout, name, text string) string {
		t.Helper()
		digest, err := image.Pack(writeTar(t, dir("etc"), reg("etc/what", text)), name, image.Config{}, layout)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	old := pack(to, "python", "old")
	python, ruby := pack(from, "python", "new"), pack(from, "ruby", "one")
	for i, want := range []string{"python ruby", ""} { // the second time all is there
		added, err := image.Add(t.Context(), from, to)
		if err != nil || names(added) != want {
			t.Errorf("time %d: %v, %v, want %q", i, added, err, want)
		}
	}
	for name, digest := range map[string]string{"python": python, "ruby": ruby} {
		if e, err := image.Find(to, name); err != nil || e.Digest != digest {
			t.Errorf("%s is %+v, %v, want %s", name, e, err, digest)
		}
	}
	for _, digest := range []string{old, python, ruby} {
		if err := image.Verify(to, digest); err != nil {
			t.Error(err)
		}
	}

	// A damaged image gets no name.
	perl := pack(from, "perl", "two")
	m := manifest(t, from, perl)
	layer := filepath.Join(from, "blobs/sha256", m.Layers[0].Digest.Hex)
	if err := os.WriteFile(layer, []byte(strings.Repeat("x", int(m.Layers[0].Size))), 0o644); err != nil {
		t.Fatal(err)
	}
	if added, err := image.Add(t.Context(), from, to); err == nil || len(added) > 0 {
		t.Errorf("a damaged image: %v, %v", added, err)
	}
	if _, err := image.Find(to, "perl"); err == nil {
		t.Error("a damaged image has a name")
	}
}
