//go:build proof

package gate_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// desk is an empty folder of a user who has nothing to do with the node, and the programs that others wrote.
type desk struct {
	dir, programs string
}

const nobody = 65534

func newDesk(t *testing.T) desk {
	t.Helper()
	built, err := filepath.Abs("../build/proof")
	must(t, err)
	tmp, err := os.MkdirTemp("", "threegate-desk-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	d := desk{filepath.Join(tmp, "desk"), filepath.Join(tmp, "bin")}
	must(t, errors.Join(os.Chmod(tmp, 0o755), os.Mkdir(d.dir, 0o755), os.Mkdir(d.programs, 0o755)))
	copyNode(t, filepath.Join(built, "spicy"), filepath.Join(d.programs, "spicy"))
	must(t, os.Chown(d.dir, nobody, nobody))
	return d
}

// do runs a script there.
func (d desk) do(script string) (string, error) {
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = d.dir
	cmd.Env = []string{"PATH=" + d.programs + ":/usr/bin:/bin", "HOME=" + d.dir, "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var shell = regexp.MustCompile("(?s)```sh\n(.*?)```")

// follows unpacks a case file, and does what VERIFY.md says, word by word.
func (d desk) follows(t *testing.T, file []byte) (string, error) {
	t.Helper()
	for name, data := range map[string][]byte{"case.tgz": file, "signer.pub": []byte(notary.public()),
		"allowed_signers": []byte(operator.line() + alice.line() + carol.line())} {
		must(t, os.WriteFile(filepath.Join(d.dir, name), data, 0o644))
	}
	if out, err := d.do("rm -rf job events approvals orders signers statement.sigstore.json; tar xzf case.tgz"); err != nil {
		t.Fatal(err, out)
	}
	text, err := os.ReadFile(filepath.Join(d.dir, "VERIFY.md"))
	must(t, err)
	var script strings.Builder
	for _, block := range shell.FindAllStringSubmatch(string(text), -1) {
		script.WriteString(block[1])
	}
	return d.do(script.String())
}

// TestProofByOthers: another user follows VERIFY.md in an empty folder, and npm's @sigstore/verify reads the statement. Each
// refuses a changed byte.
func TestProofByOthers(t *testing.T) {
	a := newAudited(t)
	must(t, a.checkpoint(notary))
	d := newDesk(t)
	for _, c := range []struct {
		request int
		without string
		says    []string
	}{
		{7, "", []string{"verified!", "job/seal.json: OK", `Good "threegate-request" signature for operator`,
			`Good "threegate-request" signature for carol`, `Good "threegate-plan" signature for operator`,
			"Signature Verified Successfully"}},
		{7, "inputs", []string{"verified!", "Signature Verified Successfully"}},
		{4, "", []string{"verified!", `Good "threegate-request" signature for operator`, "Signature Verified Successfully"}},
		{2, "", []string{"verified!", "job/seal.json: OK"}},
	} {
		said, err := d.follows(t, a.proved(t, requestID(c.request), strings.Fields(c.without)...))
		if err != nil {
			t.Errorf("request %d: %v: %s", c.request, err, said)
		}
		for _, want := range c.says {
			if !strings.Contains(said, want) {
				t.Errorf("request %d: it does not say %q: %s", c.request, want, said)
			}
		}
		t.Logf("request %d:\n%s", c.request, said)
	}
	for _, name := range []string{"events/", "job/seal.json", "job/stdout", "job/request.md", "job/result.md", "approvals/1.sig",
		"statement.sigstore.json", ".spicy"} {
		list := unpacked(t, a.proved(t, requestID(7)))
		for i, p := range list {
			if strings.Contains(p.name, name) && len(p.data) > 0 {
				list[i].data = bytes.Clone(p.data)
				list[i].data[len(p.data)/2] ^= 1
				break
			}
		}
		if said, err := d.follows(t, archive(t, list)); err == nil {
			t.Errorf("a changed byte of %s is accepted: %s", name, said)
		}
	}
}

func TestStatementByOthers(t *testing.T) {
	a := newAudited(t)
	must(t, a.checkpoint(notary))
	d := newDesk(t)
	if said, err := d.follows(t, a.proved(t, requestID(7))); err != nil {
		t.Fatal(err, said)
	}
	verify := func(bundle string) (string, error) {
		cmd := exec.Command("node", "../deploy/proof/verify.mjs", bundle, filepath.Join(d.dir, "signer.pem"))
		modules, err := filepath.Abs("../build/proof/node_modules")
		must(t, err)
		cmd.Env = append(os.Environ(), "MODULES="+modules)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	bundle := filepath.Join(d.dir, "statement.sigstore.json")
	if said, err := verify(bundle); err != nil || !strings.Contains(said, "verified") {
		t.Fatal(err, said)
	}
	raw, err := os.ReadFile(bundle)
	must(t, err)
	at := bytes.Index(raw, []byte(`"payload": "`)) + 60
	for _, change := range []int{at, bytes.Index(raw, []byte(`"sig": "`)) + 20} {
		changed := bytes.Clone(raw)
		changed[change] = map[bool]byte{true: 'B', false: 'A'}[changed[change] == 'A']
		must(t, os.WriteFile(bundle, changed, 0o644))
		if said, err := verify(bundle); err == nil {
			t.Errorf("a changed byte is accepted: %s", said)
		}
	}
}
