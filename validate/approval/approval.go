// Package approval verifies detached OpenSSH signatures over requests, as made
// by "ssh-keygen -Y sign", against a list of allowed signers. Everything but the
// list is hostile. The package has no clock and reads no files.
package approval

import (
	"bytes"
	"crypto/rsa"
	"errors"
	"fmt"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// Namespace is what a signature must be made for, so that signatures made for
// mail, files or commits approve nothing.
const Namespace = "threegate-request"

// MaxSignatureBytes bounds a signature file.
const MaxSignatureBytes = 64 << 10

// MinRSABits is the size of the smallest RSA key that counts.
const MinRSABits = 2048

// Why a signature is not valid. Errors of Verify wrap one of these.
var (
	ErrSignature = errors.New("not a signature of this request")
	ErrSigner    = errors.New("no allowed signer")
	ErrSigners   = errors.New("the list of allowed signers can't be read")
)

// Verify is VerifyFor for Namespace.
func Verify(allowedSigners []byte, approver string, message, sig []byte, at time.Time) error {
	return VerifyFor(Namespace, allowedSigners, approver, message, sig, at)
}

// VerifyFor says whether sig is a signature over message, made for namespace with a
// key that allowedSigners (the text of an allowed_signers file of ssh-keygen)
// lists for approver at the time at. It returns nil exactly if so.
func VerifyFor(namespace string, allowedSigners []byte, approver string, message, sig []byte, at time.Time) error {
	signers, err := ParseSigners(allowedSigners)
	if err != nil {
		return err
	}
	// Say first what is wrong with the signature itself: the key that it names
	// must have made it over these bytes, whoever's key it is.
	key, err := signedBy(namespace, message, sig)
	if err != nil {
		return err
	}
	return signers.allow(namespace, approver, key, at)
}

// SignedBy is the fingerprint of the key that made sig over message for Namespace, whoever's key it is. An error wraps
// ErrSignature.
func SignedBy(message, sig []byte) (fingerprint string, err error) {
	key, err := signedBy(Namespace, message, sig)
	if err != nil {
		return "", err
	}
	return ssh.FingerprintSHA256(key), nil
}

func signedBy(namespace string, message, sig []byte) (ssh.PublicKey, error) {
	s, err := parseSignature(sig)
	if err != nil {
		return nil, err
	}
	if s.Namespace != namespace {
		return nil, fmt.Errorf("%w: it was made for the namespace %q, not %q", ErrSignature, bounded(s.Namespace),
			namespace)
	}
	if err := sshsig.Verify(bytes.NewReader(message), s, s.PublicKey, s.HashAlgorithm, namespace); err != nil {
		return nil, fmt.Errorf("%w: the file was changed after it was signed, or the signature belongs to another one",
			ErrSignature)
	}
	return s.PublicKey, nil
}

func parseSignature(sig []byte) (*sshsig.Signature, error) {
	if len(sig) > MaxSignatureBytes {
		return nil, fmt.Errorf("%w: it has %d bytes, %d are allowed", ErrSignature, len(sig), MaxSignatureBytes)
	}
	sig = bytes.TrimSpace(sig)
	if bytes.Count(sig, []byte("-----BEGIN")) > 1 {
		return nil, fmt.Errorf("%w: the file holds more than one signature", ErrSignature)
	}
	s, err := sshsig.Unarmor(sig)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not an OpenSSH signature", ErrSignature)
	}
	if s.PublicKey == nil || s.Signature == nil {
		return nil, fmt.Errorf("%w: it is incomplete", ErrSignature)
	}
	switch s.Signature.Format {
	case ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384,
		ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256:
	default: // ssh-rsa signs with SHA-1
		return nil, fmt.Errorf("%w: signatures of the kind %q don't count", ErrSignature, bounded(s.Signature.Format))
	}
	if c, ok := s.PublicKey.(ssh.CryptoPublicKey); ok {
		if k, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok && k.N.BitLen() < MinRSABits {
			return nil, fmt.Errorf("%w: its RSA key has %d bits, %d are the least", ErrSignature, k.N.BitLen(),
				MinRSABits)
		}
	}
	return s, nil
}

func bounded(s string) string { return s[:min(len(s), 60)] }
