package toolruntime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/git"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

const mistakes = "../testdata/mistakes/"

// TestMistakes makes calls as models get them wrong, and compares the answers with answers.golden. An answer has to be
// enough to mend the call in one try: read the golden file so when it changes. THREEGATE_GOLDEN=1 writes it anew.
func TestMistakes(t *testing.T) {
	in := t.TempDir()
	script := `set -e
cp -r "$1" src && cd src && git init -q -b main && git add -A && git commit -q -m 'feat: base'
git checkout -q -b conf && printf 'theirs\n' > README.md && git commit -q -a -m 'feat: theirs' && git checkout -q main
git bundle create -q ../repository.bundle --all HEAD`
	from, err := filepath.Abs(mistakes + "workspace")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", script, "-", from)
	cmd.Dir = in
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.org",
		"GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.org", "GIT_AUTHOR_DATE=@0 +0000", "GIT_COMMITTER_DATE=@0 +0000")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w, err := workspace.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo, err := git.Import(t.Context(), w, t.TempDir(), filepath.Join(in, "repository.bundle"))
	if err != nil {
		t.Fatal(err)
	}
	var binary []byte
	for i := range 256 {
		binary = append(binary, byte(i))
	}
	if err := os.WriteFile(filepath.Join(w.Dir, "bin.dat"), binary, 0o644); err != nil {
		t.Fatal(err)
	}
	rules, err := registry.Parse([]byte("version: 1\nast: {language: python}\nshell_allow: ['^python3? ']\n" +
		"validators: [{rule: commit.message.conventional, enforcement: blocking}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := session(Options{}, Tools(w, repo, rules)...)
	calls, err := os.ReadFile(mistakes + "mistakes.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	n := 0
	for line := range bytes.Lines(calls) {
		var c struct {
			What, Tool string
			Args       json.RawMessage
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		n++
		resp := s.Do(t.Context(), &contract.ToolRequest{Type: "ToolRequest", Tool: c.Tool, Args: jsontext.Value(c.Args),
			RequestID: fmt.Sprint(n), SessionID: "s"})
		fmt.Fprintf(&got, "%s: %s %s\n", c.What, c.Tool, c.Args)
		if resp.OK {
			fmt.Fprintf(&got, "  ok: %s\n", resp.Data)
			continue
		}
		e := resp.Errors[0]
		fmt.Fprintf(&got, "  %s %s\n", e.Error(), e.Rule)
		if e.Hint == "" {
			t.Errorf("%s: %s, and no hint", c.What, e.Message)
		}
		for line := range strings.Lines(e.Hint) {
			fmt.Fprintf(&got, "  hint: %s\n", strings.TrimRight(line, "\n"))
		}
		for _, name := range []string{"threegate", "reflect", ":(top", "/tmp"} {
			if strings.Contains(e.Message+e.Hint, name) {
				t.Errorf("%s: the answer has %q", c.What, name)
			}
		}
	}
	golden := mistakes + "answers.golden"
	if os.Getenv("THREEGATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != got.String() {
		t.Errorf("the answers are not those of %s (%v):\n%s", golden, err, got.String())
	}
}
