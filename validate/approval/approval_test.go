package approval_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/threegate/tool-exec/validate/approval"
)

var (
	message = []byte("---\nrequest_type: tool_request\n---\n")
	now     = time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)
)

func signerOf(t *testing.T, key crypto.Signer) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ed(t *testing.T) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signerOf(t, key)
}

func sign(t *testing.T, s ssh.Signer, namespace string, msg []byte) []byte {
	t.Helper()
	sig, err := sshsig.Sign(bytes.NewReader(msg), s, sshsig.HashSHA512, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return sshsig.Armor(sig)
}

func line(principals, options string, s ssh.Signer) string {
	if options != "" {
		options += " "
	}
	return principals + " " + options + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(s.PublicKey()))) +
		" a comment\n"
}

func TestVerify(t *testing.T) {
	alice, bob := ed(t), ed(t)
	good := sign(t, alice, approval.Namespace, message)
	tests := []struct {
		name, signers, approver string
		sig                     []byte
		msg                     []byte
		want                    error
	}{
		{"good", line("alice", "", alice), "alice", good, message, nil},
		{"comments and other lines", "# x\n\n" + line("bob", "", bob) + line("alice", "", alice), "alice", good,
			message, nil},
		{"principals", line("carol,alice", "", alice), "alice", good, message, nil},
		{"pattern", line("*@example.org", "", alice), "alice@example.org", good, message, nil},
		{"quoted principals", line(`"alice smith,x"`, "", alice), "alice smith", good, message, nil},
		{"namespaces", line("alice", `namespaces="file,threegate-*"`, alice), "alice", good, message, nil},
		{"valid", line("alice", `valid-after="20260101",valid-before="20260301Z"`, alice), "alice", good, message, nil},
		{"second line counts", line("alice", `valid-before="20200101"`, alice) + line("alice", "", alice), "alice",
			good, message, nil},
		{"case", line("Alice", "", alice), "alice", good, message, nil},
		{"other spelling", line("a.lice@example.org", "", alice), "Ａlice", good, message, nil},
		{"case of a pattern", line("ALI*", "", alice), "alice", good, message, approval.ErrSigner},
		{"excluded in another case", line("*,!alice@example.org", "", alice), "Alice", good, message, approval.ErrSigner},
		{"excluded by a pattern", line("*,!*@example.org", "", alice), "alice@Example.ORG", good, message, approval.ErrSigner},
		{"trailing newline", line("alice", "", alice), "alice", append(bytes.Clone(good), "\n\n"...), message, nil},

		{"changed message", line("alice", "", alice), "alice", good, append(bytes.Clone(message), ' '), approval.ErrSignature},
		{"other namespace", line("alice", "", alice), "alice", sign(t, alice, "file", message), message, approval.ErrSignature},
		{"other approver", line("alice", "", alice), "bob", good, message, approval.ErrSigner},
		{"empty approver", line("*", "", alice), "", good, message, approval.ErrSigner},
		{"other key", line("alice", "", bob), "alice", good, message, approval.ErrSigner},
		{"nobody", "", "alice", good, message, approval.ErrSigner},
		{"excluded", line("*,!alice", "", alice), "alice", good, message, approval.ErrSigner},
		{"other namespaces", line("alice", `namespaces="file,git"`, alice), "alice", good, message, approval.ErrSigner},
		{"not yet", line("alice", `valid-after="20260301"`, alice), "alice", good, message, approval.ErrSigner},
		{"no more", line("alice", `valid-before="20260210120000Z"`, alice), "alice", good, message, approval.ErrSigner},
		{"authority", line("alice", "cert-authority", alice), "alice", good, message, approval.ErrSigner},
		{"bracket is no pattern", line("[a]lice", "", alice), "alice", good, message, approval.ErrSigner},

		{"no signature", line("alice", "", alice), "alice", []byte("hello"), message, approval.ErrSignature},
		{"empty", line("alice", "", alice), "alice", nil, message, approval.ErrSignature},
		{"two signatures", line("alice", "", alice), "alice", append(bytes.Clone(good), good...), message,
			approval.ErrSignature},
		{"truncated", line("alice", "", alice), "alice", good[:len(good)/2], message, approval.ErrSignature},
		{"other PEM", line("alice", "", alice), "alice", bytes.ReplaceAll(good, []byte("SSH SIGNATURE"),
			[]byte("CERTIFICATE")), message, approval.ErrSignature},
		{"huge", line("alice", "", alice), "alice", bytes.Repeat([]byte("x"), approval.MaxSignatureBytes+1), message,
			approval.ErrSignature},

		{"unknown option", line("alice", "no-touch", alice), "alice", good, message, approval.ErrSigners},
		{"bad time", line("alice", `valid-after="soon"`, alice), "alice", good, message, approval.ErrSigners},
		{"open quote", `"alice ` + line("x", "", alice), "alice", good, message, approval.ErrSigners},
		{"bad key", "alice ssh-ed25519 AAAA\n", "alice", good, message, approval.ErrSigners},
		{"no key", "alice\n", "alice", good, message, approval.ErrSigners},
		{"other type", strings.Replace(line("alice", "", alice), "ssh-ed25519", "ssh-rsa", 1), "alice", good, message,
			approval.ErrSigners},
	}
	for _, tt := range tests {
		err := approval.Verify([]byte(tt.signers), tt.approver, tt.msg, tt.sig, now)
		if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestKeyTypes(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	strong, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		key  crypto.Signer
		ok   bool
	}{{"RSA 1024", weak, false}, {"RSA 2048", strong, true}, {"ECDSA", ec, true}} {
		s := signerOf(t, tt.key)
		err := approval.Verify([]byte(line("alice", "", s)), "alice", message, sign(t, s, approval.Namespace, message), now)
		if (err == nil) != tt.ok || !tt.ok && !errors.Is(err, approval.ErrSignature) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A signature that OpenSSH's own ssh-keygen made (version 9.2) and a list as
// its manual shows it.
func TestOpenSSH(t *testing.T) {
	if err := approval.Verify([]byte(openSSHSigners), "alice@example.org", []byte("hello\n"), []byte(openSSHSignature),
		now); err != nil {
		t.Error(err)
	}
	if err := approval.Verify([]byte(openSSHSigners), "alice@example.org", []byte("Hello\n"), []byte(openSSHSignature),
		now); !errors.Is(err, approval.ErrSignature) {
		t.Error(err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(openSSHSigners, "alice@example.org", openSSHSignature)
	f.Add("a,b cert-authority,namespaces=\"x\" ssh-ed25519 AAAA", "a",
		"-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----")
	f.Fuzz(func(t *testing.T, signers, approver, sig string) {
		if err := approval.Verify([]byte(signers), approver, []byte("not what was signed"), []byte(sig), now); err == nil {
			t.Fatal("a message that was never signed verifies")
		}
	})
}
