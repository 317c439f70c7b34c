package openwop

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/schemas/openwop"
)

// CheckpointEvery is how many entries a checkpoint signs at most.
const CheckpointEvery = 1000

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
	want := c.head
	if want == "" {
		want = strings.Repeat("0", hex.EncodedLen(sha256.Size))
	}
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

// Sign makes the checkpoints of all entries of the record in dir after the entry `after`, at
// least one in CheckpointEvery entries and one at the end, and gives each to emit, in order. A
// chain that is broken anywhere is an error that matches ErrBroken, and nothing more is signed.
func Sign(ctx context.Context, dir string, after int64, key ed25519.PrivateKey, fingerprint string,
	emit func(SignedCheckpoint) error,
) error {
	var c chain
	sign := func() error {
		root := c.root()
		raw, err := hex.DecodeString(root)
		if err != nil {
			return err
		}
		return emit(SignedCheckpoint{Key: fingerprint, Checkpoint: openwop.Checkpoint{
			ID: fmt.Sprintf("cp-%012d", c.seq), AtSequence: c.seq, MerkleRoot: root,
			Signature: base64.StdEncoding.EncodeToString(ed25519.Sign(key, raw))}})
	}
	err := ledger.Lines(dir, func(line []byte) error {
		if a := c.next(line); a != nil {
			return fmt.Errorf("%w at event %d", ErrBroken, a.AtSeq)
		}
		if c.seq <= after {
			c.leaves = c.leaves[:0]
		}
		if len(c.leaves) == CheckpointEvery {
			return errors.Join(sign(), ctx.Err())
		}
		return ctx.Err()
	})
	if err == nil && c.seq < after {
		err = fmt.Errorf("%w: a checkpoint is about event %d, and the record ends at %d", ErrBroken, after, c.seq)
	}
	if err == nil && len(c.leaves) > 0 {
		err = sign()
	}
	return err
}

// Verified is what Verify found out.
type Verified struct {
	openwop.AuditVerifyResult
	// Entries is the number of the last entry, Signed that of the last that a good checkpoint signs.
	Entries, Signed int64
	// Faults say what is wrong with checkpoints, for people.
	Faults []string
}

// Verify walks the record in dir and tells of entries from..to (to 0: the last) what it found:
// whether each follows the one before it, and whether the checkpoints that sign them are of keys,
// and of these entries. Checkpoints must be in the order of their entries.
func Verify(ctx context.Context, dir string, cps []SignedCheckpoint, keys []TrustedKey, from, to int64,
) (Verified, error) {
	v := Verified{AuditVerifyResult: openwop.AuditVerifyResult{FromSeq: from, ToSeq: to, ChainValid: true,
		CheckpointsValid: true, Checkpoints: []openwop.Checkpoint{}, Anomalies: []openwop.Anomaly{}}}
	inRange := func(seq int64) bool { return seq >= from && (to == 0 || seq <= to) }
	fault := func(cp SignedCheckpoint, format string, args ...any) {
		if inRange(cp.AtSequence) {
			v.CheckpointsValid = false
			if len(v.Faults) < maxAnomalies {
				v.Faults = append(v.Faults,
					fmt.Sprintf("checkpoint at event %d: ", cp.AtSequence)+fmt.Sprintf(format, args...))
			}
		}
	}
	var c chain
	at := 0 // the next checkpoint
	err := ledger.Lines(dir, func(line []byte) error {
		if a := c.next(line); a != nil && inRange(a.AtSeq) {
			v.ChainValid = false
			if len(v.Anomalies) < maxAnomalies {
				v.Anomalies = append(v.Anomalies, *a)
			}
		}
		if at < len(cps) && cps[at].AtSequence == c.seq {
			cp := cps[at]
			at++
			why := refused(cp, c.root(), keys)
			if why != "" {
				fault(cp, "%s", why)
			} else {
				v.Signed = c.seq
			}
			if inRange(cp.AtSequence) {
				v.Checkpoints = append(v.Checkpoints, cp.Checkpoint)
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return v, err
	}
	v.Entries = c.seq
	if to == 0 {
		v.ToSeq = c.seq
	}
	if v.FromSeq > v.ToSeq {
		v.FromSeq = v.ToSeq // an empty record
	}
	for _, cp := range cps[at:] {
		fault(cp, "the record has no such event, or the checkpoints are not in order")
		if inRange(cp.AtSequence) {
			v.Checkpoints = append(v.Checkpoints, cp.Checkpoint)
		}
	}
	v.ChainValid = v.ChainValid && v.CheckpointsValid
	return v, nil
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
