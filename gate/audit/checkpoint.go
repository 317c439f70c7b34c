package audit

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is what a signed checkpoint says of a log (c2sp.org/tlog-checkpoint): the record is a log whose entries
// are its lines.
type Checkpoint struct {
	Origin string
	tlog.Tree
	// Note is the whole of it, with its signatures.
	Note []byte
}

// ParseCheckpoint reads a checkpoint with its signatures, and verifies none.
func ParseCheckpoint(raw []byte) (Checkpoint, error) {
	text, _, ok := strings.Cut(string(raw), "\n\n")
	lines := strings.Split(text, "\n")
	if !ok || len(lines) < 3 || lines[0] == "" {
		return Checkpoint{}, errors.New("it has no origin, size, root and signature")
	}
	n, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != lines[1] {
		return Checkpoint{}, fmt.Errorf("its second line is no size")
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return Checkpoint{}, fmt.Errorf("its third line is no root")
	}
	return Checkpoint{Origin: lines[0], Tree: tlog.Tree{N: n, Hash: tlog.Hash(root)}, Note: raw}, nil
}

// text is what is signed.
func (c *Checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.N, base64.StdEncoding.EncodeToString(c.Hash[:]))
}

// signedBy says whether a signer signed a checkpoint, and which witnesses did. Why says what is wrong with the
// signatures of trusted keys, or that none of them signed.
func (c *Checkpoint) signedBy(k Keys) (signer bool, witnesses []string, why string) {
	list := slices.Clone(k.Witnesses)
	var own []uint32
	late := ""
	for _, s := range k.Signers {
		v, err := verifier(c.Origin, s)
		switch {
		case err != nil:
			return false, nil, "its origin can't be that of a log"
		case s.Until > 0 && c.N > s.Until:
			late = fmt.Sprintf("its key was trusted up to event %d only", s.Until)
		default:
			list, own = append(list, v), append(own, v.KeyHash())
		}
	}
	n, err := note.Open(c.Note, note.VerifierList(list...))
	if _, unknown := errors.AsType[*note.UnverifiedNoteError](err); unknown {
		if late == "" {
			late = "its key is not among those that are trusted"
		}
		return false, nil, late
	}
	if err != nil {
		return false, nil, "its signature is damaged: " + err.Error()
	}
	for _, sig := range n.Sigs {
		if sig.Name == c.Origin && slices.Contains(own, sig.Hash) {
			signer = true
		} else {
			witnesses = append(witnesses, sig.Name)
		}
	}
	return signer, witnesses, ""
}

// tree is the log that a record is.
type tree struct {
	size   int64
	hashes []tlog.Hash // in the order of tlog.StoredHashIndex
}

// ReadHashes makes it a tlog.HashReader.
func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	list := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		if x >= int64(len(t.hashes)) {
			return nil, fmt.Errorf("the log has no hash %d", x)
		}
		list[i] = t.hashes[x]
	}
	return list, nil
}

// add takes in the next entry.
func (t *tree) add(line []byte) error {
	more, err := tlog.StoredHashes(t.size, line, t)
	if err != nil {
		return err
	}
	t.hashes = append(t.hashes, more...)
	t.size++
	return nil
}

// root is that of the log as it is now.
func (t *tree) root() (tlog.Hash, error) { return tlog.TreeHash(t.size, t) }
