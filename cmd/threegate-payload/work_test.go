package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFill(t *testing.T) {
	in, work := t.TempDir(), filepath.Join(t.TempDir(), "work")
	for name, text := range map[string]string{"a.py": "a", "deep/b.txt": "b", "tree/x/c": "c", "tree/.d": "d",
		"left/e": "e"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(in, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(in, name), []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := fill(in, work, []string{"a.py", "deep/b.txt", "tree"}); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := fs.WalkDir(os.DirFS(work), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(work, p))
		if info, _ := d.Info(); info.Mode().Perm()&0o200 == 0 {
			t.Errorf("%s can't be written: %v", p, info.Mode())
		}
		got = append(got, p+"="+string(b))
		return err
	})
	if want := []string{"a.py=a", "deep/b.txt=b", "tree/.d=d", "tree/x/c=c"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if err := fill(in, work, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a folder that is there: %v", err)
	}
	if err := fill(in, filepath.Join(t.TempDir(), "w"), []string{"none"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an input that is not there: %v", err)
	}
}
