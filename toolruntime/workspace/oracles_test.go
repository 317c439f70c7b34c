//go:build oracles

package workspace

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

// TestGitsOwnCases takes the patches of git's own tests, file by file: those of the fixtures next to t/t4*, and those
// that its scripts t/t41* make, with the files that they meet there. Each goes to `git apply` and to
// file_patch. What file_patch accepts git accepts, and writes the same bytes; what only git accepts has one of the
// reasons of the contract.
func TestGitsOwnCases(t *testing.T) {
	source := os.Getenv("GIT_SOURCE")
	if source == "" {
		t.Fatal("GIT_SOURCE names no checkout of git's source")
	}
	tests, err := filepath.Abs(filepath.Join(source, "t"))
	if err != nil {
		t.Fatal(err)
	}
	cases := slices.Concat(fixtures(t, tests), recorded(t, tests))
	if len(cases) < 300 {
		t.Fatalf("only %d patches: is GIT_SOURCE git's source?", len(cases))
	}
	count := map[string]int{}
	seen := map[[32]byte]bool{}
	for _, c := range cases {
		for _, before := range c.befores() {
			key := sha256.Sum256(fmt.Appendf(nil, "%s\x00%v\x00%s", c.diff, before == nil, before))
			if seen[key] {
				continue
			}
			seen[key] = true
			count[judgeCase(t, c, before)]++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%5d %s", count[why], why)
	}
	if count["both accept, the same bytes"] < 150 || count["both refuse"] < 50 {
		t.Error("these are too few to show anything")
	}
}

// ownCase is the part of a patch about one file.
type ownCase struct {
	from, diff string
	tree       string // the folder that git's script had, or empty
	path       string // as git reads it; empty if git can't
}

// fixtures are the patches that lie in git's folders of test data.
func fixtures(t *testing.T, tests string) (out []ownCase) {
	t.Helper()
	err := filepath.WalkDir(tests, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(tests, p)
		if err != nil || !d.Type().IsRegular() || !strings.HasPrefix(rel, "t4") || !strings.Contains(rel, "/") {
			return err
		}
		return add(&out, rel, p, "")
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func add(out *[]ownCase, from, file, tree string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, diff := range sections(string(data)) {
		*out = append(*out, ownCase{from: from, diff: diff, tree: tree, path: pathOf(diff)})
		if bare := cut(diff); bare != diff {
			*out = append(*out, ownCase{from: from, diff: bare, tree: tree, path: pathOf(bare)})
		}
	}
	return nil
}

// recorded runs git's scripts about git apply, and takes what git apply was given in them.
func recorded(t *testing.T, tests string) (out []ownCase) {
	t.Helper()
	shim, err := filepath.Abs("testdata/git")
	if err != nil {
		t.Fatal(err)
	}
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(filepath.Join(tests, "t41*.sh"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts t41* in %s: %v", tests, err)
	}
	for _, script := range scripts {
		name := filepath.Base(script)
		dir, cases := t.TempDir(), t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "trash"), 0o755); err != nil {
			t.Fatal(err)
		}
		for link, to := range map[string]string{"test-lib.sh": filepath.Join(shim, "test-lib.sh"), name: script} {
			if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("timeout", "300", "sh", "./"+name)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + shim + ":" + os.Getenv("PATH"), "REAL_GIT=" + real, "GIT_T=" + tests,
			"CASES=" + cases, "CASES_TRASH=" + filepath.Join(dir, "trash")}
		said, err := cmd.CombinedOutput()
		before := len(out)
		patches, globErr := filepath.Glob(filepath.Join(cases, "*/patches/*"))
		if globErr != nil {
			t.Fatal(globErr)
		}
		for _, p := range patches {
			if err := add(&out, name, p, filepath.Join(filepath.Dir(filepath.Dir(p)), "tree")); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil || len(out) == before {
			t.Logf("%s: %v, %d patches; %.300s", name, err, len(out)-before, said)
		}
	}
	return out
}

var patchHunk = regexp.MustCompile(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@`)

// sections splits text into patches of one file each.
func sections(text string) (out []string) {
	var lines []string
	for l := range strings.Lines(text) {
		lines = append(lines, l)
	}
	var current strings.Builder
	old, added, header := 0, 0, false
	flush := func() {
		if s := current.String(); strings.Contains(s, "\n@@ ") || strings.HasPrefix(s, "diff --git ") {
			out = append(out, s)
		}
		current.Reset()
	}
	for i, l := range lines {
		if old > 0 || added > 0 {
			if l[0] != '+' && l[0] != '\\' {
				old--
			}
			if l[0] != '-' && l[0] != '\\' {
				added--
			}
			current.WriteString(l)
			continue
		}
		bare := strings.HasPrefix(l, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ")
		if strings.HasPrefix(l, "diff --git ") {
			flush()
			header = true
		} else if bare {
			if !header {
				flush()
			}
			header = false
		}
		if m := patchHunk.FindStringSubmatch(l); m != nil {
			old, added = number(m[2]), number(m[3])
		}
		current.WriteString(l)
	}
	flush()
	return out
}

// cut takes away what follows the last hunk, such as the signature of a mail.
func cut(diff string) string {
	old, added, end, at := 0, 0, 0, 0
	for l := range strings.Lines(diff) {
		at += len(l)
		inside := old > 0 || added > 0
		if m := patchHunk.FindStringSubmatch(l); m != nil && !inside {
			old, added = number(m[2]), number(m[3])
		} else if inside {
			if l[0] != '+' && l[0] != '\\' {
				old--
			}
			if l[0] != '-' && l[0] != '\\' {
				added--
			}
		}
		if inside || l[0] == '\\' {
			end = at
		}
	}
	if end == 0 {
		return diff
	}
	return diff[:end]
}

func number(s string) int {
	if s == "" {
		return 1
	}
	n, _ := strconv.Atoi(s)
	return n
}

// pathOf asks git which file a patch is about.
func pathOf(diff string) string {
	out, err := gitApply("", diff, "--numstat", "-z")
	fields := strings.SplitN(out, "\t", 3)
	if err != nil || len(fields) < 3 {
		return ""
	}
	parts := strings.Split(strings.TrimRight(fields[2], "\x00"), "\x00")
	return parts[len(parts)-1]
}

func gitApply(dir, diff string, args ...string) (string, error) {
	cmd := exec.Command("git", append(append([]string{"apply"}, args...), "-")...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(diff)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_DIR=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C"}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return said.String(), err
	}
	return out.String(), nil
}

// befores are the files to try a patch on: the one that git's script had, and one made of the patch's own lines. Nil
// is no file.
func (c ownCase) befores() (out [][]byte) {
	if c.tree != "" && filepath.IsLocal(c.path) {
		file := filepath.Join(c.tree, c.path)
		info, err := os.Lstat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out = append(out, nil)
		case err == nil && info.Mode().IsRegular():
			if data, err := os.ReadFile(file); err == nil {
				out = append(out, append([]byte{}, data...))
			}
		}
	}
	if strings.Contains(c.diff, "\n--- /dev/null") || strings.HasPrefix(c.diff, "--- /dev/null") {
		return append(out, nil)
	}
	return append(out, rebuilt(c.diff))
}

// rebuilt is a file that holds what a patch takes away or keeps, each at its line.
func rebuilt(diff string) []byte {
	file := []byte{}
	line, old, added, context := 1, 0, 0, false
	for l := range strings.Lines(diff) {
		switch m := patchHunk.FindStringSubmatch(l); {
		case l[0] == '\\':
			file = bytes.TrimSuffix(file, []byte("\n"))
		case old > 0 || added > 0:
			if context = l[0] != '+' && l[0] != '-'; l[0] != '+' {
				old, line = old-1, line+1
				file = append(file, l[1:]...)
				if l == "\n" {
					file = append(file, '\n')
				}
			}
			if l[0] != '-' {
				added--
			}
		case m != nil:
			for at := number(m[1]); line < at && line < 100_000; line++ {
				file = fmt.Appendf(file, "line %d\n", line)
			}
			old, added = number(m[2]), number(m[3])
		}
	}
	if context && bytes.HasSuffix(file, []byte("\n")) {
		for range 5 {
			file = fmt.Appendf(file, "line %d\n", line)
			line++
		}
	}
	return file
}

// judgeCase patches a file here and with git, and says what came of it.
func judgeCase(t *testing.T, c ownCase, before []byte) string {
	t.Helper()
	path := c.path
	if path == "" || !filepath.IsLocal(path) {
		path = "f"
	}
	own, git := t.TempDir(), t.TempDir()
	for _, dir := range []string{own, git} {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if before == nil {
			continue
		}
		if err := os.WriteFile(file, before, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	said, gitErr := gitApply(git, c.diff)
	e := refusalOf(t, own, path, c.diff)
	got, ownErr := readMode(filepath.Join(own, path))
	want, wantErr := readMode(filepath.Join(git, path))
	switch {
	case e != nil && gitErr != nil:
		return "both refuse"
	case e == nil && gitErr != nil:
		t.Errorf("%s: git refuses: %s\n%s%q", c.from, said, c.diff, before)
	case e != nil:
		if before != nil && got != "-rw-r--r-- "+string(before) || before == nil && ownErr == nil {
			t.Errorf("%s: refused, but changed:\n%s%q", c.from, c.diff, before)
		}
		return explain(t, c, before, e)
	case ownErr != nil || wantErr != nil || got != want:
		t.Errorf("%s: got %q, %v\nwant %q, %v\n%s%q", c.from, got, ownErr, want, wantErr, c.diff, before)
	default:
		return "both accept, the same bytes"
	}
	return "WRONG"
}

// byContract are what file_patch says of what it refuses on purpose, and git accepts.
var byContract = []struct{ says, why string }{
	{"is ambiguous", "only git: in several places, and moved"},
	{"has no context lines", "only git: a hunk without context"},
	{"is not made of hunks of text", "only git: no text: rename, copy, mode alone, binary, or an empty file"},
	{"deletes the file", "only git: a deletion, which is for fs_delete"},
	{"is about a file's mode, a link or a submodule", "only git: a mode, a link or a submodule"},
	{"lines of hunks, but announces", "only git: text after the last hunk"},
	{"the patch is about", "only git: names that are not the path, or are not written as diff writes them"},
	{"holds bytes that are no text", "only git: a path with a tab or the like"},
	{"no such file or directory", "only git: a new file without --- /dev/null"},
}

func explain(t *testing.T, c ownCase, before []byte, e *contract.Error) string {
	t.Helper()
	for _, x := range byContract {
		if strings.Contains(e.Message, x.says) {
			return x.why
		}
	}
	t.Errorf("%s: only git accepts, as %v\n%s%q", c.from, e, c.diff, before)
	return "WRONG"
}
