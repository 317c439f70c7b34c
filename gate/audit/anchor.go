package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Anchor is what somebody kept elsewhere of a record: a head, or a checkpoint. Either is part of it for ever.
type Anchor struct {
	seq  int64
	hash string
	// checkpoint is set instead of the hash.
	checkpoint *Checkpoint
}

// ParseHead reads an anchor as NUMBER:HASH.
func ParseHead(s string) (*Anchor, error) {
	number, hash, ok := strings.Cut(s, ":")
	seq, err := strconv.ParseInt(number, 10, 64)
	if raw, hexErr := hex.DecodeString(hash); !ok || err != nil || seq < 0 || hexErr != nil || len(raw) != sha256.Size {
		return nil, errors.New("it is no head NUMBER:HASH")
	}
	return &Anchor{seq: seq, hash: hash}, nil
}

// ParseAnchor reads an anchor that is a file: a head as a line, or a checkpoint, which witnesses may have signed, too.
func ParseAnchor(raw []byte) (*Anchor, error) {
	if head, err := ParseHead(strings.TrimSpace(string(raw))); err == nil {
		return head, nil
	}
	c, err := ParseCheckpoint(raw)
	if err != nil {
		return nil, fmt.Errorf("it is neither a head nor a checkpoint: %w", err)
	}
	return &Anchor{seq: c.N, checkpoint: &c}, nil
}

func (a *Anchor) String() string {
	if a.checkpoint == nil {
		return fmt.Sprintf("%d:%s", a.seq, a.hash)
	}
	return fmt.Sprintf("%q, %d events", a.checkpoint.Origin, a.seq)
}

// anchor compares the record, once it has seq events, with the anchor.
func (r *record) anchor(seq int64) {
	a := r.o.Anchor
	if a == nil || a.seq != seq {
		return
	}
	if a.checkpoint == nil {
		_, head := r.chain.Head()
		r.report.Anchored = head == a.hash
		return
	}
	root, err := r.tree.root()
	r.report.Anchored = err == nil && root == a.checkpoint.Hash && a.checkpoint.Origin == r.origin
	if r.o.Keys == nil {
		return
	}
	signer, witnesses, why := a.checkpoint.signedBy(*r.o.Keys)
	if !signer && len(witnesses) == 0 {
		r.found(CheckAnchor, r.dir, "give the keys of its signer and its witnesses to --trust", "the anchor: %s", why)
	}
	r.report.Witnesses = witnesses
}
