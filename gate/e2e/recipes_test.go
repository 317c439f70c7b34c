package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// recipe is the first block of commands below a text of a document, for this node instead of a host's.
func (n *node) recipe(page, after string) string {
	n.t.Helper()
	_, text, found := strings.Cut(read(n.t, filepath.Join("../../docs", page)), after)
	var commands strings.Builder
	for line := range strings.Lines(text) {
		command, indented := strings.CutPrefix(line, "    ")
		switch {
		case indented:
			commands.WriteString(strings.ReplaceAll(command, "/var/lib/threegate", n.dir))
		case commands.Len() > 0 && strings.TrimSpace(line) != "":
			return commands.String()
		}
	}
	n.t.Fatalf("%s has no commands below %q (%v)", page, after, found)
	return ""
}

// sh runs commands as a person would paste them into a shell in dir.
func sh(t *testing.T, dir, commands string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(threegate)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, commands, out)
	}
	return string(out)
}

// The commands that replace `threegate qualify`: they note how requests end, and find no change where there is none.
func TestRecipeForAChangeOfHost(t *testing.T) {
	n := newNode(t)
	dir := t.TempDir()
	for _, c := range []string{"good/monty-value", "good/python-exit-3", "withheld/secret-on-stdout", "bad/shell-pipe"} {
		must(t, os.CopyFS(filepath.Join(dir, "cases", filepath.Base(c)),
			os.DirFS(filepath.Join("../../testdata/examples", c))))
	}
	out := sh(t, dir, n.recipe("operating.md", "**Does it still do what it did?**"))
	if out != "nothing changed\n" {
		t.Errorf("it says %q", out)
	}
	ends := read(t, filepath.Join(dir, "before.txt"))
	for _, want := range []string{`["delivered",0,"none"]`, `["delivered",3,"exit"]`, `"rule":"secrets.scan"`,
		`["cases/shell-pipe/request.md","REJECT","sec.shell.pipeline"]`} {
		if !strings.Contains(ends, want+"\n") {
			t.Errorf("it lacks %s:\n%s", want, ends)
		}
	}
	if es := n.events(); len(es) != 1 {
		t.Errorf("the record of the node tells of the runs: %+v", es)
	}
}

// The commands that replace `threegate quarantine export`: the copy of an item is proved by the ledger.
func TestRecipeForAFalseAlarm(t *testing.T) {
	n := newNode(t)
	r := era("TR-20260209-160501Z-recipe", "print(1)\n")
	r.command = "python /in/script.py | cat"
	n.send(r)
	f := n.await(r.id)
	dir := t.TempDir()
	out := sh(t, dir, strings.ReplaceAll(strings.ReplaceAll(n.recipe("reviewing.md", "To keep a false alarm"),
		"threegate events", "threegate events --node "+n.dir), "ITEM", f.Job))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], lines[1]+" ") {
		t.Errorf("the digests are not equal:\n%s", out)
	}
	if !exists(filepath.Join(dir, f.Job, "request.md")) {
		t.Error("the copy has no request")
	}
}

// The commands that judge the archive by another configuration, and that run a job of it once more.
func TestRecipesForTheArchive(t *testing.T) {
	n := newNode(t)
	r := era("TR-20260209-160501Z-stats", "open('/out/sum.txt', 'w').write('6')\n")
	r.outputs = []string{"sum.txt"}
	refused := era("TR-20260209-160502Z-refused", "print(1)\n")
	refused.command = "python /in/script.py | cat"
	for _, r := range []request{r, refused} {
		n.send(r)
		n.await(r.id)
	}
	dir := t.TempDir()
	flips := n.recipe("operating.md", "**What would another configuration have decided?**")
	both := strings.TrimSpace(flips) + " " + n.dir + "/quarantine/requests/*/request.md\n"
	out := sh(t, dir, both)
	if !strings.Contains(out, "2 files: 1 accepted, 1 rejected (1 blocking)\n") || strings.Contains(out, "on record") {
		t.Errorf("its own configuration decides in another way:\n%s", out)
	}
	must(t, os.RemoveAll(filepath.Join(dir, "new")))
	changed := strings.Replace(flips, "# change new/threegate.yaml", "echo 'shell_allow: [cat]' >>new/threegate.yaml", 1)
	out = sh(t, dir, strings.TrimSpace(changed)+" || [ $? = 1 ]")
	if !strings.Contains(out, "request.md: REJECT; on record: ACCEPT\n") || !strings.Contains(out, "1 other than on record") {
		t.Errorf("what another configuration would have decided:\n%s", out)
	}

	again := n.recipe("operating.md", "**Run a job of the archive once more.**")
	afresh := strings.Replace(n.recipe("operating.md", "counts no longer, here neither."), "--as alice", "--as alice --yes", 1)
	if out = sh(t, dir, "set -e\n"+again+afresh); !strings.Contains(out, "the same files\n") {
		t.Errorf("it says %q", out)
	}
	found, err := filepath.Glob(filepath.Join(dir, "afresh", "*.artifacts", "sum.txt"))
	if err != nil || len(found) != 1 || read(t, found[0]) != "6" {
		t.Errorf("%v, %v", found, err)
	}
	n.mustBeWhole()
}
