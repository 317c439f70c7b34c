package validate

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"slices"
	"strings"
	"testing"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/threegate/tool-exec/validate/approval"
)

// TestMinApprovers counts distinct persons with keys of their own.
func TestMinApprovers(t *testing.T) {
	raw := []byte(strings.Replace(eraRequest, "Risk level: low", "Risk level: high", 1))
	p := testPolicy()
	keys := map[string]ssh.Signer{}
	for _, who := range []string{"j.okafor", "bob", "core", "mallory"} {
		_, secret, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if keys[who], err = ssh.NewSignerFromSigner(secret); err != nil {
			t.Fatal(err)
		}
		if who != "mallory" {
			p.AllowedSigners = append(p.AllowedSigners, who+" "+string(ssh.MarshalAuthorizedKey(keys[who].PublicKey()))...)
		}
	}
	p.AllowedSigners = append(p.AllowedSigners, "twin,deploy-bot "+
		string(ssh.MarshalAuthorizedKey(keys["j.okafor"].PublicKey()))...)
	p.RequireSignature, p.MinApprovers, p.Forbidden = true, MinApprovers{Low: 1, Medium: 1, High: 2}, DefaultForbidden()
	sign := func(who string, message []byte) []byte {
		sig, err := sshsig.Sign(bytes.NewReader(message), keys[who], sshsig.HashSHA512, approval.Namespace)
		if err != nil {
			t.Fatal(err)
		}
		return sshsig.Armor(sig)
	}
	also := func(name, who string) approval.Cosigner {
		return approval.Cosigner{Name: name, Signature: sign(who, raw)}
	}
	req, _ := Request("", raw, p)
	if req == nil {
		t.Fatal("the request can't be read")
	}
	few := []string{"approval.approvers"}
	for name, c := range map[string]struct {
		also []approval.Cosigner
		want []string // rules
		says string
		who  string
	}{
		"two":             {[]approval.Cosigner{also("bob", "bob")}, nil, "", "j.okafor bob"},
		"two, one twice":  {[]approval.Cosigner{also("Bob", "bob"), also("bob@x.org", "bob")}, nil, "", "j.okafor Bob"},
		"one":             {nil, few, "wants 2 approvers, and 1 approved", "j.okafor"},
		"one, in another": {[]approval.Cosigner{also("J.Okafor", "j.okafor")}, few, "already", "j.okafor"},
		"a key twice":     {[]approval.Cosigner{also("twin", "j.okafor")}, few, "signed with the key of", "j.okafor"},
		"a machine":       {[]approval.Cosigner{also("deploy-bot", "j.okafor")}, few, "is the name of a machine", "j.okafor"},
		"a stranger": {[]approval.Cosigner{also("bob", "mallory")}, []string{"approval.approvers", "approval.signature"},
			"is not listed", "j.okafor"},
		"other bytes": {[]approval.Cosigner{{Name: "bob", Signature: sign("bob", []byte("other"))}},
			[]string{"approval.approvers", "approval.signature"}, "was changed after it was signed", "j.okafor"},
		"a stranger too many": {[]approval.Cosigner{also("bob", "bob"), also("eve", "mallory")},
			[]string{"approval.signature"},
			"is not listed", "j.okafor bob"},
	} {
		sig := approval.Approval{Signature: sign("j.okafor", raw), Also: c.also}.Join()
		by, fs := Signature(raw, sig, req, p)
		var rules []string
		var all strings.Builder
		for _, f := range fs {
			rules = append(rules, f.Rule)
			all.WriteString(f.Message + "\n")
		}
		slices.Sort(rules)
		if !slices.Equal(rules, c.want) || !strings.Contains(all.String(), c.says) {
			t.Errorf("%s: %v, want %v, %q: %s", name, rules, c.want, c.says, all.String())
		}
		var who []string
		for _, a := range by.Approvers {
			who = append(who, a.Name)
			if a.How != approval.Signed || !strings.HasPrefix(a.Fingerprint, "SHA256:") {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if who := strings.Join(who, " "); who != c.who {
			t.Errorf("%s: approved by %q, want %q", name, who, c.who)
		}
	}
	// The requester does not count, unless the node lets requesters approve.
	sig := approval.Approval{Signature: sign("j.okafor", raw), Also: []approval.Cosigner{also("bob@x.org", "bob")}}.Join()
	req.RequestedBy = "Bob"
	if _, fs := Signature(raw, sig, req, p); len(fs) != 1 || !strings.Contains(fs[0].Message, "asked for the run") {
		t.Errorf("the requester as second: %v", fs)
	}
	p.AllowSelfApproval = true
	if _, fs := Signature(raw, sig, req, p); len(fs) != 0 {
		t.Errorf("the requester as second, where that is allowed: %v", fs)
	}
	p.AllowSelfApproval, req.Risk.Level = false, "medium"
	if _, fs := Signature(raw, sig, req, p); len(fs) != 0 {
		t.Errorf("at a lower level: %v", fs)
	}
}
