//go:build proof

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCaseForAStranger: a result is refused, released and delivered. An auditor packs what proves it, and somebody who
// has nothing to do with the node follows VERIFY.md to the letter in an empty folder, with programs that others wrote, and
// asks audit check; the same with an input left out, and not with another's. Nobody here is root.
func TestCaseForAStranger(t *testing.T) {
	n := newPeople(t)
	list, _ := ends()
	held := list[5]
	n.draftFor(n.approver, held)
	n.approve(held.id)
	n.approver.do("", threegate, "promote", held.id+".md")
	n.approver.cannot("quarantined", threegate, "wait", held.id)
	n.auditor.do("done", decide("release", held.id, "bob")...)
	n.auditor.do("delivered", threegate, "wait", held.id)

	// Who signs the record is somebody else, who may read it.
	notary := n.newPerson("games", gidPeople, gidAuditors)
	notary.key("notary")
	checkpoints := filepath.Join(notary.dir, "checkpoints")
	notary.do("signed up to", threegate, "audit", "checkpoint", "--key", "key", "--checkpoints", checkpoints)
	must(t, os.Chmod(notary.dir, 0o755))

	stranger := n.newPerson("man")
	impostor := stranger.key("alice")
	stranger.cannot("permission denied", threegate, "events")
	spicy := filepath.Join(filepath.Dir(n.dir), "spicy")
	raw, err := os.ReadFile(filepath.Join(repo, "build/proof/spicy"))
	must(t, errors.Join(err, os.WriteFile(spicy, raw, 0o755)))
	for without, says := range map[string][]string{
		"":       {"verified!", "job/seal.json: OK", `Good "threegate-request" signature for alice`, "Signature Verified Successfully"},
		"inputs": {"verified!", "job/seal.json: OK", "Signature Verified Successfully"},
	} {
		prove := []string{threegate, "audit", "prove", held.id, "-o", without + "case.tgz", "--checkpoints", checkpoints}
		if without != "" {
			prove = append(prove, "--without", without)
		}
		n.auditor.do("", prove...)
		// What he got elsewhere, and the file.
		desk := filepath.Join(stranger.dir, "desk")
		for name, from := range map[string]string{"case.tgz": filepath.Join(n.auditor.dir, without+"case.tgz"),
			"signer.pub": filepath.Join(notary.dir, "key.pub"), "allowed_signers": n.signers} {
			raw, err := os.ReadFile(from)
			must(t, errors.Join(err, os.MkdirAll(desk, 0o755), os.WriteFile(filepath.Join(desk, name), raw, 0o644)))
		}
		must(t, os.Chown(desk, int(stranger.as.Uid), int(stranger.as.Gid)))
		script := "set -euo pipefail; PATH+=:" + filepath.Dir(spicy) + "; cd desk; tar xzf case.tgz\n"
		text, err := exec.Command("tar", "xzOf", filepath.Join(desk, "case.tgz"), "VERIFY.md").Output()
		must(t, err)
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			script += block[1]
		}
		said := stranger.do("", "bash", "-c", script)
		for _, want := range says {
			if !strings.Contains(said, want) {
				t.Errorf("without %q: it does not say %q:\n%s", without, want, said)
			}
		}
		t.Log(said)
		check := []string{threegate, "audit", "check", "desk/case.tgz", "--trust", "desk/signer.pub"}
		said = stranger.do("All holds", append(check, "--signers", "desk/allowed_signers")...)
		if left := strings.Contains(said, "left out: inputs/script.py"); left != (without != "") ||
			!strings.Contains(said, "approved by alice") || !strings.Contains(said, "result.delivered") {
			t.Errorf("without %q:\n%s", without, said)
		}
		t.Log(said)
		must(t, os.WriteFile(filepath.Join(desk, "nobody"), []byte(impostor), 0o644))
		stranger.cannot("did not sign it", append(check, "--signers", "desk/nobody")...)
		must(t, os.RemoveAll(desk))
	}
}
