// Package audit proves a node to somebody who does not trust it: one verdict over the folders, the chain of the record,
// its checkpoints, an anchor that was kept elsewhere, signatures and times, and what could not be checked.
//
// It reads only. The node is hostile: whoever may write there may have changed all of it, but has neither the keys of
// checkpoints nor those of the persons who approve.
package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// The checks of this package, besides those of fsck.
const (
	CheckAnchor     fsck.Check = "anchor"     // the record still holds what was noted elsewhere
	CheckCheckpoint fsck.Check = "checkpoint" // checkpoints are of trusted keys and of this record; enough is signed
)

// MaxUnsigned is how old the oldest event after the last checkpoint may be.
const MaxUnsigned = time.Hour

// ahead is by how much the clock of the host that checks may be behind the node's.
const ahead = 5 * time.Minute

// Options say what the node is compared with.
type Options struct {
	// Now defaults to time.Now.
	Now func() time.Time
	// Checkpoints is their folder.
	Checkpoints string
	// Keys may sign checkpoints. Without any, checkpoints are not looked at.
	Keys *Keys
	// MaxUnsigned defaults to the constant.
	MaxUnsigned time.Duration
	Anchor      *Anchor
	// Signers is the text of allowed signers of persons.
	Signers []byte
	// From and To bound what OpenWOP's result tells of; To 0 is the last event.
	From, To int64
}

// Unchecked is what could not be checked, and how it can be.
type Unchecked struct {
	What string `json:"what"`
	How  string `json:"how"`
}

// Report is the verdict.
type Report struct {
	Events   int64  `json:"events"`
	Head     string `json:"head"`
	Anchored bool   `json:"anchored"`
	// Witnesses are those that signed the anchor.
	Witnesses []string `json:"witnesses,omitempty"`
	// Signed is the last event that a good checkpoint signs.
	Signed     int64           `json:"signed_up_to"`
	Signatures fsck.Signatures `json:"signatures"`
	// Findings say what does not hold, Remarks what is on record and an auditor may ask about.
	Findings []fsck.Finding `json:"findings"`
	Remarks  []fsck.Finding `json:"remarks"`
	// Unchecked is what this check says nothing about.
	Unchecked []Unchecked `json:"not_checked"`
	// OpenWOP is the same of chain and checkpoints, in the terms of its audit profile.
	OpenWOP openwop.Verified `json:"-"`
}

// Whole says that all holds that was checked.
func (r *Report) Whole() bool { return len(r.Findings) == 0 }

// Run checks the node that cfg configures. An error means that the check could not be made.
func Run(ctx context.Context, cfg *config.Node, o Options) (*Report, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxUnsigned == 0 {
		o.MaxUnsigned = MaxUnsigned
	}
	r := &record{dir: filepath.Join(cfg.Dir, spool.DirLedger), o: o, now: o.Now(), origin: cfg.LogOrigin(),
		report: &Report{Findings: []fsck.Finding{}, Remarks: []fsck.Finding{}}}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	r.tree, r.chain = tree{}, nil // a large record needs the memory
	node, err := fsck.Run(ctx, cfg, fsck.Options{Now: o.Now, Signers: o.Signers})
	if err != nil {
		return nil, err
	}
	v := r.report
	v.Signatures = node.Signatures
	v.Findings = append(v.Findings, node.Found...)
	v.Remarks = append(v.Remarks, slices.Concat(node.Remarks, node.Warnings)...)
	r.unchecked(node)
	return v, nil
}

// record is one reading of the record.
type record struct {
	dir    string
	origin string
	o      Options
	now    time.Time
	report *Report
	tree   tree
	chain  *openwop.Checker
	notes  []noted // those to come
	// oldest is the time of the earliest event that is not signed.
	oldest time.Time
	ahead  int // events that lie in the future
}

func (r *record) found(c fsck.Check, where, hint, format string, args ...any) {
	r.report.Findings = append(r.report.Findings, fsck.Finding{Check: c, Where: where, Hint: hint,
		What: fmt.Sprintf(format, args...)})
}

const (
	mendRecord = "keep the node as it is, and compare it with a backup"
	mendAnchor = "events were cut off, or the record was written anew, since that was noted; " + mendRecord
)

