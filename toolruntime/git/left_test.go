package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// TestNamesThatWereLeft judges bundles that a run could leave, made by plain git: what came is not judged, what is new is.
func TestNamesThatWereLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	src, in := t.TempDir(), t.TempDir()
	git := func(args ...string) { t.Helper(); plain(t, src, args...) }
	commit := func(message string) {
		t.Helper()
		git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message)
	}
	git("init", "-q", "-b", "trunk")
	commit("an old one")
	git("branch", "old\u3000Bad") // one name, though Unicode has a blank there
	git("bundle", "create", "-q", filepath.Join(in, "repository.bundle"), "HEAD", "trunk", "old\u3000Bad")
	git("checkout", "-q", "-b", "theirs")
	commit("one of theirs")
	git("bundle", "create", "-q", filepath.Join(in, "upstream.bundle"), "HEAD", "theirs")
	if err := os.WriteFile(filepath.Join(in, "broken.bundle"), []byte("# v2 git bundle\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	left := func(name string, what ...string) string {
		t.Helper()
		file := filepath.Join(in, name)
		git(append([]string{"bundle", "create", "-q", file}, what...)...)
		return file
	}
	git("checkout", "-q", "-b", "feat/x", "trunk")
	commit("feat: x\n\nand why")
	git("merge", "-q", "--no-ff", "--no-edit", "theirs")
	good := left("push.bundle", "feat/x", "trunk", "theirs", "--not", "trunk")
	git("checkout", "-q", "-b", "Bad", "feat/x")
	git("checkout", "-q", "-b", "fix/side", "trunk")
	commit("fix: side")
	git("checkout", "-q", "Bad")
	git("merge", "-q", "--no-ff", "-m", "more of it", "fix/side")
	commit("wip")
	commit("\nfeat: x")
	git("tag", "v1")
	bad := left("commits.bundle", "Bad", "HEAD", "v1", "--not", "trunk")

	for name, tt := range map[string]struct {
		bundles []string
		want    string
	}{
		"good":       {[]string{good}, ""},
		"bad":        {[]string{bad}, "branch branch commit commit commit"},
		"both":       {[]string{good, bad}, "branch branch commit commit commit"},
		"each other": {[]string{bad, good}, "branch branch commit commit commit"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := workspace.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			repo, err := Import(t.Context(), w, t.TempDir(), filepath.Join(in, "repository.bundle"))
			if err != nil {
				t.Fatal(err)
			}
			found, err := repo.Names(t.Context(), tt.bundles...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range found {
				word := strings.SplitN(v.Message, " ", 3)[1]
				if !strings.HasPrefix(v.Rule, word) || v.Hint == "" || strings.Contains(v.Message, "wip") || v.Path == "" {
					t.Errorf("%+v", v)
				}
				got = append(got, word)
			}
			slices.Sort(got)
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%+v", found)
			}
		})
	}
}
