package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSignedPlan approves with a plan and changes the node then: promote names what drifted. The signatures are
// ssh-keygen's, made by approve or by hand.
func TestSignedPlan(t *testing.T) {
	dir := t.TempDir()
	call := func(want int, program string, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Fatalf("%v: exit code %d, want %d: %s", args, got, want, out)
		}
		return string(out)
	}
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	call(0, "threegate", "init", "node", "--images", "no-images")
	call(0, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key")
	write("node/signers", "alice "+read("key.pub"))
	const image = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	const conf = "version: 1\napprovals: {require_signature: true, require_plan: true, allowed_signers: signers}\n" +
		"backends: {era: {languages: {python: {image: " + image + "}}}}\n"
	write("node/threegate.yaml", conf)
	const id = "TR-20260101-000000Z-plan"
	const file = id + ".md"
	write("in.csv", "a,b\n")
	call(0, "threegate", "draft", "ERA", "--input", "in.csv", "-o", file)
	if out := call(2, "threegate", "approve", file, "--as", "alice", "--yes", "--plan"); !strings.Contains(out, "--config") {
		t.Errorf("without a node: %s", out)
	}
	approve := []string{"approve", file, "--as", "alice", "--yes", "--sign", "key", "--config", "node/threegate.yaml"}
	call(0, "threegate", approve...)
	plan := read(file + ".plan.json")
	for _, want := range []string{image, `"io.containerd.runc.v2"`, `"/in/in.csv"`, `"name": "pids"`, `"network": "none"`} {
		if !strings.Contains(plan, want) {
			t.Errorf("%s is not in the plan: %s", want, plan)
		}
	}
	for namespace, signed := range map[string]string{"threegate-request": file, "threegate-plan": file + ".plan.json"} {
		cmd := exec.Command("ssh-keygen", "-Y", "verify", "-f", "node/signers", "-I", "alice", "-n", namespace, "-s",
			signed+".sig")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(read(signed))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("ssh-keygen on %s: %v: %s", signed, err, out)
		}
	}

	promote := []string{"promote", file, "--node", "node"}
	for want, change := range map[string][2]string{
		"image (planned " + image: {image, strings.Replace(image, "0000", "1111", 1)},
		"runtime (planned":        {"backends:", "containerd: {runtime: io.containerd.kata.v2}\nbackends:"},
		"limits: pids (planned":   {"backends:", "limits: {pids: 7}\nbackends:"},
	} {
		write("node/threegate.yaml", strings.Replace(conf, change[0], change[1], 1))
		if out := call(1, "threegate", promote...); !strings.Contains(out, want) {
			t.Errorf("want %q: %s", want, out)
		}
	}
	write("node/threegate.yaml", conf)
	write(file+".plan.json", strings.Replace(plan, `"pids"`, `"pods"`, 1))
	if out := call(1, "threegate", promote...); !strings.Contains(out, "the plan's signature is not valid") {
		t.Errorf("a plan that was changed: %s", out)
	}
	if err := os.Remove(filepath.Join(dir, file+".plan.json")); err != nil {
		t.Fatal(err)
	}
	if out := call(1, "threegate", promote...); !strings.Contains(out, "one of the three files is missing") {
		t.Errorf("a plan that is missing: %s", out)
	}
	// By hand, as whoever has the key in an agent or in hardware would.
	write(file+".plan.json", plan)
	for namespace, signed := range map[string]string{"threegate-request": file, "threegate-plan": file + ".plan.json"} {
		if err := os.Remove(filepath.Join(dir, signed+".sig")); err != nil {
			t.Fatal(err)
		}
		call(0, "ssh-keygen", "-q", "-Y", "sign", "-f", "key", "-n", namespace, signed)
	}
	call(0, "threegate", promote...)
	if got := read("node/inbox/default/" + file + ".sig"); !strings.Contains(got, "-----BEGIN THREEGATE PLAN-----") {
		t.Errorf("the inbox has %s", got)
	}
	// Approved again without a plan, none of the earlier one is left.
	write("node/threegate.yaml", strings.Replace(conf, "require_plan: true, ", "", 1))
	call(0, "threegate", approve...)
	for _, suffix := range []string{".plan.json", ".plan.json.sig"} {
		if _, err := os.Stat(filepath.Join(dir, file+suffix)); err == nil {
			t.Errorf("%s is left of an earlier approval", file+suffix)
		}
	}
}
