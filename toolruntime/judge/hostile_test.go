package judge

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestForgedPatches holds patches that git diff would not write so, or that change what a link or a mode is, to
// the rule of paths: each is refused, by the reader or by the rule.
func TestForgedPatches(t *testing.T) {
	link := func(path, target string) string {
		return "diff --git a/" + path + " b/" + path + "\nnew file mode 120000\nindex 0000000..1111111\n--- /dev/null\n+++ b/" +
			path + "\n@@ -0,0 +1 @@\n+" + target + "\n\\ No newline at end of file\n"
	}
	good := "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
	for name, patch := range map[string]string{
		"a link is given another target": "diff --git a/l b/l\nindex 1111111..2222222 120000\n--- a/l\n+++ b/l\n" +
			"@@ -1 +1 @@\n-src\n\\ No newline at end of file\n+/etc/passwd\n\\ No newline at end of file\n",
		"a link up behind a name":     link("e", "d/d/.."),
		"a link up behind two names":  link("e", "d/../../x"),
		"a link up behind a dot name": link("a/e", "./d/../.."),
		"a submodule":                 "diff --git a/s b/s\nnew file mode 160000\nindex 0000000..1111111\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit " + strings.Repeat("1", 40) + "\n",
		"another submodule's commit":  "diff --git a/s b/s\nindex 1111111..2222222 160000\n--- a/s\n+++ b/s\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n",
		"a link of the base, without its mode": "diff --git a/l b/l\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-src\n\\ No newline at end of file\n" +
			"+/etc/passwd\n\\ No newline at end of file\n",
		"a link that moves up after it is made": link("a/b/l", "../../x") + "diff --git a/a/b/l b/l\nsimilarity index 100%\n" +
			"rename from a/b/l\nrename to l\n",
		"a file twice":                 good + good,
		"no new file without its mode": "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
		"no old file, and not made":    "diff --git a/x b/x\nindex 1..2 100644\n--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
		"a setuid file":                strings.Replace(good, "index 1..2 100644", "old mode 100755\nnew mode 104755\nindex 1..2", 1),
		"a mode that is no number":     strings.Replace(good, "index 1..2 100644", "old mode 100755\nnew mode 0o755\nindex 1..2", 1),
		"two names of the new file":    strings.Replace(good, "+++ b/x", "+++ b/y", 1),
		"two names of the old file":    strings.Replace(good, "--- a/x", "--- a/y", 1),
		"a rename that is contradicted": "diff --git a/x b/y\nsimilarity index 50%\nrename from x\nrename to y\n--- a/x\n+++ b/z\n" +
			"@@ -1 +1 @@\n-a\n+b\n",
		"a rename out":             "diff --git a/x b/../y\nsimilarity index 100%\nrename from x\nrename to ../y\n",
		"a quoted rename out":      "diff --git a/x \"b/\\056\\056/y\"\nsimilarity index 100%\nrename from x\nrename to \"\\056\\056/y\"\n",
		"a rename into git's":      "diff --git a/x b/.git/hooks/y\nsimilarity index 100%\nrename from x\nrename to .git/hooks/y\n",
		"a copy of git's":          "diff --git a/.git/config b/x\nsimilarity index 100%\ncopy from .git/config\ncopy to x\n",
		"old words for a rename":   "diff --git a/x b/y\nsimilarity index 100%\nrename old x\nrename new y\n",
		"words behind a backslash": strings.Replace(good, "+b\n", "+b\n\\ ghp_something\n", 1),
		"words in a hunk":          strings.Replace(good, "-a\n", "-a\n\\ No newline at end of file, but more\n", 1),
		"a binary patch": "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n" +
			"literal 0\nHcmV?d00001\n\n",
	} {
		changes, err := Parse([]byte(patch))
		if err == nil && len(judged(t, "sec.paths.sandbox", changes, "")) == 0 {
			t.Errorf("%s passes: %+v", name, changes)
		}
	}
	becomesLink := "diff --git a/a/e b/a/e\ndeleted file mode 100644\nindex 1..0\n--- a/a/e\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n" +
		link("a/e", "b")
	for name, patch := range map[string]string{"a patch": good, "a link": link("a/e", "./../b"), "a file becomes one": becomesLink, "a script": strings.Replace(good,
		"index 1..2 100644", "old mode 100644\nnew mode 100755\nindex 1..2", 1)} {
		changes, err := Parse([]byte(patch))
		if err != nil || len(judged(t, "sec.paths.sandbox", changes, "")) > 0 {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}

// TestLinksThatLeadOut shows why a target is refused that goes up behind a name: by its letters it stays inside.
func TestLinksThatLeadOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	patch := ""
	for path, to := range map[string]string{"d": ".", "e": "d/d/d/.."} {
		patch += "diff --git a/" + path + " b/" + path + "\nnew file mode 120000\n--- /dev/null\n+++ b/" + path +
			"\n@@ -0,0 +1 @@\n+" + to + "\n\\ No newline at end of file\n"
	}
	cmd := exec.Command("git", "apply")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	to, err := filepath.EvalSymlinks(filepath.Join(dir, "e"))
	if err != nil || to != filepath.Dir(dir) {
		t.Errorf("e leads to %s, %v", to, err)
	}
	changes, err := Parse([]byte(patch))
	if err != nil || len(judged(t, "sec.paths.sandbox", changes, "")) != 1 {
		t.Errorf("%v, %+v", err, changes)
	}
}

// A test that goes, or only moves, is no test for code that comes.
func TestTestsThatAreNone(t *testing.T) {
	code := map[string]string{"a.go": "1\n2\n", "a_test.go": "one\ntwo\n"}
	for name, c := range map[string]struct {
		after map[string]string
		want  int
	}{
		"the test is deleted":         {map[string]string{"a.go": "1\n2\n3\n"}, 1},
		"the test only loses lines":   {map[string]string{"a.go": "1\n2\n3\n", "a_test.go": "one\n"}, 1},
		"the test moves":              {map[string]string{"a.go": "1\n2\n3\n", "b_test.go": "one\ntwo\n"}, 1},
		"a text names a test":         {map[string]string{"a.go": "1\n2\n3\n", "a_test.go": "one\ntwo\n", "x.md": "#[test]\n"}, 1},
		"the test gains a line":       {map[string]string{"a.go": "1\n2\n3\n", "a_test.go": "one\ntwo\nthree\n"}, 0},
		"code and its test lose some": {map[string]string{"a.go": "1\n", "a_test.go": "one\n"}, 0},
		"code and its test go":        {map[string]string{}, 0},
	} {
		changes, err := Parse([]byte(gitDiff(t, code, c.after)))
		if err != nil {
			t.Fatal(err)
		}
		if got := judged(t, "test.required.changed", changes, ""); len(got) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
