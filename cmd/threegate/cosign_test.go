package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCosign has a request of a high risk approved by two persons, on a node that wants two, and by some who are not.
func TestCosign(t *testing.T) {
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
	says := func(out, want string) {
		t.Helper()
		if !strings.Contains(out, want) {
			t.Errorf("want %q: %s", want, out)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(in(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(in(from), in(to)); err != nil {
			t.Fatal(err)
		}
	}
	call(0, "threegate", "init", "node", "--images", "no-images")
	var signers string
	for _, who := range []string{"alice", "bob", "carol"} {
		call(0, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", who)
		signers += who + " " + read(who+".pub")
	}
	signers += "Bob.2 " + read("alice.pub")
	write("node/signers", signers)
	write("node/threegate.yaml", "version: 1\napprovals: {require_signature: true, allowed_signers: signers, "+
		"min_approvers: {high: 2}}\nbackends: {era: {languages: {python: {image: sha256:"+strings.Repeat("0", 64)+"}}}}\n")
	const file = "TR-20260101-000000Z-two.md"
	write("in.csv", "a,b\n")
	call(0, "threegate", "draft", "ERA", "--requested-by", "carol", "--input", "in.csv", "--risk", "high", "-o", file)
	sign := func(who, as string, more ...string) []string {
		return append([]string{"approve", file, "--as", as, "--yes", "--sign", who, "--config", "node/threegate.yaml"}, more...)
	}
	promote := []string{"promote", file, "--node", "node"}

	says(call(1, "threegate", sign("bob", "bob", "--add-signature")...), "approved_by is missing")
	// A key that the node does not list signs nothing that is written.
	says(call(1, "threegate", sign("bob", "alice")...), "the key is listed for somebody else")
	if _, err := os.Stat(in(file + ".sig")); err == nil || strings.Contains(read(file), `approved_by: "alice"`) {
		t.Error("what the node refuses was written")
	}
	says(call(0, "threegate", sign("alice", "alice")...), "needs 2 approvers")
	approved := read(file)
	says(call(1, "threegate", promote...), "for the risk level high this node wants 2 approvers, and 1 approved")

	for as, want := range map[string]string{
		"ALICE@x.org":   "approved it already",
		"Carol":         "Carol asked for the run",
		"auto-approver": "is the name of a machine",
	} {
		says(call(1, "threegate", sign("bob", as, "--add-signature")...), want)
	}
	for _, as := range []string{"../bob", "plan.json", "bob\x1b[2J", ".bob"} {
		says(call(2, "threegate", sign("bob", as, "--add-signature")...), "can't be part of a name")
	}
	says(call(2, "threegate", "approve", file, "--add-signature", "--as", "bob"), "--add-signature signs what was approved")

	out := call(0, "threegate", sign("bob", "bob", "--add-signature")...)
	says(out, "Run as these words")
	says(out, "approved by bob, too")
	if read(file) != approved {
		t.Error("the second signature changed the request")
	}
	cmd := exec.Command("ssh-keygen", "-Y", "verify", "-f", "node/signers", "-I", "bob", "-n", "threegate-request", "-s",
		file+".bob.sig")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(approved)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("ssh-keygen: %v: %s", err, out)
	}
	good := read(file + ".bob.sig")

	// What the gate refuses gets no further signature: the profile has a registry of its own.
	for name, text := range map[string]string{"plan.jsonl": `{"type":"ToolRequest","tool":"git_status","args":{},` +
		`"request_id":"1","session_id":"s","timestamp":1}` + "\n", "registry.yaml": "version: 1\n"} {
		write(name, text)
	}
	const tools = "TR-20260101-000000Z-tools.md"
	call(0, "threegate", "draft", "ERA", "--language", "python", "--requested-by", "carol", "--risk", "high", "--input",
		"plan.jsonl", "--input", "registry.yaml", "--command", "threegate-tools run /in/plan.jsonl", "-o", tools)
	call(0, "threegate", "approve", tools, "--as", "alice", "--yes", "--sign", "alice")
	conf := read("node/threegate.yaml")
	write("fix.yaml", "version: 1\n")
	write("node/threegate.yaml", strings.Replace(conf, "{python:", "{image:", 1)+
		"tools: {profiles: {python: {registry: ../fix.yaml, image: image}}}\n")
	says(call(1, "threegate", "approve", tools, "--as", "bob", "--yes", "--sign", "bob", "--add-signature", "--config",
		"node/threegate.yaml"), "the profile python brings /in/registry.yaml")
	write("node/threegate.yaml", conf)
	// Nor does one that the first approver did not sign.
	call(0, "threegate", "draft", "ERA", "--requested-by", "carol", "-o", "TR-unsigned.md")
	call(0, "threegate", "approve", "TR-unsigned.md", "--as", "alice", "--yes")
	says(call(1, "threegate", "approve", "TR-unsigned.md", "--as", "bob", "--yes", "--sign", "bob", "--add-signature"),
		"TR-unsigned.md.sig is missing")

	// Not another person: the same one by another spelling, the same key, other bytes, nobody.
	move(file+".bob.sig", file+".BOB.sig")
	write(file+".bob.sig", good)
	call(0, "threegate", promote...)
	says(read("node/inbox/default/"+file+".sig"), "-----BEGIN THREEGATE APPROVER-----")
	if err := os.Remove(in("node/inbox/default/" + file)); err != nil {
		t.Fatal(err)
	}
	move(file+".BOB.sig", "aside")
	move(file+".bob.sig", "bob.sig")
	write(file+".Bob.2.sig", read(file+".sig"))
	says(call(1, "threegate", promote...), "signed with the key of")
	move(file+".Bob.2.sig", file+".bob.sig")
	says(call(1, "threegate", promote...), "the key is listed for somebody else")
	write("other", "other bytes")
	call(0, "ssh-keygen", "-q", "-Y", "sign", "-f", "bob", "-n", "threegate-request", "other")
	write(file+".bob.sig", read("other.sig"))
	says(call(1, "threegate", promote...), "the file was changed after it was signed")
	move(file+".bob.sig", file+".b b.sig")
	says(call(1, "threegate", promote...), "is not named after an approver")
	if err := os.Remove(in(file + ".b b.sig")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("bob.sig", in(file+".bob.sig")); err != nil {
		t.Fatal(err)
	}
	says(call(2, "threegate", promote...), "can't read the signature")
	for i := range 1000 {
		write(fmt.Sprintf("%s.n%d.sig", file, i), good)
	}
	says(call(2, "threegate", promote...), "at most 16 persons")
	for i := range 1000 {
		if err := os.Remove(in(fmt.Sprintf("%s.n%d.sig", file, i))); err != nil {
			t.Fatal(err)
		}
	}

	// A new approval drops the signatures of the one before.
	if err := os.Remove(in(file + ".bob.sig")); err != nil {
		t.Fatal(err)
	}
	move("bob.sig", file+".bob.sig")
	says(call(0, "threegate", sign("alice", "alice")...), file+".bob.sig did not fit the request any more and was removed")
	if _, err := os.Stat(in(file + ".bob.sig")); err == nil {
		t.Error("an outdated signature is left")
	}
}
