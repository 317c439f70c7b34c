package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

const head = "--- a/f\n+++ b/f\n"

// try patches a file f, and returns its content, and the code of the error.
func try(t *testing.T, content, diff string) (string, contract.Code) {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := os.WriteFile(name, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	code := call(t, dir, "f", diff)
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the mode became %v (%v)", info.Mode(), err)
	}
	return string(got), code
}

func call(t *testing.T, dir, path, diff string) contract.Code {
	t.Helper()
	if e := refusalOf(t, dir, path, diff); e != nil {
		return e.Code
	}
	return ""
}

// refusalOf patches a file, and returns the error, nil if there is none.
func refusalOf(t *testing.T, dir, path, diff string) *contract.Error {
	t.Helper()
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(patchArgs{Path: path, UnifiedDiff: diff})
	if err != nil {
		t.Fatal(err)
	}
	c, err := toolOf(w, "file_patch").Prepare(args)
	if err == nil {
		_, err = c.Run(context.Background())
	}
	var e *contract.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	return e
}

func TestPatch(t *testing.T) {
	const abc = "a\nb\nc\nd\ne\n"
	for name, c := range map[string]struct{ content, diff, want string }{
		"a line":             {abc, "@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n", "a\nb\nC\nd\ne\n"},
		"git's header":       {abc, "@@ -2,3 +2,3 @@ func x()\n b\n-c\n+C\n d\n", "a\nb\nC\nd\ne\n"},
		"moved":              {"x\n" + abc, "@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n", "x\na\nb\nC\nd\ne\n"},
		"two hunks":          {abc, "@@ -1,2 +1,3 @@\n a\n+A\n b\n@@ -4,2 +5,2 @@\n d\n-e\n+E\n", "a\nA\nb\nc\nd\nE\n"},
		"literal $&":         {abc, "@@ -2,3 +2,3 @@\n b\n-c\n+$&\\1${x}\n d\n", "a\nb\n$&\\1${x}\nd\ne\n"},
		"CRLF on CRLF":       {"a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n", "a\r\nB\r\n"},
		"mixed line ends":    {"a\r\nb\nc\r\n", "@@ -1,3 +1,3 @@\n a\r\n-b\n+B\n c\r\n", "a\r\nB\nc\r\n"},
		"BOM":                {"\ufeffa\nb\n", "@@ -1,2 +1,2 @@\n \ufeffa\n-b\n+B\n", "\ufeffa\nB\n"},
		"no newline at end":  {"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n\\ No newline at end of file\n", "a\nB"},
		"newline at the end": {"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"},
		"the whole file":     {"a\n", "@@ -1 +1 @@\n-a\n+b\n", "b\n"},
		"lines like headers": {"-- x\n++ y\nz\n", "@@ -1,3 +1,2 @@\n--- x\n ++ y\n z\n", "++ y\nz\n"},
	} {
		if got, code := try(t, c.content, head+c.diff); code != "" || got != c.want {
			t.Errorf("%s: got %q, %s", name, got, code)
		}
	}
}

