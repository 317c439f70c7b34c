package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// ErrUnstated says that what came before was signed, and that jobs are damaged whose results were to get statements.
var ErrUnstated = errors.New("not every result has a statement")

// Sign writes checkpoints of what the record of a node has after the last ones in dir, with a statement of each result
// that was delivered and has none, and returns the number of the last event, and of the last that was signed before.
// Nothing is signed that it does not read in the record itself, and in files that are as their seal on record. A
// record whose chain is broken, or that is not what an earlier checkpoint signs, gives an error that matches
// openwop.ErrBroken.
func Sign(ctx context.Context, cfg *config.Node, dir string, s openwop.Signer) (last, before int64, err error) {
	var damaged error
	f, err := readFolder(dir, func(file string, wrong error) {
		damaged = errors.Join(damaged, fmt.Errorf("%s is no checkpoint: %w", file, wrong))
	})
	if err = errors.Join(err, damaged); err != nil {
		return 0, 0, err
	}
	var t tree
	var jobs runs
	var delivered []*run
	m := openwop.NewMaker(f.openwop, s, func(cp openwop.SignedCheckpoint) error {
		data, err := json.Marshal(cp)
		if err != nil {
			return err
		}
		return durable.WriteFile(dir, cp.ID+suffixOpenWOP, append(data, '\n'), 0o644)
	})
	err = ledger.Lines(filepath.Join(cfg.Dir, spool.DirLedger), func(line []byte) error {
		if err := errors.Join(t.add(line), m.Next(line), ctx.Err()); err != nil {
			return err
		}
		for len(f.notes) > 0 && f.notes[0].N <= t.size {
			if err := errors.Join(t.still(f.notes[0]), f.notes[0].of(cfg.LogOrigin())); err != nil {
				return err
			}
			before, f.notes = f.notes[0].N, f.notes[1:]
		}
		e, err := ledger.Parse(line)
		if done := jobs.note(e); done != nil && err == nil && done.unstated(cfg, dir) {
			delivered = append(delivered, done)
		}
		return err
	})
	if err == nil && len(f.notes) > 0 {
		err = fmt.Errorf("%w: %s is about event %d, and the record ends at %d", openwop.ErrBroken, f.notes[0].file,
			f.notes[0].N, t.size)
	}
	if err == nil {
		err = m.End()
	}
	if err != nil {
		return t.size, before, err
	}
	var unstated error // by a job that is damaged no other one is held up
	for _, done := range delivered {
		unstated = errors.Join(unstated, done.state(cfg, dir, s), ctx.Err())
	}
	if unstated != nil {
		unstated = fmt.Errorf("%w: %w", ErrUnstated, unstated)
	}
	if t.size == before {
		return t.size, before, unstated
	}
	signed, err := t.note(cfg.LogOrigin(), s)
	if err != nil {
		return 0, 0, err
	}
	return t.size, before, errors.Join(unstated, durable.WriteFile(dir, noteName(t.size), signed, 0o644))
}

// still wants the log, as it is now, to be what an earlier checkpoint signs.
func (t *tree) still(c noted) error {
	root, err := t.root()
	if err == nil && (c.N != t.size || root != c.Hash) {
		err = fmt.Errorf("%w: %s signs other events than those of the record", openwop.ErrBroken, c.file)
	}
	return err
}

// of wants a checkpoint to be of a log. With another name the same key would sign a log that no witness has seen.
func (c noted) of(origin string) error {
	if c.Origin != origin {
		return fmt.Errorf("%w: the log is called %q now, and %q in %s: node.origin must stay", openwop.ErrBroken,
			origin, c.Origin, c.file)
	}
	return nil
}

// note is a signed checkpoint of the log as it is now.
func (t *tree) note(origin string, s openwop.Signer) ([]byte, error) {
	root, err := t.root()
	if err != nil {
		return nil, err
	}
	v, err := verifier(origin, openwop.TrustedKey{Public: s.Public})
	if err != nil {
		return nil, err
	}
	c := Checkpoint{Origin: origin, Tree: tlog.Tree{N: t.size, Hash: root}}
	return note.Sign(&note.Note{Text: c.text()}, noteSigner{v, s})
}

// noteSigner is a signer of notes.
type noteSigner struct {
	note.Verifier
	s openwop.Signer
}

func (n noteSigner) Sign(msg []byte) ([]byte, error) { return n.s.Sign(msg) }
