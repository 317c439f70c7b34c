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
	"slices"
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
	// Orders are the digests of orders that go: nothing is kept that they decided.
	Orders []string `json:"orders"`
	// Unfinished are jobs of an earlier removal that was cut off.
	Unfinished []string `json:"unfinished"`
	cut        []string // their folders
	cutOrders  []string
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

// How many jobs and orders one event names: an event has a bound.
const (
	eventJobs   = 1000
	eventOrders = 500
)

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
			name := filepath.Base(f.Where) // of an order: its digest
			faulty[strings.TrimSuffix(name, filepath.Ext(name))] = true
		}
	}
	on, err := readRecord(cfg)
	if err != nil {
		return nil, err
	}
	p := &Plan{Items: []Item{}, Orders: []string{}, Unfinished: []string{}}
	var total int64
	var whole []Item
	for _, it := range on.delivered {
		found, err := spool.Archived(cfg.Dir, it.Job)
		if err != nil {
			return nil, err
		}
		switch {
		case len(found) == 0: // lost, removed before, or not there yet
		case on.pruned[it.Job]:
			also, err := renderings(cfg, it.Job)
			if err != nil {
				return nil, err
			}
			p.Unfinished, p.cut = append(p.Unfinished, it.Job), slices.Concat(p.cut, also, found)
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
	return p, p.orders(cfg, on, faulty, r, cutoff)
}

// orders adds to a plan the orders that decided nothing that stays, and are whole. One that is about no job goes by its
// age alone.
func (p *Plan) orders(cfg *config.Node, on *record, faulty map[string]bool, r Rule, cutoff time.Time) error {
	gone := map[string]bool{}
	for _, it := range p.Items {
		gone[it.Job] = true
	}
	folder := spool.NewOrders(cfg.Dir, nil)
	for _, o := range on.orders {
		if there, err := folder.Has(o.digest); err != nil {
			return err
		} else if !there {
			continue
		}
		jobs := on.jobsOf[o.job]
		if o.job == "" {
			jobs = on.jobsOf[strings.ToLower(o.request)]
		}
		kept := slices.ContainsFunc(jobs, func(job string) bool { return !on.pruned[job] && !gone[job] })
		old := r.OlderThan > 0 && o.at.Before(cutoff)
		switch {
		case on.prunedOrders[o.digest]:
			p.cutOrders = append(p.cutOrders, o.digest)
		case !kept && !faulty[o.digest] && (old || r.OlderThan == 0 && len(jobs) > 0):
			p.Orders = append(p.Orders, o.digest)
		}
	}
	return nil
}

// record is what a removal has to know of the record.
type record struct {
	delivered    []Item // in order
	orders       []order
	jobsOf       map[string][]string // jobs, by their id and by that of their request, in small letters
	pruned       map[string]bool     // jobs that were removed by rule
	prunedOrders map[string]bool
}

// order is one that is on record, and what it was about.
type order struct {
	digest, job, request string
	at                   time.Time
}

// readRecord reads the record. A delivery and an order count as not older than what is on record before them: a clock
// that was set back makes nothing new old.
func readRecord(cfg *config.Node) (*record, error) {
	r := &record{jobsOf: map[string][]string{}, pruned: map[string]bool{}, prunedOrders: map[string]bool{}}
	var latest time.Time
	_, _, err := ledger.Read(filepath.Join(cfg.Dir, spool.DirLedger), func(e ledger.Event) error {
		if e.Time.After(latest) {
			latest = e.Time
		}
		if ledger.Announces(e) == spool.StateDelivered {
			r.delivered = append(r.delivered, Item{Job: e.RunID, RequestID: e.RequestID, DeliveredUTC: latest})
		}
		if e.RunID != "" && r.jobsOf[e.RunID] == nil {
			r.jobsOf[e.RunID] = []string{e.RunID}
			id := strings.ToLower(e.RequestID)
			r.jobsOf[id] = append(r.jobsOf[id], e.RunID)
		}
		if e.Order != "" {
			o := order{digest: e.Order, job: e.RunID, at: latest}
			if e.Type == ledger.RequestCancelled {
				o.request = e.RequestID
			}
			r.orders = append(r.orders, o)
		}
		for _, id := range e.Jobs { // that went
			r.pruned[id] = true
		}
		for _, sum := range e.Orders {
			r.prunedOrders[sum] = true
		}
		return nil
	})
	return r, err
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
	if len(p.Items)+len(p.Orders) > 0 {
		if err := note(cfg, p, o); err != nil {
			return nil, err
		}
	}
	dirs := p.cut
	for _, it := range p.Items {
		also, err := renderings(cfg, it.Job)
		if err != nil {
			return nil, err
		}
		dirs = append(append(dirs, also...), it.dir) // the job last: it says that something is left
	}
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if err := spool.RemoveFolder(dir, o.Seam); err != nil {
			return nil, fmt.Errorf("remove a job from the archive: %w", err)
		}
	}
	folder := spool.NewOrders(cfg.Dir, o.Seam)
	for _, sum := range append(p.cutOrders, p.Orders...) {
		if err := folder.Prune(sum); err != nil {
			return nil, fmt.Errorf("remove an order: %w", err)
		}
	}
	return p, nil
}

// renderings are the folders of further results of a job.
func renderings(cfg *config.Node, job string) (dirs []string, err error) {
	names, err := spool.Renderings(cfg.Dir, job)
	for _, name := range names {
		dirs = append(dirs, filepath.Join(cfg.Dir, spool.DirReissues, name))
	}
	return dirs, err
}

// note records durably what goes.
func note(cfg *config.Node, p *Plan, o Options) (err error) {
	l, err := ledger.Open(filepath.Join(cfg.Dir, spool.DirLedger), ledger.Options{Now: o.now, Seam: o.Seam},
		func(ledger.Event) {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var events []ledger.Event
	for items := range slices.Chunk(p.Items, eventJobs) {
		e := ledger.Event{Type: ledger.ArchivePruned, By: o.By, Reason: o.Reason}
		for _, it := range items {
			e.Jobs = append(e.Jobs, it.Job)
		}
		events = append(events, e)
	}
	for sums := range slices.Chunk(p.Orders, eventOrders) {
		events = append(events, ledger.Event{Type: ledger.ArchivePruned, By: o.By, Reason: o.Reason, Orders: sums})
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
