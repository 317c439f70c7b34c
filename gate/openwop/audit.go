package openwop

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/schemas/openwop"
)

// CheckpointEvery is how many entries a checkpoint signs at most.
const CheckpointEvery = 1000

// zeroHash is what the first entry has for the hash of the one before it.
var zeroHash = strings.Repeat("0", hex.EncodedLen(sha256.Size))

// maxAnomalies are listed: after one forged entry each may be one.
const maxAnomalies = 100

// ErrBroken says that a record can't be signed, as its chain is broken.
var ErrBroken = errors.New("the chain of the record is broken")

// SignedCheckpoint is a Checkpoint and which key signed it: the SHA256 fingerprint of OpenSSH.
type SignedCheckpoint struct {
	openwop.Checkpoint
	Key string `json:"key"`
}

// TrustedKey is a key that checkpoints may be signed with, up to the entry Until; 0 is no bound.
type TrustedKey struct {
	Fingerprint string
	Public      ed25519.PublicKey
	Until       int64
}

// chain walks the entries of a record. An entry is a line; its hash is the SHA-256 of the line.
type chain struct {
	seq    int64
	head   string // the hash of the last entry
	leaves []string
}

// next takes in one entry, and returns an anomaly if it does not follow on.
func (c *chain) next(line []byte) *openwop.Anomaly {
	var e struct {
		Seq  int64  `json:"seq"`
		Prev string `json:"prev"`
	}
	bad := schemas.DecodeOpen(line, &e) != nil
	want := cmp.Or(c.head, zeroHash)
	c.seq++
	c.head = schemas.SHA256(line)
	c.leaves = append(c.leaves, c.head)
	if bad || e.Seq != c.seq || e.Prev != want {
		return &openwop.Anomaly{AtSeq: c.seq, ExpectedPrevHash: want, ActualPrevHash: e.Prev}
	}
	return nil
}

// root is the Merkle root of the entries since the last root: a parent is the hash of the hex of
// its two children, a last odd node goes up as it is.
func (c *chain) root() string {
	level := c.leaves
	for len(level) > 1 {
		var up []string
		for i := 0; i+1 < len(level); i += 2 {
			up = append(up, schemas.SHA256([]byte(level[i]+level[i+1])))
		}
		if len(level)%2 == 1 {
			up = append(up, level[len(level)-1])
		}
		level = up
	}
	c.leaves = c.leaves[:0]
	return level[0]
}

// Signer signs the bytes of a message with the Ed25519 key of that fingerprint.
type Signer struct {
	Fingerprint string
	Public      ed25519.PublicKey
	Sign        func(message []byte) ([]byte, error)
}

// Maker makes the checkpoints of a record: at least one in CheckpointEvery entries, and one at the end.
type Maker struct {
	c      chain
	cps    []SignedCheckpoint // those that there are, in order
	signer Signer
	emit   func(SignedCheckpoint) error
}

// NewMaker makes a Maker for a record that has some checkpoints, in the order of their entries, and gives each new one
// to emit.
func NewMaker(cps []SignedCheckpoint, s Signer, emit func(SignedCheckpoint) error) *Maker {
	return &Maker{cps: cps, signer: s, emit: emit}
}

// Next takes in the next line of the record. An error that matches ErrBroken says that it does not follow on, or is not
// what an earlier checkpoint signs.
func (m *Maker) Next(line []byte) error {
	if a := m.c.next(line); a != nil {
		return fmt.Errorf("%w at event %d", ErrBroken, a.AtSeq)
	}
	if len(m.cps) > 0 {
		if cp := m.cps[0]; m.c.seq >= cp.AtSequence {
			m.cps = m.cps[1:]
			if m.c.seq != cp.AtSequence || m.c.root() != cp.MerkleRoot {
				return fmt.Errorf("%w: the checkpoint at event %d signs other events than those of the record",
					ErrBroken, cp.AtSequence)
			}
		}
		return nil
	}
	if len(m.c.leaves) == CheckpointEvery {
		return m.sign()
	}
	return nil
}

// End signs the rest, once every line was taken in.
func (m *Maker) End() error {
	if len(m.cps) > 0 {
		return fmt.Errorf("%w: a checkpoint is about event %d, and the record ends at %d", ErrBroken,
			m.cps[len(m.cps)-1].AtSequence, m.c.seq)
	}
	if len(m.c.leaves) > 0 {
		return m.sign()
	}
	return nil
}