// read walks the record once.
func (r *record) read(ctx context.Context) error {
	var cps []openwop.SignedCheckpoint
	var keys []openwop.TrustedKey
	if r.o.Keys != nil {
		keys = r.o.Keys.Signers
		var err error
		if cps, err = r.checkpoints(); err != nil {
			return err
		}
	}
	r.chain = openwop.NewChecker(cps, keys, max(r.o.From, 1), r.o.To)
	signed := int64(0)
	r.anchor(0)
	err := ledger.Lines(r.dir, func(line []byte) error {
		if err := r.tree.add(line); err != nil {
			return err
		}
		signed = max(signed, r.chain.Next(line))
		r.anchor(r.tree.size)
		for len(r.notes) > 0 && r.notes[0].N <= r.tree.size {
			if r.note(r.notes[0]) {
				signed = r.tree.size
			}
			r.notes = r.notes[1:]
		}
		r.when(line, signed == r.tree.size)
		return ctx.Err()
	})
	switch {
	case errors.Is(err, ledger.ErrDamaged):
		r.found(fsck.CheckLedger, r.dir, mendRecord, "the record is not whole: %v", err)
	case err != nil:
		return err
	}
	r.report.OpenWOP = r.chain.End()
	seq, head := r.chain.Head()
	r.report.Events, r.report.Head, r.report.Signed = seq, fmt.Sprintf("%d:%s", seq, head), signed
	if r.o.Keys != nil {
		r.signedEnough()
	}
	if a := r.o.Anchor; a != nil && !r.report.Anchored {
		r.found(CheckAnchor, r.dir, mendAnchor, "the record does not hold the anchor %s", a)
	}
	return nil
}

// when looks at the time of an event.
func (r *record) when(line []byte, signed bool) {
	var e struct {
		Time time.Time `json:"time"`
	}
	if schemas.DecodeOpen(line, &e) != nil {
		return // a finding of the chain's
	}
	switch {
	case signed:
		r.oldest = time.Time{}
	case r.oldest.IsZero() || e.Time.Before(r.oldest):
		r.oldest = e.Time
	}
	if e.Time.Sub(r.now) < ahead {
		return
	}
	if r.ahead++; r.ahead == 1 {
		r.found(fsck.CheckTime, r.dir, "compare the clocks of this host and of the node's",
			"event %d and perhaps others lie in the future: %s", r.tree.size, e.Time.Format(time.RFC3339))
	}
}

// signedEnough wants a good checkpoint, and no old event after it.
func (r *record) signedEnough() {
	const hint = "threegate audit checkpoint signs them; find out why it did not run, or who removed checkpoints"
	for _, what := range r.report.OpenWOP.Faults {
		r.found(CheckCheckpoint, r.o.Checkpoints, mendRecord, "%s", what)
	}
	for _, late := range r.notes {
		r.found(CheckCheckpoint, late.file, mendRecord, "checkpoint at event %d: the record has no such event", late.N)
	}
	switch age := r.now.Sub(r.oldest); {
	case r.report.Signed == 0 && r.report.Events > 0:
		r.found(CheckCheckpoint, r.o.Checkpoints, hint, "no checkpoint of a trusted key signs this record")
	case !r.oldest.IsZero() && age > r.o.MaxUnsigned:
		r.found(CheckCheckpoint, r.o.Checkpoints, hint,
			"the last good checkpoint signs up to event %d of %d; an event after it is %s old (--max-unsigned %s)",
			r.report.Signed, r.report.Events, age.Round(time.Second), r.o.MaxUnsigned)
	}
}

// unchecked lists what nobody looked at.
func (r *record) unchecked(node *fsck.Report) {
	list := []Unchecked{}
	add := func(when bool, how, format string, args ...any) {
		if when {
			list = append(list, Unchecked{What: fmt.Sprintf(format, args...), How: how})
		}
	}
	v := r.report
	add(r.o.Anchor == nil, "keep this head or a checkpoint elsewhere, and give it to --anchor next time",
		"whether the end was cut off, or the whole node put back to an earlier time")
	add(r.o.Keys == nil, "--trust FILE with the public keys of those who sign checkpoints",
		"whether the record was written anew: no checkpoint was looked at")
	add(r.o.Keys != nil && v.Signed < v.Events, "threegate audit checkpoint signs them",
		"whether the last %d events were written anew: no checkpoint signs them yet", v.Events-v.Signed)
	add(r.o.Signers == nil, "--signers FILE with the allowed signers that you know",
		"whether approvers and those who give orders are who the node says: its own list of signers was used")
	add(v.Signatures.NamedOnly > 0, "approvals.require_signature asks for signatures from then on",
		"who approved %d requests: the node wanted no signature, and only names stand there", v.Signatures.NamedOnly)
	add(v.Signatures.Gone > 0, "a backup of the archive has them",
		"the files and signatures of %d requests, which were pruned on record", v.Signatures.Gone)
	add(node.Unsealed > 0, "nothing: an older version wrote no seals",
		"whether files of %d jobs were changed: they ended before this node sealed any", node.Unsealed)
	for _, dir := range node.Unseen {
		add(true, "run it as a user who may read there", "what lies in %s", dir)
	}
	v.Unchecked = list
}

// unreadable says that a file of checkpoints is none.
func (r *record) unreadable(file string, err error) {
	if errors.Is(err, fs.ErrPermission) {
		r.found(fsck.CheckUnreadable, file, "run it as a user who may read there", "can't be read: %v", err)
		return
	}
	r.found(CheckCheckpoint, file, "compare it with a backup", "it is no checkpoint: %v", err)
}
