package judge

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNamesAsGitReadsThem: a patch is refused, or its names are those that git reads.
func TestNamesAsGitReadsThem(t *testing.T) {
	patch := func(header, old, name string) string {
		return "diff --git " + header + "\nindex 1..2 100644\n--- " + old + "\n+++ " + name + "\n@@ -1 +1 @@\n-a\n+b\n"
	}
	for name, c := range map[string]struct {
		patch   string
		refused bool
	}{
		"plain":                          {patch("a/x b/x", "a/x", "b/x"), false},
		"a blank and a tab":              {patch("a/x y b/x y", "a/x y\t", "b/x y\t"), false},
		"a blank without a tab":          {patch("a/x y b/x y", "a/x y", "b/x y"), false},
		"quoted":                         {patch(`"a/x\ty" "b/x\ty"`, `"a/x\ty"`, `"b/x\ty"`), false},
		"quoted in octal":                {patch(`"a/\303\244" "b/\303\244"`, `"a/\303\244"`, `"b/\303\244"`), false},
		"quoted with a blank and a tab":  {patch(`"a/x\t y" "b/x\t y"`, "\"a/x\\t y\"\t", "\"b/x\\t y\"\t"), false},
		"a tab without a blank":          {patch("a/x b/x", "a/x\t", "b/x\t"), true},
		"a tab behind quotes":            {patch(`"a/x\ty" "b/x\ty"`, "\"a/x\\ty\"\t", "\"b/x\\ty\"\t"), true},
		"two tabs":                       {patch("a/x y b/x y", "a/x y\t\t", "b/x y\t\t"), true},
		"a tab and a date":               {patch("a/x y b/x y", "a/x y\t2026", "b/x y\t2026"), true},
		"a tab inside":                   {patch("a/x\ty b/x\ty", "a/x\ty", "b/x\ty"), true},
		"a tab in the header's names":    {patch("a/x y\t b/x y\t", "a/x y\t", "b/x y\t"), true},
		"a return":                       {patch("a/x\r b/x\r", "a/x\r", "b/x\r"), true},
		"an escape that is not of git's": {patch(`"a/\x41" "b/\x41"`, `"a/\x41"`, `"b/\x41"`), true},
		"a rename with a tab": {"diff --git a/x b/y\nsimilarity index 100%\nrename from x\t\nrename to y\t\n",
			true},
		"a rename with an odd escape": {"diff --git a/x \"b/\\u0041\"\nsimilarity index 100%\nrename from x\n" +
			"rename to \"\\u0041\"\n", true},
	} {
		changes, err := Parse([]byte(c.patch))
		if err != nil {
			if !c.refused {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if c.refused {
			t.Errorf("%s: read as %q", name, changes[0].Path)
		}
		cmd := exec.Command("git", "apply", "--numstat", "-z")
		cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(c.patch)
		out, err := cmd.Output()
		got := strings.TrimSuffix(string(out), "\x00")
		if got = got[strings.LastIndexByte(got, '\t')+1:]; err != nil || !strings.HasSuffix(string(out), changes[0].Path+"\x00") {
			t.Errorf("%s: git reads %q, %v; here it is %q", name, got, err, changes[0].Path)
		}
	}
}