// TestRefused holds that a patch is refused and the file stays as it was.
func TestRefused(t *testing.T) {
	const abc = "a\nb\nc\nd\ne\n"
	for name, c := range map[string]struct{ content, diff string }{
		// Others put these at the end of the file and report success.
		"pure addition without context":  {abc, head + "@@ -2,0 +3 @@\n+x\n"},
		"change without context":         {abc, head + "@@ -2 +2 @@\n-b\n+B\n"},
		"context differs by a space":     {abc, head + "@@ -2,3 +2,3 @@\n b \n-c\n+C\n d\n"},
		"LF patch on a CRLF file":        {"a\r\nb\r\nc\r\n", head + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		"BOM lost":                       {"\ufeffa\nb\n", head + "@@ -1,2 +1,2 @@\n a\n-b\n+B\n"},
		"second hunk does not fit":       {abc, head + "@@ -1,2 +1,3 @@\n a\n+A\n b\n@@ -4,2 +5,2 @@\n d\n-x\n+E\n"},
		"fits twice, moved":              {"x\nx\na\nb\nx\na\nb\nx\n", head + "@@ -1,3 +1,3 @@\n x\n-a\n+A\n b\n"},
		"twice, and away from its place": {"1\n2\n3\na\nb\nc\na\nb\nc\n", head + "@@ -2,3 +2,3 @@\n a\n-b\n+B\n c\n"},
		// Git takes the first, and joins two lines.
		"twice, but for the end of a line": {"x\na\na\na\na", head + "@@ -2,3 +2,3 @@\n a\n-a\n+b\n a\n\\ No newline at end of file\n"},
		"twice, but for space at the end":  {"x\na\na\na \na\na\na", head + "@@ -2,3 +2,3 @@\n a\n-a\n+b\n a\n\\ No newline at end of file\n"},
		"count too small":                  {abc, head + "@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n+more\n"},
		"count too large":                  {abc, head + "@@ -2,4 +2,4 @@\n b\n-c\n+C\n d\n"},
		"text after the patch":             {abc, head + "@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\nDone!\n"},
		"no header":                        {abc, "@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n"},
		"nothing changes":                  {abc, head + "@@ -2,3 +2,3 @@\n b\n c\n d\n"},
		"another file":                     {abc, "--- a/g\n+++ b/g\n@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n"},
		"a file outside":                   {abc, "--- a/../f\n+++ b/../f\n@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n"},
		"two files":                        {abc, strings.Repeat(head+"@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n", 2)},
		"rename":                           {abc, "diff --git a/f b/g\nsimilarity index 50%\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n"},
		"mode":                             {abc, "diff --git a/f b/f\nold mode 100644\nnew mode 120000\n"},
		"another kind of file":             {"a", "diff --git a/f b/f\nindex 1234567..89abcde 120000\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"},
		"deletion":                         {"a\n", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"},
		"makes what exists":                {abc, "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"},
		"negative":                         {abc, head + "@@ -2,-3 +2,3 @@\n b\n-c\n+C\n d\n"},
		"huge":                             {abc, head + "@@ -99999999999999999999,3 +2,3 @@\n b\n-c\n+C\n d\n"},
		"binary":                           {abc, "diff --git a/f b/f\nindex 1..2\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n"},
		"empty":                            {abc, " "},
	} {
		if got, code := try(t, c.content, c.diff); code != contract.Validation || got != c.content {
			t.Errorf("%s: got %q, %q", name, got, code)
		}
	}
}

// TestRefusalsMend: a refusal says which line differs, and how.
func TestRefusalsMend(t *testing.T) {
	for diff, c := range map[string]struct{ content, message, hint string }{
		"@@ -1,2 +1,2 @@\n a\n-x\n+y\n":                          {"a\nb\n", `line 2 of the file is "b\n", and the patch has "x\n"`, "as the file has them"},
		"@@ -9,2 +9,2 @@\n a\n-x\n+y\n":                          {"1\n2\n3\na\nb\n", `line 5 of the file is "b\n"`, ""},
		"@@ -1,2 +1,2 @@\n a\n-b\n+B":                            {"a\nb\n", "", ""}, // what is added may end so
		"@@ -1,3 +1,3 @@\n a\n-b\n+B\n c":                        {"a\nb\nc\n", "ends without a newline, and line 3", `with \n`},
		"@@ -1,2 +1,2 @@\n a\n-b\n+C\n":                          {"a\nb", "does not fit: line 2", `\ No newline at end of file`},
		"@@ -1,2 +1,2 @@\n a\r\n-b\r\n+C\r\n":                    {"a\nb\n", "ends with LF", `\n`},
		"@@ -1,2 +1,2 @@\n a\n-b\n+D\n":                          {"a\t\nb\n", "blanks at the end", ""},
		"@@ -1,2 +1,2 @@\n   a\n-b\n+D\n":                        {"\ta\nb\n", "indentation differs", ""},
		"@@ -1,2 +1,2 @@\n a\n-b\n+E\n":                          {"\ufeffa\nb\n", "byte order mark", `\ufeff`},
		"@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -2,2 +2,2 @@\n b\n-c\n": {"a\nb\nc\n", "has 2 lines of the file, and 1", "-2,2 +2,1"},
		"@@ -1,1 +1 @@\n-a\n+b\n+c\n":                            {"a\n", "has 1 lines of the file, and 2", "@@ -1,1 +1,2 @@"},
		"@@ -1,4 +1,4 @@\n a\n b\n c\n-d\n+e\n":                  {"a\nb\n", "behind line 2", ""},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "f"), c.content)
		e := refusalOf(t, dir, "f", head+diff)
		if c.message == "" && e == nil {
			continue
		}
		if e == nil || !strings.Contains(e.Message, c.message) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%q: %+v", diff, e)
		}
	}
}

func TestNewFile(t *testing.T) {
	dir := t.TempDir()
	diff := "--- /dev/null\n+++ b/d/n\n@@ -0,0 +1,2 @@\n+a\n+b\n"
	if code := call(t, dir, "d/n", diff); code != "" {
		t.Fatal(code)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "d/n")); string(got) != "a\nb\n" {
		t.Errorf("got %q, %v", got, err)
	}
	diff = "diff --git a/x b/x\nnew file mode 100755\nindex 0000000..89abcde\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"
	if code := call(t, dir, "x", diff); code != "" {
		t.Fatal(code)
	}
	if info, err := os.Stat(filepath.Join(dir, "x")); err != nil || info.Mode() != 0o755 {
		t.Errorf("a new program has the mode %v, %v", info.Mode(), err)
	}
	diff = "--- /dev/null\n+++ b/d/n\n@@ -0,0 +1,2 @@\n+a\n+b\n"
	for path, diff := range map[string]string{"../n": strings.ReplaceAll(diff, "d/n", "../n"), ".git/x": strings.ReplaceAll(diff, "d/n", ".git/x")} {
		if code := call(t, dir, path, diff); code != contract.Policy {
			t.Errorf("%s: %q", path, code)
		}
	}
}

func TestRepetitiveFileIsBounded(t *testing.T) {
	content := strings.Repeat("a\n", 200_000)
	diff := head + "@@ -1000,100001 +1000,100000 @@\n" + strings.Repeat(" a\n", 50_000) + "-b\n" + strings.Repeat(" a\n", 50_000)
	if _, code := try(t, content, diff); code != contract.Validation {
		t.Errorf("got %q", code)
	}
}
