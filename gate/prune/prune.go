// Package prune removes by rule from the archive what was delivered long ago, or is more than is to be
// kept. The record names first what goes; then the folders go. So what is gone by rule is told from
// what is lost, and a removal that was cut off is brought to its end by the next one.
//
// It touches only jobs that were delivered, lie where the record says, and are whole by the checks of
// fsck. What is in quarantine, in progress, lost or damaged stays as it is.
package prune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/spool"
)

// Rule says what goes. A job that either part names goes.
type Rule struct {
	// OlderThan removes what was delivered longer ago; 0 removes nothing by age.
	OlderThan time.Duration
	// Keep removes the oldest until no more bytes are left; negative removes nothing by size.
	Keep int64
}

// String says in words what goes.
func (r Rule) String() string {
	var parts []string
	if r.OlderThan > 0 {
		parts = append(parts, fmt.Sprintf("older than %s", r.OlderThan))
	}
	if r.Keep >= 0 {
		parts = append(parts, fmt.Sprintf("more than %d bytes", r.Keep))
	}
	return strings.Join(parts, ", ")
}

// Item is a job that goes.
type Item struct {
	Job          string    `json:"job"`
	RequestID    string    `json:"request_id"`
	DeliveredUTC time.Time `json:"delivered_utc"`
	Bytes        int64     `json:"bytes"`
	dir          string
}

// Plan is what a rule removes.
type Plan struct {
	Items []Item `json:"jobs"`
	Bytes int64  `json:"bytes"`
	// Kept counts the archived jobs that stay, Passed those of them that are left alone because fsck finds
	// something wrong with them.
	Kept   int `json:"kept"`
	Passed int `json:"passed"`
	// Unfinished are jobs of an earlier removal that was cut off.
	Unfinished []string `json:"unfinished"`
	cut        []string // their folders
}

// Options are what a removal is wired with.
type Options struct {
	// By is who has the jobs removed, and Reason why; Run puts both on record.
	By, Reason string
	Now        func() time.Time // nil is time.Now
	Seam       spool.Seam       // for fault injection
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// ErrUnsaid means that it is not said who has jobs removed, or why.
var ErrUnsaid = errors.New("who removes what, and why, goes on record")

// eventJobs is how many jobs one event names: an event has a bound.
const eventJobs = 1000

// Look says what a rule would remove now, and changes nothing.
func Look(ctx context.Context, cfg *config.Node, r Rule, o Options) (*Plan, error) {
	return look(ctx, cfg, r, o, false)
}

func look(ctx context.Context, cfg *config.Node, r Rule, o Options, locked bool) (*Plan, error) {
	report, err := fsck.Run(ctx, cfg, fsck.Options{Now: o.now, Locked: locked})
	if err != nil {
		return nil, err
	}
	faulty := map[string]bool{}
	for _, f := range report.Found {
		if f.Check == fsck.CheckLedger {
			return nil, fmt.Errorf("nothing is removed while the record is not whole: %s", f.What)
		}
		if f.Check != fsck.CheckTemporary {
			faulty[f.Job] = true
		}
	}
	delivered, pruned, err := readRecord(cfg)
	if err != nil {
		return nil, err
	}
	p := &Plan{Items: []Item{}, Unfinished: []string{}}
	var total int64
	var whole []Item
	for _, it := range delivered {
		found, err := spool.Archived(cfg.Dir, it.Job)
		if err != nil {
			return nil, err
		}
		switch {
		case len(found) == 0: // lost, removed before, or not there yet
		case pruned[it.Job]:
			p.Unfinished, p.cut = append(p.Unfinished, it.Job), append(p.cut, found...)
		case faulty[it.Job] || len(found) > 1:
			p.Passed++
		default:
			it.dir = found[0]
			if it.Bytes, err = size(it.dir); err != nil {
				return nil, err
			}
			total += it.Bytes
			whole = append(whole, it)
		}
	}
	cutoff := o.now().Add(-r.OlderThan)
	for _, it := range whole { // oldest first
		old := r.OlderThan > 0 && it.DeliveredUTC.Before(cutoff)
		if !old && (r.Keep < 0 || total <= r.Keep) {
			p.Kept++
			continue
		}
		total -= it.Bytes
		p.Bytes += it.Bytes
		p.Items = append(p.Items, it)
	}
	p.Kept += p.Passed
	return p, nil
}

// readRecord lists what was delivered, in order, and what was removed by rule. A delivery counts as not
// older than what is on record before it: a clock that was set back makes no new job old.
func readRecord(cfg *config.Node) (delivered []Item, pruned map[string]bool, err error) {
	pruned = map[string]bool{}
	var latest time.Time
	_, _, err = ledger.Read(filepath.Join(cfg.Dir, spool.DirLedger), func(e ledger.Event) error {
		if e.Time.After(latest) {
			latest = e.Time
		}
		if ledger.Announces(e) == spool.StateDelivered {
			delivered = append(delivered, Item{Job: e.RunID, RequestID: e.RequestID, DeliveredUTC: latest})
		}
		for _, id := range e.Jobs { // that went
			pruned[id] = true
		}
		return nil
	})
	return delivered, pruned, err
}

// Run removes what the rule names. The node must not be served: else spool.ErrLocked. An error may come
// after some of it is gone; the next Run goes on.
func Run(ctx context.Context, cfg *config.Node, r Rule, o Options) (_ *Plan, err error) {
	if why := orders.WhoAndWhy(o.By, o.Reason); why != "" {
		return nil, fmt.Errorf("%w: %s", ErrUnsaid, why)
	}
	release, err := spool.Hold(cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	p, err := look(ctx, cfg, r, o, true)
	if err != nil {
		return nil, err
	}
	if len(p.Items) > 0 {
		if err := record(cfg, p.Items, o); err != nil {
			return nil, err
		}
	}
	dirs := p.cut
	for _, it := range p.Items {
		dirs = append(dirs, it.dir)
	}
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if err := spool.RemoveFolder(dir, o.Seam); err != nil {
			return nil, fmt.Errorf("remove a job from the archive: %w", err)
		}
	}
	return p, nil
}

// record names durably what goes.
func record(cfg *config.Node, items []Item, o Options) (err error) {
	l, err := ledger.Open(filepath.Join(cfg.Dir, spool.DirLedger), ledger.Options{Now: o.now, Seam: o.Seam},
		func(ledger.Event) {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var events []ledger.Event
	for len(items) > 0 {
		e := ledger.Event{Type: ledger.ArchivePruned, By: o.By, Reason: o.Reason}
		for _, it := range items[:min(len(items), eventJobs)] {
			e.Jobs = append(e.Jobs, it.Job)
		}
		items = items[len(e.Jobs):]
		events = append(events, e)
	}
	return l.Append(events...)
}

// size is how many bytes the files of a folder hold.
func size(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		fi, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil {
			n += fi.Size()
		}
		return err
	})
	return n, err
}
