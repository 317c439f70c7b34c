package audit

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/mod/sumdb/note"

	"github.com/threegate/tool-exec/gate/openwop"
)

// Keys are those that an auditor trusts.
type Keys struct {
	// Signers sign checkpoints of the record.
	Signers []openwop.TrustedKey
	// Witnesses sign that they saw a checkpoint, and none that contradicts it.
	Witnesses []note.Verifier
}

// kindCosignature is the kind of a witness's key in signed notes (c2sp.org/signed-note).
const kindCosignature = 4

// ParseKeys reads public keys, one a line: of signers as OpenSSH writes them, and of witnesses as signed notes have
// them, name+hash+key. The option until="N" bounds what a key that was changed may have signed. An error names
// the line.
func ParseKeys(text []byte) (k Keys, err error) {
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.Count(line, "+") >= 2 && !strings.Contains(line, " ") {
			var w note.Verifier
			w, err = witness(line)
			k.Witnesses = append(k.Witnesses, w)
		} else {
			var s openwop.TrustedKey
			s, err = signer(line)
			same := func(other openwop.TrustedKey) bool { return other.Fingerprint == s.Fingerprint }
			if slices.ContainsFunc(k.Signers, same) {
				err = errors.Join(err, errors.New("the key is named twice"))
			}
			k.Signers = append(k.Signers, s)
		}
		if err != nil {
			return Keys{}, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return k, nil
}

func signer(line string) (k openwop.TrustedKey, err error) {
	public, _, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		return k, err
	}
	held, ok := public.(ssh.CryptoPublicKey)
	if !ok || public.Type() != ssh.KeyAlgoED25519 {
		return k, errors.New("it is no Ed25519 key")
	}
	k.Public, _ = held.CryptoPublicKey().(ed25519.PublicKey) // the type says so
	k.Fingerprint = ssh.FingerprintSHA256(public)
	for _, o := range options {
		number, ok := strings.CutPrefix(o, `until="`)
		number, closed := strings.CutSuffix(number, `"`)
		if k.Until, err = strconv.ParseInt(number, 10, 64); !ok || !closed || err != nil || k.Until < 1 {
			return k, fmt.Errorf("the option %q is not until=\"NUMBER\"", o)
		}
	}
	return k, nil
}

// cosigner is a witness's key of the kind cosignature/v1 (c2sp.org/tlog-cosignature).
type cosigner struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func (c cosigner) Name() string    { return c.name }
func (c cosigner) KeyHash() uint32 { return c.hash }

// Verify reports whether sig is a time and a signature over it and the note.
func (c cosigner) Verify(msg, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	signed := fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(sig), msg)
	return ed25519.Verify(c.key, signed, sig[8:])
}

// witness reads the key of a witness: of its own kind, or a plain one.
func witness(vkey string) (note.Verifier, error) {
	name, rest, _ := strings.Cut(vkey, "+")
	hash, encoded, _ := strings.Cut(rest, "+")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) != 1+ed25519.PublicKeySize || key[0] != kindCosignature {
		return note.NewVerifier(vkey)
	}
	c := cosigner{name: name, hash: keyHash(name, key), key: key[1:]}
	if name == "" || hash != fmt.Sprintf("%08x", c.hash) {
		return nil, errors.New("the key is damaged: its hash is not that of its name and bytes")
	}
	return c, nil
}

// keyHash is the number by which signatures name a key.
func keyHash(name string, kindAndKey []byte) uint32 {
	sum := sha256.Sum256(slices.Concat([]byte(name+"\n"), kindAndKey))
	return binary.BigEndian.Uint32(sum[:])
}

// verifier is the key of a signer as that of a note of the log origin.
func verifier(origin string, k openwop.TrustedKey) (note.Verifier, error) {
	vkey, err := VerifierKey(origin, k)
	if err != nil {
		return nil, err
	}
	return note.NewVerifier(vkey)
}
