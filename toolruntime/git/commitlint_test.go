//go:build oracles

package git

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/threegate/tool-exec/toolruntime/registry"
)

// style are rules of commitlint about length and spelling, of which Conventional Commits 1.0 has none.
var style = []string{"body-max-line-length", "footer-max-line-length", "header-max-length", "header-trim", "subject-case",
	"subject-full-stop", "scope-case"}

// byPrograms are first lines that git revert and npm version write.
var byPrograms = regexp.MustCompile(`^(?:Revert "|v?\d+\.\d+\.\d+)`)

// TestCommitlint gives the last messages of the repositories that COMMIT_REPOS names (separated by spaces) to
// commit.message.conventional and to commitlint with config-conventional, which COMMITLINT names a folder of.
func TestCommitlint(t *testing.T) {
	repos := strings.Fields(os.Getenv("COMMIT_REPOS"))
	if len(repos) == 0 || os.Getenv("COMMITLINT") == "" {
		t.Fatal("COMMIT_REPOS names no repositories, or COMMITLINT no folder with @commitlint/cli and config-conventional")
	}
	var messages []string
	for _, repo := range repos {
		n := fmt.Sprint("--max-count=", (1000+len(repos)-1)/len(repos))
		out, err := exec.Command("git", "-C", repo, "log", "--no-merges", n, "-z", "--format=%B").Output()
		if err != nil {
			t.Fatalf("%s: %v", repo, err)
		}
		for m := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
			if m = strings.TrimRight(m, "\n"); m != "" && utf8.ValidString(m) {
				messages = append(messages, m)
			}
		}
	}
	if len(messages) < 990 {
		t.Fatalf("only %d messages", len(messages))
	}
	rules, err := registry.Parse([]byte("version: 1\nvalidators: [{rule: commit.message.conventional, enforcement: blocking}]"))
	if err != nil {
		t.Fatal(err)
	}
	k := keeper{rules: rules}
	count := map[string]int{}
	for i, v := range commitlint(t, messages) {
		_, err := k.message(messages[i])
		form := slices.DeleteFunc(slices.Clone(v.Errors), func(e string) bool { return slices.Contains(style, e) })
		switch {
		case err == nil && v.Valid:
			count["both accept"]++
		case err != nil && len(form) > 0:
			count["both refuse"]++
		case err == nil && len(form) == 0:
			slices.Sort(v.Errors)
			count["only commitlint refuses, for style: "+strings.Join(slices.Compact(v.Errors), ", ")]++
		case err != nil && slices.Contains(v.Warnings, "body-leading-blank"):
			count["only we refuse: no empty line after the first, of which commitlint warns"]++
		case err != nil && byPrograms.MatchString(messages[i]):
			count["only we refuse: git or npm wrote it, so commitlint does not look at it"]++
		default:
			t.Errorf("ours %v, commitlint %v: %q", err, v, messages[i])
		}
	}
	t.Logf("%d messages", len(messages))
	for _, what := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%5d %s", count[what], what)
	}
}

type lintVerdict struct {
	Valid            bool
	Errors, Warnings []string
}

func commitlint(t *testing.T, messages []string) (out []lintVerdict) {
	t.Helper()
	in, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "testdata/commitlint.mjs", os.Getenv("COMMITLINT"))
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &said
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	if err := json.Unmarshal(raw, &out); err != nil || len(out) != len(messages) {
		t.Fatalf("%d verdicts on %d messages, %v", len(out), len(messages), err)
	}
	return out
}
