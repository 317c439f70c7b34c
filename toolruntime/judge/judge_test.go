package judge

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/validate/secrets"
)

// gitDiff is what git writes of a folder that changes from one set of files to another.
func gitDiff(t *testing.T, before, after map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.invalid"}, args...)...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	write := func(files map[string]string) {
		for name, content := range files {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			var err error
			if to, ok := strings.CutPrefix(content, "link:"); ok {
				err = os.Symlink(to, file)
			} else {
				err = os.WriteFile(file, []byte(content), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	git("init", "-q")
	write(before)
	git("add", "-A")
	git("commit", "-q", "--allow-empty", "-m", "x")
	git("rm", "-q", "-r", "--ignore-unmatch", ".")
	write(after)
	git("add", "-A")
	return git("diff", "--cached", "HEAD")
}

// TestParseReadsWhatGitWrites holds the reader to git's own count of lines, for files with any name.
func TestParseReadsWhatGitWrites(t *testing.T) {
	long := strings.Repeat("same\n", 30)
	before := map[string]string{"a.go": "1\n2\n3\n", "gone": "x\n", "moved": long, "bin": "\x00a", "no end": "x", "empty": "",
		"-dash": "--- a/x\n+++ b/y\n", "caf\xc3\xa9": "1\n", "sub/new\nline": "1\n", "q\"uote\\": "1\n", "two far": long + "1\n" + long}
	after := map[string]string{"a.go": "1\ntwo\n3\n4\n", "moved to": long + "x\n", "bin": "\x00b", "no end": "y", "empty2": "",
		"-dash": "++ b/y\n-- a/x\n@@ -1 +1 @@\n", "caf\xc3\xa9": "2\n", "sub/new\nline": "2\n", "q\"uote\\": "2\n",
		"two far": "0\n" + long + "2\n" + long + "3\n", "link": "link:a.go", "sp ace": "diff --git a/x b/x\n"}
	changes, err := Parse([]byte(gitDiff(t, before, after)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range changes {
		name := c.Path
		if c.Deleted {
			name = c.Old
		}
		got[name] = fmt.Sprintf("+%d -%d %v %v", len(c.Added), c.Removed, c.Deleted, c.Binary)
		for _, l := range c.Added {
			if lines := strings.Split(after[name], "\n"); c.Mode != "120000" && lines[l.No-1] != l.Text {
				t.Errorf("%q: line %d is %q, not %q", name, l.No, lines[l.No-1], l.Text)
			}
		}
	}
	want := map[string]string{"a.go": "+2 -1 false false", "gone": "+0 -1 true false", "moved to": "+1 -0 false false",
		"bin": "+0 -0 false true", "no end": "+1 -1 false false", "-dash": "+3 -2 false false", "caf\xc3\xa9": "+1 -1 false false",
		"sub/new\nline": "+1 -1 false false", "q\"uote\\": "+1 -1 false false", "two far": "+3 -1 false false",
		"link": "+1 -0 false false", "sp ace": "+1 -0 false false", "empty2": "+0 -0 false false"}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%q: %q, want %q", name, got[name], w)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	good := "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, patch := range map[string]string{
		"words before":      "hello\n" + good,
		"words between":     good + "hello\n" + good,
		"a line too many":   good + "+d\n",
		"a line too few":    strings.TrimSuffix(good, "+c\n"),
		"an unknown header": strings.Replace(good, "index", "indeed", 1),
		"no names":          good[strings.Index(good, "---"):],
		"a prefix is gone":  strings.Replace(good, "+++ b/x", "+++ x", 1),
		"a binary patch":    "diff --git a/x b/x\nGIT binary patch\nliteral 1\nIcmZPo\n",
		"no hunk header":    strings.Replace(good, "@@ -1,2 +1,2 @@", "@@ -1,2 +1,2", 1),
		"a bare line":       strings.Replace(good, " a", "a", 1),
		"a huge count":      strings.Replace(good, "1,2 @@", "1,99999999999999999999 @@", 1),
	} {
		if _, err := Parse([]byte(patch)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

func TestRules(t *testing.T) {
	key := "ghp_" + "x9Kf2LmQ8vRt4Wz7" + "Yb3Nc6Hj1Pd5Sg0Ae2Uo"
	for _, tt := range []struct {
		rule, message string
		after         map[string]string
		want          string
	}{
		{"code.todo.blockers", "", map[string]string{"a.go": "x\n// TODO: y\nTODOS\n"}, "a.go:2"},
		{"code.todo.blockers", "", map[string]string{"a.go": "todo\n"}, ""},
		{"secrets.scan", "", map[string]string{"a.go": "x\n\ntoken = \"" + key + "\"\n"}, "a.go:3"},
		{"secrets.scan", "token " + key, map[string]string{"a.go": "x\n"}, ":0"},
		{"secrets.scan", "", map[string]string{"a.go": "token = os.Getenv(\"TOKEN\")\n"}, ""},
		{"test.required.changed", "", map[string]string{"src/a.go": "x\n"}, "src/a.go:0"},
		{"test.required.changed", "", map[string]string{"src/a.go": "x\n", "src/a_test.go": "x\n"}, ""},
		{"test.required.changed", "", map[string]string{"src/a.py": "x\n", "tests/a.py": "x\n"}, ""},
		{"test.required.changed", "", map[string]string{"src/a.rs": "#[test]\nfn x() {}\n"}, ""},
		{"test.required.changed", "", map[string]string{"README.md": "x\n", "contest/data": "x\n"}, ""},
		{"test.required.changed", "fix: x\n\nTests-Not-Needed: a comment\n", map[string]string{"a.py": "x\n"}, ""},
		{"test.required.changed", "fix: x\n\nTests-Not-Needed:\n", map[string]string{"a.py": "x\n"}, "a.py:0"},
		{"sec.paths.sandbox", "", map[string]string{"a/b": "x\n", "a/c": "link:b", "a/d": "link:../e"}, ""},
		{"sec.paths.sandbox", "", map[string]string{"a/c": "link:../../etc/passwd"}, "a/c:1"},
		{"sec.paths.sandbox", "", map[string]string{"a/c": "link:/etc/passwd"}, "a/c:1"},
		{"sec.paths.sandbox", "", map[string]string{"a/c": "link:../.git/config"}, "a/c:1"},
	} {
		patch := gitDiff(t, map[string]string{"old": "TODO\n"}, tt.after)
		changes, err := Parse([]byte(patch))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range judged(t, tt.rule, changes, tt.message) {
			got = append(got, fmt.Sprintf("%s:%d", v.Path, v.Line))
			if v.Rule != tt.rule || strings.Contains(v.Message, key) {
				t.Errorf("%+v", v)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s %v: %v, want %q", tt.rule, tt.after, got, tt.want)
		}
	}
	for _, p := range []string{"../x", ".git/config", "a/../../x", "/etc/passwd"} {
		patch := "diff --git a/" + p + " b/" + p + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + p + "\n@@ -0,0 +1 @@\n+x\n"
		changes, err := Parse([]byte(patch))
		if err != nil {
			t.Fatal(err)
		}
		if len(judged(t, "sec.paths.sandbox", changes, "")) == 0 {
			t.Errorf("%s passes", p)
		}
	}
}

// judged holds a change to a rule.
func judged(t *testing.T, rule string, changes []Change, message string) []Violation {
	t.Helper()
	found, err := Judge(rule, changes, message, secrets.Finder{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestWithoutAFinder: what nobody can look for is not taken for absent.
func TestWithoutAFinder(t *testing.T) {
	for _, rule := range []string{"secrets.scan", "code.todo.blockers"} {
		if _, err := Judge(rule, nil, "", nil); (err == nil) != (rule != "secrets.scan") {
			t.Errorf("%s: %v", rule, err)
		}
	}
}
