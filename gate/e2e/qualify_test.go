package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A signed set runs through a private node; what came to another end is told, and nothing of it is
// seen in the node. A set that somebody else signed, or changed, does not run.
func TestQualify(t *testing.T) {
	n := newNode(t)
	n.untilServed()
	must(t, n.stop())
	set := t.TempDir()
	for _, c := range []string{"good/monty-value", "good/monty-loan", "bad/shell-pipe"} {
		must(t, os.CopyFS(filepath.Join(set, c), os.DirFS(filepath.Join("../../testdata/examples", c))))
	}
	n.threegate("qualify", "--set", set, "--make", "private.test.evals.e2e", "good/monty-value", "good/monty-loan",
		"bad/shell-pipe")
	manifest := filepath.Join(set, "qualify.json")
	// Of one of them something is expected that does not come.
	text := strings.Replace(read(t, manifest), `"exit_code": 0`, `"exit_code": 7`, 1)
	must(t, os.WriteFile(manifest, []byte(text), 0o644))

	key := filepath.Join(t.TempDir(), "key")
	must(t, exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).Run())
	public := strings.Join(strings.Fields(read(t, key+".pub"))[:2], " ")
	signers := key + ".signers"
	must(t, os.WriteFile(signers, []byte("alice namespaces=\"threegate-qualify\" "+public+"\n"), 0o644))
	sign := func(namespace string) {
		_ = os.Remove(manifest + ".sig")
		must(t, exec.Command("ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", key, manifest).Run())
	}
	run := func(args ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(threegate, append([]string{"qualify", "--node", n.dir, "--set", set}, args...)...)
		out, err := cmd.Output()
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	signed := []string{"--signers", signers, "--signer", "alice"}
	refused := func(why string, want int, args ...string) {
		t.Helper()
		if out, code := run(args...); code != want || out != "" {
			t.Errorf("%s: exit code %d, %s", why, code, out)
		}
	}
	refused("nobody is said to have signed it", 2)
	refused("nobody signed it", 1, signed...)
	sign("threegate-request")
	refused("it was signed as a request", 1, signed...)
	sign("threegate-qualify")
	refused("somebody else signed it", 1, "--signers", signers, "--signer", "bob")
	must(t, os.WriteFile(manifest, []byte(text+" "), 0o644))
	refused("it was changed", 1, signed...)
	must(t, os.WriteFile(manifest, []byte(text), 0o644))

	seen := func() [3]int {
		return [3]int{len(n.events()), n.count("core-inbound", "*"), n.count("quarantine", "*", "*")}
	}
	before := seen()
	out, code := run(append(signed, "--json")...)
	var card struct {
		Passed      bool
		TaskCount   int
		PassedCount int
		Tasks       []struct {
			TaskID         string
			Passed         bool
			SafetyFindings []struct{ Kind string }
		}
	}
	if err := json.Unmarshal([]byte(out), &card); err != nil || code != 1 {
		t.Fatalf("exit code %d, %v: %s", code, err, out)
	}
	if card.Passed || card.TaskCount != 3 || card.PassedCount != 2 || card.Tasks[0].Passed ||
		card.Tasks[0].SafetyFindings[0].Kind != "run-ended-otherwise" {
		t.Errorf("%s", out)
	}
	if left := n.privates(); len(left) > 0 || seen() != before {
		t.Errorf("the node shows something of it: %v, before %v; private nodes left: %v", seen(), before, left)
	}
}
