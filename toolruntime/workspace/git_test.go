package workspace

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

var cases = flag.Int("patch.cases", 1000, "random patches to compare with git apply")

// TestLikeGit gives the same random patches, good and spoilt, to file_patch and to `git apply`. What
// file_patch accepts, git accepts, and both write the same bytes. What only git accepts is one
// of the two kinds that are refused on purpose.
func TestLikeGit(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 1))
	var batch []gitCase
	for i := range *cases {
		c := randomCase(r, fmt.Sprint("f", i))
		if c.broken || c.mode != "" { // git stops at the first patch that it can't read, and rejects no whole file
			compare(t, []gitCase{c})
			continue
		}
		if batch = append(batch, c); len(batch) == 500 {
			compare(t, batch)
			batch = nil
		}
	}
	compare(t, batch)
}

type gitCase struct {
	name, content, diff string
	broken              bool
	// mode is what the patch says of the kind of file, if anything; absent, that the file is not there.
	mode   string
	absent bool
}

func compare(t *testing.T, cs []gitCase) {
	t.Helper()
	git, own := t.TempDir(), t.TempDir()
	var all bytes.Buffer
	for _, c := range cs {
		for _, dir := range []string{git, own} {
			if c.absent {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, c.name), []byte(c.content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		all.WriteString(c.diff)
	}
	cmd := exec.Command("git", "apply", "--reject", "-")
	cmd.Dir, cmd.Stdin = git, &all
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CEILING_DIRECTORIES=" + git, "GIT_DIR=/dev/null",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C"}
	out, runErr := cmd.CombinedOutput()
	if len(cs) > 1 && strings.Contains(string(out), "corrupt patch") {
		t.Fatalf("a patch of the batch can't be read: %s", out)
	}
	accepted, strict := 0, 0
	for _, c := range cs {
		_, rejErr := os.Stat(filepath.Join(git, c.name+".rej"))
		gitTook := rejErr != nil && (len(cs) > 1 || runErr == nil)
		code := call(t, own, c.name, c.diff)
		got, err := readMode(filepath.Join(own, c.name))
		switch {
		case code != "" && c.absent != (err != nil), code != "" && !c.absent && got != "-rw-r--r-- "+c.content:
			t.Errorf("refused with %s, but changed:\n%s%q", code, c.diff, c.content)
		case code != "" && gitTook:
			if strict++; !stricter(t, c) {
				t.Errorf("only git accepts:\n%s%q", c.diff, c.content)
			}
		case code == "" && !gitTook:
			t.Errorf("git refuses: %s\n%s%q", out, c.diff, c.content)
		case code == "":
			accepted++
			if want, err := readMode(filepath.Join(git, c.name)); err != nil || got != want {
				t.Errorf("got  %q\nwant %q, %v\n%s%q", got, want, err, c.diff, c.content)
			}
		}
	}
	if len(cs) > 100 && (accepted < len(cs)/4 || strict > len(cs)/2) {
		t.Errorf("of %d cases %d were accepted, and %d by git only: they show too little", len(cs), accepted, strict)
	}
}

// stricter says whether file_patch refuses a case on purpose.
func stricter(t *testing.T, c gitCase) bool {
	t.Helper()
	f, err := parsePatch(c.name, c.diff)
	if err != nil {
		return c.broken || c.absent && (c.mode == "120000" || c.mode == "160000") // git makes links and submodules
	}
	_, _, err = apply([]byte(c.content), f.TextFragments)
	e := contract.AsError(err)
	for _, why := range []string{"is ambiguous", "has no context lines"} {
		if strings.Contains(e.Message, why) {
			return true
		}
	}
	// Git compares the last line of context without its end.
	return strings.Contains(e.Message, "does not fit") && strings.Contains(c.diff, "\\ No newline")
}

// readMode reads a file and its mode.
func readMode(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	info, err := os.Lstat(file)
	if err != nil {
		return "", err
	}
	return info.Mode().String() + " " + string(data), nil
}

// headed gives a patch the lines that git writes before it: of a file that changes, or of one that is new.
func headed(r *rand.Rand, c gitCase) gitCase {
	c.mode = []string{"100644", "100755", "120000", "160000"}[r.IntN(4)]
	first := "diff --git a/" + c.name + " b/" + c.name + "\n"
	if r.IntN(2) == 0 {
		c.diff = first + "index 1234567..89abcde " + c.mode + "\n" + c.diff
		return c
	}
	c.absent = r.IntN(3) > 0
	text := strings.Repeat("+new\n", 1+r.IntN(3))
	c.diff = first + "new file mode " + c.mode + "\nindex 0000000..89abcde\n--- /dev/null\n+++ b/" + c.name +
		fmt.Sprintf("\n@@ -0,0 +1,%d @@\n", strings.Count(text, "\n")) + text
	return c
}

// randomCase makes a file of few different lines, edits it, writes the edit as hunks, and spoils
// every second patch.
func randomCase(r *rand.Rand, name string) gitCase {
	end := []string{"\n", "\r\n"}[r.IntN(5)/4]
	alphabet := 2 + r.IntN(20)
	word := func() string { return strings.Repeat(string(rune('a'+r.IntN(alphabet))), 1+r.IntN(2)) + end }
	var before []string
	for range r.IntN(30) {
		before = append(before, word())
	}
	if len(before) > 0 && r.IntN(6) == 0 {
		before[len(before)-1] = strings.TrimRight(before[len(before)-1], "\r\n")
	}
	c := gitCase{name: name, content: strings.Join(before, "")}
	hunks := randomHunks(r, before, word)
	if len(hunks) > 0 && r.IntN(2) == 0 {
		c.broken = spoil(r, hunks, &before)
		c.content = strings.Join(before, "")
	}
	c.diff = "--- a/" + name + "\n+++ b/" + name + "\n"
	if len(hunks) == 0 {
		c.diff, c.broken = c.diff+"@@ -1 +1 @@\n-zzz\n+y\n", false
	}
	for _, h := range hunks {
		c.diff += h.String()
	}
	if !c.broken && r.IntN(20) == 0 {
		return headed(r, c)
	}
	return c
}

type hunk struct {
	oldAt, oldN, newAt, newN int
	lines                    []string
}

func (h *hunk) add(op, text string) {
	if op != "+" {
		h.oldN++
	}
	if op != "-" {
		h.newN++
	}
	h.lines = append(h.lines, op+text)
}

func (h *hunk) String() string {
	s := fmt.Sprintf("@@ -%d,%d +%d,%d @@\n", h.oldAt, h.oldN, h.newAt, h.newN)
	for _, l := range h.lines {
		if s += l; !strings.HasSuffix(l, "\n") {
			s += "\n\\ No newline at end of file\n"
		}
	}
	return s
}

// randomHunks changes some stretches of a file, each with up to three lines of context.
func randomHunks(r *rand.Rand, before []string, word func() string) (out []*hunk) {
	context, shift := r.IntN(4), 0
	for at := r.IntN(6); at <= len(before); at += 2*context + 1 + r.IntN(8) {
		h := &hunk{}
		start := max(0, at-context)
		for _, l := range before[start:at] {
			h.add(" ", l)
		}
		removed := min(r.IntN(3), len(before)-at)
		for _, l := range before[at : at+removed] {
			h.add("-", l)
		}
		for range r.IntN(3) {
			h.add("+", word())
		}
		if h.oldN == h.newN && removed == 0 {
			h.add("+", word())
		}
		stop := min(len(before), at+removed+context)
		for _, l := range before[at+removed : stop] {
			h.add(" ", l)
		}
		h.oldAt, h.newAt = start+1, start+1+shift
		if h.oldN == 0 {
			h.oldAt--
		}
		if h.newN == 0 {
			h.newAt--
		}
		shift += h.newN - h.oldN
		out = append(out, h)
		at = stop
	}
	return out
}

// spoil changes the hunks or the file, and says whether git may be unable to read the patch.
func spoil(r *rand.Rand, hunks []*hunk, file *[]string) (broken bool) {
	h := hunks[r.IntN(len(hunks))]
	switch kind := r.IntN(50); kind % 7 {
	case 0, 1: // the place
		d := r.IntN(9) - 4
		for _, h := range hunks {
			h.oldAt, h.newAt = max(0, h.oldAt+d), max(0, h.newAt+d)
		}
	case 2: // the file before
		*file = append([]string{"new\n"}, *file...)
	case 3: // a line of the file
		if len(*file) > 0 {
			i := r.IntN(len(*file))
			(*file)[i] = "x" + (*file)[i]
		}
	case 4: // a line of the hunk
		i := r.IntN(len(h.lines))
		h.lines[i] = h.lines[i][:1] + "q" + h.lines[i][1:]
	case 5: // line ends of the file
		for i, l := range *file {
			(*file)[i] = strings.Replace(l, "\n", "\r\n", 1)
		}
	case 6: // lines are lost; rarely a count is wrong
		if kind == 6 {
			h.oldN += 1 + r.IntN(2)
			return true
		}
		*file = (*file)[:r.IntN(len(*file)+1)]
	}
	return false
}
