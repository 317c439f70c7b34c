package gate_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/validate/approval"
)

// TestTwoApprovers: a node that wants two persons refuses a request that one signed, and names both in the result of one
// that two signed.
func TestTwoApprovers(t *testing.T) {
	for name, signed := range map[string]bool{"one": false, "two": true} {
		t.Run(name, func(t *testing.T) {
			w, configure := planned(t)
			_, secret, err := ed25519.GenerateKey(rand.Reader)
			must(t, err)
			key, err := ssh.NewSignerFromSigner(secret)
			must(t, err)
			signers := filepath.Join(w.dir, "signers")
			text, err := os.ReadFile(signers)
			must(t, err)
			must(t, os.WriteFile(signers, append(append(text, "second.person "...),
				ssh.MarshalAuthorizedKey(key.PublicKey())...), 0o600))
			configure("max_age: 0s", "max_age: 0s, min_approvers: {low: 2, medium: 2, high: 2}")
			if signed {
				file := filepath.Join(w.cfg.Inboxes[0].Path, crashID+".md.sig")
				raw, err := os.ReadFile(strings.TrimSuffix(file, ".sig"))
				must(t, err)
				sig, err := sshsig.Sign(bytes.NewReader(raw), key, sshsig.HashSHA512, approval.Namespace)
				must(t, err)
				data, err := os.ReadFile(file)
				must(t, err)
				parts, err := approval.Split(data)
				must(t, err)
				parts.Also = []approval.Cosigner{{Name: "Second.Person@example.org", Signature: sshsig.Armor(sig)}}
				must(t, os.WriteFile(file, parts.Join(), 0o600))
			}
			must(t, w.process(&injector{}))
			if !signed {
				reasons, err := os.ReadFile(w.one(t, inRequests+"/reasons.json"))
				must(t, err)
				if !strings.Contains(string(reasons), `"approval.approvers"`) {
					t.Errorf("approval.approvers is not among the reasons: %s", reasons)
				}
				return
			}
			if v := w.atEnd(false); len(v.notes) > 0 {
				t.Error(v.notes)
			}
			results, err := filepath.Glob(filepath.Join(w.cfg.CoreInbound.Path, "TS-*.md"))
			must(t, err)
			if len(results) != 1 {
				t.Fatalf("%d results", len(results))
			}
			result, err := os.ReadFile(results[0])
			must(t, err)
			if !strings.Contains(string(result), "Approved by: operator, Second.Person@example.org\n") {
				t.Errorf("the result does not name both: %s", result)
			}
		})
	}
}

// TestAnApproverSignsTwice: a signature that comes along twice counts once, and fsck finds nothing wrong with that.
func TestAnApproverSignsTwice(t *testing.T) {
	w, _ := planned(t)
	file := filepath.Join(w.cfg.Inboxes[0].Path, crashID+".md.sig")
	data, err := os.ReadFile(file)
	must(t, err)
	parts, err := approval.Split(data)
	must(t, err)
	parts.Also = []approval.Cosigner{{Name: "operator", Signature: parts.Signature}}
	must(t, os.WriteFile(file, parts.Join(), 0o600))
	must(t, w.process(&injector{}))
	if e := w.eventsOf(t, ledger.DeliveryAttempted)[0]; len(e.Approvers) != 1 {
		t.Errorf("approved by %v", e.Approvers)
	}
	if v := w.atEnd(false); len(v.notes) > 0 {
		t.Error(v.notes)
	}
}
