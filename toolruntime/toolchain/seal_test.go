package toolchain

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSeal: a change of the tree is seen, also one that was undone.
func TestSeal(t *testing.T) {
	const ofLanguage = "ast: {language: go}\n"
	const ofRegistry = ofLanguage + "validators: [{rule: build.must.pass, enforcement: blocking, run: [make]}]\n"
	type change = func(at func(string) string) error
	put := func(name string) change {
		return func(at func(string) string) error { return os.WriteFile(at(name), []byte("new"), 0o644) }
	}
	touch := func(at func(string) string) error {
		info, err := os.Stat(at("a.go"))
		return errors.Join(err, os.Chmod(at("a.go"), 0o600), os.Chmod(at("a.go"), info.Mode()))
	}
	away := func(name string) change {
		return func(at func(string) string) error {
			return errors.Join(os.Rename(at(name), at("x")), os.Rename(at("x"), at(name)))
		}
	}
	read := func(at func(string) string) error {
		_, err := os.ReadFile(at("sub/b.go"))
		_, err2 := os.ReadDir(at("sub"))
		return errors.Join(err, err2)
	}
	for name, tt := range map[string]struct {
		registry string
		do       change
		want     []string
	}{
		"nothing":                           {ofLanguage, read, nil},
		"nothing, by the registry":          {ofRegistry, read, nil},
		"written":                           {ofLanguage, put("a.go"), []string{"a.go"}},
		"written, by the registry":          {ofRegistry, put("a.go"), []string{"a.go"}},
		"added":                             {ofLanguage, put("sub/c.go"), []string{"sub"}},
		"added, by the registry":            {ofRegistry, put("sub/c.go"), nil},
		"mode and back":                     {ofRegistry, touch, []string{"a.go"}},
		"away and back":                     {ofRegistry, away("a.go"), []string{"a.go"}},
		"a folder away and back":            {ofLanguage, away("sub"), []string{".", "sub"}},
		"a link":                            {ofRegistry, func(at func(string) string) error { return os.Remove(at("link")) }, []string{"link"}},
		"a folder in the place of a folder": {ofRegistry, func(at func(string) string) error { return os.Rename(at("sub"), at("x")) }, []string{"sub/b.go"}},
	} {
		j := job(t, tt.registry, map[string]string{"a.go": "", "sub/b.go": ""})
		at := func(name string) string { return filepath.Join(j.Dir, name) }
		if err := os.Symlink("a.go", at("link")); err != nil {
			t.Fatal(err)
		}
		sealed, err := j.seal(t.Context(), Build)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(at("sub/b.go")); err != nil || (info.Mode()&0o222 == 0) != (tt.registry == ofLanguage) {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		if err := tt.do(at); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, v := range sealed.broken(j.Dir) {
			got = append(got, v.Path)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