func (m *Maker) sign() error {
	root := m.c.root()
	raw, err := hex.DecodeString(root)
	if err != nil {
		return err
	}
	sig, err := m.signer.Sign(raw)
	if err != nil {
		return err
	}
	return m.emit(SignedCheckpoint{Key: m.signer.Fingerprint, Checkpoint: openwop.Checkpoint{
		ID: fmt.Sprintf("cp-%012d", m.c.seq), AtSequence: m.c.seq, MerkleRoot: root,
		Signature: base64.StdEncoding.EncodeToString(sig)}})
}

// Verified is what a Checker found out.
type Verified struct {
	openwop.AuditVerifyResult
	// Entries is the number of the last entry, Signed that of the last that a good checkpoint signs.
	Entries, Signed int64
	// Faults say what is wrong with checkpoints, also outside of from..to, for people.
	Faults []string
}

// Checker walks a record and tells of entries from..to (to 0: the last) what it found: whether each follows the one
// before it, and whether the checkpoints that sign them are of keys, and of these entries.
type Checker struct {
	v    Verified
	c    chain
	cps  []SignedCheckpoint // those to come
	keys []TrustedKey
	to   int64
}

// NewChecker makes a Checker. Checkpoints must be in the order of their entries.
func NewChecker(cps []SignedCheckpoint, keys []TrustedKey, from, to int64) *Checker {
	return &Checker{cps: cps, keys: keys, to: to, v: Verified{AuditVerifyResult: openwop.AuditVerifyResult{
		FromSeq: from, ToSeq: to, ChainValid: true, CheckpointsValid: true, Checkpoints: []openwop.Checkpoint{},
		Anomalies: []openwop.Anomaly{}}}}
}

func (k *Checker) told(seq int64) bool { return seq >= k.v.FromSeq && (k.to == 0 || seq <= k.to) }

func (k *Checker) fault(cp SignedCheckpoint, why string) {
	if len(k.v.Faults) < maxAnomalies {
		k.v.Faults = append(k.v.Faults, fmt.Sprintf("checkpoint at event %d: %s", cp.AtSequence, why))
	}
	k.v.CheckpointsValid = k.v.CheckpointsValid && !k.told(cp.AtSequence)
}

// Next takes in the next line of the record, and returns the number of the last entry that a good checkpoint signs.
func (k *Checker) Next(line []byte) (signed int64) {
	if a := k.c.next(line); a != nil && k.told(a.AtSeq) {
		k.v.ChainValid = false
		if len(k.v.Anomalies) < maxAnomalies {
			k.v.Anomalies = append(k.v.Anomalies, *a)
		}
	}
	if len(k.cps) > 0 && k.cps[0].AtSequence == k.c.seq {
		cp := k.cps[0]
		k.cps = k.cps[1:]
		if why := refused(cp, k.c.root(), k.keys); why != "" {
			k.fault(cp, why)
		} else {
			k.v.Signed = k.c.seq
		}
		if k.told(cp.AtSequence) {
			k.v.Checkpoints = append(k.v.Checkpoints, cp.Checkpoint)
		}
	}
	return k.v.Signed
}

// Head is the number and the hash of the last entry.
func (k *Checker) Head() (seq int64, hash string) { return k.c.seq, cmp.Or(k.c.head, zeroHash) }

// End is what was found out, once every line was taken in.
func (k *Checker) End() Verified {
	v := &k.v
	v.Entries = k.c.seq
	if k.to == 0 {
		v.ToSeq = k.c.seq
	}
	if v.FromSeq > v.ToSeq {
		v.FromSeq = v.ToSeq // an empty record
	}
	for _, cp := range k.cps {
		k.fault(cp, "the record has no such event, or the checkpoints are not in order")
		if k.told(cp.AtSequence) {
			v.Checkpoints = append(v.Checkpoints, cp.Checkpoint)
		}
	}
	v.ChainValid = v.ChainValid && v.CheckpointsValid
	return *v
}

// refused says why a checkpoint does not vouch for a root, or "".
func refused(cp SignedCheckpoint, root string, keys []TrustedKey) string {
	if cp.MerkleRoot != root {
		return "it signs other entries than those of the record"
	}
	raw, err := hex.DecodeString(root)
	sig, serr := base64.StdEncoding.DecodeString(cp.Signature)
	if err != nil || serr != nil {
		return "its signature is damaged"
	}
	for _, k := range keys {
		if k.Fingerprint != cp.Key {
			continue
		}
		switch {
		case k.Until > 0 && cp.AtSequence > k.Until:
			return fmt.Sprintf("its key was trusted up to event %d only", k.Until)
		case !ed25519.Verify(k.Public, raw, sig):
			return "its signature is not of its key"
		}
		return ""
	}
	return "its key is not among those that are trusted"
}
