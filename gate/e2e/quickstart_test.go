package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The first request of a user comes to its result, on a node that nobody serves yet.
func TestQuickstart(t *testing.T) {
	n := emptyNodeIn(t, filepath.Join(t.TempDir(), "node"))
	n.giveImages()
	out := n.threegate("quickstart", "--node", n.dir, "--yes")
	for _, want := range []string{"$ threegate draft", "$ threegate approve", "$ threegate promote", "$ threegate wait",
		"delivered: " + n.cfg.CoreInbound.Path} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	artifacts, err := filepath.Glob(filepath.Join(n.cfg.CoreInbound.Path, "TS-*.artifacts/sum.txt"))
	if err != nil || len(artifacts) != 1 || read(t, artifacts[0]) != "6\n" {
		t.Errorf("the sum: %v, %v", artifacts, err)
	}
}

// docs/quickstart.md does what it says, word by word. Its commands run in a home of their own; approve is told --yes, as
// nobody is there to ask. Each command ends with the exit code that a comment in the page names, all others with 0.
func TestQuickstartPage(t *testing.T) {
	home := t.TempDir()
	n := &node{t: t, dir: filepath.Join(home, "node")}
	page := read(t, filepath.Join(repo, "docs", "quickstart.md"))
	var before, after strings.Builder
	script := &before
	for line := range strings.Lines(page) {
		line, code := strings.CutPrefix(line, "    ")
		switch {
		case !code, strings.HasPrefix(line, "make "), strings.HasPrefix(line, "export PATH="):
		case strings.HasPrefix(line, "bin/threegate serve"):
			script = &after
		default:
			script.WriteString(strings.ReplaceAll(line, "build/images", images))
		}
	}
	n.page(home, before.String())
	n.load()
	t.Cleanup(n.end)
	n.giveImages()
	n.serve()
	n.page(home, after.String())
	if got := read(t, filepath.Join(home, "first", "codes")); got != wantCodes(page) {
		t.Errorf("the commands ended with\n%s\nthe page says\n%s", got, wantCodes(page))
	}
	for file, want := range map[string]string{"TS-*-sum.artifacts/sum.txt": "6\n", "TS-*-list.artifacts/_value.json": "6\n"} {
		found, err := filepath.Glob(filepath.Join(n.dir, "core-inbound", file))
		if err != nil || len(found) != 1 || read(t, found[0]) != want {
			t.Errorf("%s: %v, %v", file, found, err)
		}
	}
}

// page runs commands of a page as bash does, with this build first in the path.
func (n *node) page(home, script string) {
	n.t.Helper()
	cmd := exec.Command("bash", "-c", `threegate() {
	local code=0 yes=
	[[ $1 != approve ]] || yes=--yes
	command threegate "$@" $yes || code=$?
	[[ $PWD != */first ]] || echo "$code $1" >>codes
}
[[ ! -d ~/first ]] || cd ~/first
`+script)
	cmd.Dir = repo
	cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+filepath.Dir(threegate)+":"+os.Getenv("PATH"),
		"THREEGATE_NODE="+n.dir)
	out, err := cmd.CombinedOutput()
	n.t.Logf("%s", out)
	if err != nil {
		n.t.Fatalf("the page's commands: %v", err)
	}
}

// wantCodes is the exit code of each command of the page's sections from the third on.
func wantCodes(page string) string {
	_, page, _ = strings.Cut(page, "## 3.")
	var codes strings.Builder
	command := regexp.MustCompile(`(?m)^    (?:.* && )?threegate (\S+)(?:.*# exit code (\d+))?`)
	for _, m := range command.FindAllStringSubmatch(page, -1) {
		if m[2] == "" {
			m[2] = "0"
		}
		fmt.Fprintf(&codes, "%s %s\n", m[2], m[1])
	}
	return codes.String()
}
