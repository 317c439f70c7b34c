// Package fsck reads a whole node and says what is wrong with it: whether every
// job lies in exactly one state, every result that CORE can see is whole, and
// the folders and the ledger tell the same. It changes nothing unless told to,
// and then it only removes temporaries that nothing needs.
//
// The node is trusted to be the gate's own, except for CORE's folder and what is
// in quarantine: those are read bounded, and nothing in them is followed.
package fsck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// Check names what was checked. It is part of the output for programs.
type Check string

// The checks. docs/checking.md says what each asserts.
const (
	CheckLayout     Check = "layout"     // the node's folders are there
	CheckStray      Check = "stray"      // only jobs lie among jobs; one that has ended holds what is on record
	CheckPlace      Check = "place"      // a job lies in one place
	CheckLost       Check = "lost"       // what the ledger knows lies somewhere
	CheckTwice      Check = "twice"      // nothing was admitted, started, ended or delivered twice
	CheckRecord     Check = "record"     // place and ledger agree
	CheckLedger     Check = "ledger"     // the ledger's chain is whole
	CheckFiles      Check = "files"      // a job's files are there and are what was claimed
	CheckDigest     Check = "digest"     // request.md and result.md are what the ledger says
	CheckApproval   Check = "approval"   // who asked for and who approved what was admitted is what the ledger says
	CheckSignature  Check = "signature"  // approvals, plans and orders are signed by persons who were allowed then
	CheckTime       Check = "time"       // time goes on from event to event, or a clock was set back on record
	CheckReasons    Check = "reasons"    // a refused item has reasons that can be read
	CheckTimeline   Check = "timeline"   // a run's tool calls are those of the ledger and of its plan
	CheckSeal       Check = "seal"       // the folder of a job that has ended is as it was then, to the byte
	CheckResult     Check = "result"     // a visible result is valid, whole and on record
	CheckNotice     Check = "notice"     // what CORE is told of a request without a result is what is on record
	CheckTemporary  Check = "temporary"  // no temporary is left that no start would remove
	CheckUnreadable Check = "unreadable" // everything could be read
)

// Finding is one thing that is wrong.
type Finding struct {
	Check Check `json:"check"`
	// Job is the job's id, if it is about one.
	Job string `json:"job,omitempty"`
	// Where is a path, What says what is wrong with it, Mend what to do.
	Where string `json:"where"`
	What  string `json:"what"`
	Hint  string `json:"mend"`
	// Repaired says that it was mended.
	Repaired bool `json:"repaired,omitempty"`
}

// Balance accounts for every job that the node ever took in.
type Balance struct {
	// TakenIn counts the jobs that the ledger or any folder knows.
	TakenIn             int `json:"taken_in"`
	Delivered           int `json:"delivered"`
	ResultsQuarantined  int `json:"results_quarantined"`
	RequestsQuarantined int `json:"requests_quarantined"`
	InProgress          int `json:"in_progress"`
	// Pruned were delivered, and then removed from the archive by rule.
	Pruned int `json:"pruned"`
	// Progress splits InProgress; "claiming" is a claim in the making.
	Progress map[string]int `json:"progress"`
	// Waiting counts requests in the inboxes: not taken in yet.
	Waiting int `json:"waiting"`
}

// Missing is how many jobs are unaccounted for.
func (b Balance) Missing() int {
	return b.TakenIn - b.Delivered - b.ResultsQuarantined - b.RequestsQuarantined - b.InProgress - b.Pruned
}

// Report is what was found out.
type Report struct {
	Dir     string    `json:"dir"`
	Served  bool      `json:"served"`
	Balance Balance   `json:"balance"`
	Events  int64     `json:"events"`
	Head    string    `json:"head"`
	Visible int       `json:"results_visible"` // results that CORE has not taken away
	Found   []Finding `json:"findings"`
	// Unseen are inboxes, folders of CORE's and what came of inboxes, if the caller may not read them.
	Unseen []string `json:"unseen,omitempty"`
	// Warnings are no fault of the node's, and may be one of somebody else.
	Warnings []Finding `json:"warnings"`
	// Remarks are what an auditor may ask about, and is on record: a clock set back, other signers, what was pruned.
	Remarks    []Finding  `json:"remarks"`
	Signatures Signatures `json:"signatures"`
	// Unsealed are jobs that ended before this node sealed any.
	Unsealed int `json:"unsealed"`
	// Pending are temporaries that the next start removes by itself.
	Pending []string `json:"temporaries"`
}

// Whole says that nothing is wrong, or no longer.
func (r *Report) Whole() bool {
	return !slices.ContainsFunc(r.Found, func(f Finding) bool { return !f.Repaired })
}

// Options say how a node is checked.
type Options struct {
	// Repair removes stale temporaries. A node that is served then gives
	// spool.ErrLocked.
	Repair bool
	// Locked says that the caller holds the node's lock, so that nothing moves.
	Locked bool
	// Now defaults to time.Now. Results are judged at that time.
	Now func() time.Time
	// Signers is a text of allowed signers, by which approvals, plans and orders must be signed,
	// too, as of their events.
	Signers []byte
}

// A node that is served moves while it is read. What is found wrong in one
// reading and not in the next was only on its way.
const (
	readings     = 5
	readingPause = 200 * time.Millisecond
)

// maxNamed bounds how many things of a kind are named.
const maxNamed = 20

// maxRemarks bounds all remarks.
const maxRemarks = 100

// Run checks the node that cfg configures. An error means that the check could
// not be made; what is wrong with the node is in the report.
func Run(ctx context.Context, cfg *config.Node, o Options) (*Report, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Repair {
		release, err := spool.Hold(cfg.Dir)
		if err != nil {
			return nil, err
		}
		defer release()
		return repair(ctx, cfg, o)
	}
	n, err := read(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	r := n.report
	for range readings - 1 {
		if !r.Served || len(r.Found)+len(r.Warnings) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(readingPause):
		}
		if n, err = read(ctx, cfg, o); err != nil {
			return nil, err
		}
		before := r
		r = n.report
		r.Found = still(r.Found, before.Found)
		r.Warnings = still(r.Warnings, before.Warnings)
	}
	return r, nil
}

// still leaves of findings those that were there before.
func still(found, before []Finding) []Finding {
	return slices.DeleteFunc(found, func(f Finding) bool { return !slices.Contains(before, f) })
}

// read reads the node once.
func read(ctx context.Context, cfg *config.Node, o Options) (*node, error) {
	n := &node{ctx: ctx, cfg: cfg, now: o.Now(), jobs: map[string]*job{}, results: map[string]*given{},
		renderings: map[string]*given{},
		told:       map[string]told{}, orders: map[string]*ordered{}, signers: o.Signers}
	n.report = &Report{Dir: cfg.Dir, Balance: Balance{Progress: map[string]int{}}, Found: []Finding{},
		Warnings: []Finding{}, Remarks: []Finding{}, Pending: []string{}}
	var err error
	if n.report.Served, err = spool.Locked(cfg.Dir); err != nil {
		return nil, err
	}
	n.report.Served = n.report.Served && !o.Locked
	for _, dir := range []string{spool.DirSpool, spool.DirQuarantine, spool.DirArchive} {
		if _, err := os.ReadDir(n.path(dir)); errors.Is(err, fs.ErrPermission) {
			return nil, err // every job would seem to be lost
		}
	}
	// The ledger is read after the folders: an event is written before the
	// rename that it announces, so what lies in a folder must be on record.
	n.folders()
	n.ledger()
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	n.account()
	for _, j := range n.sorted() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !j.pruned {
			n.job(j)
		}
	}
	n.quarantine()
	for _, j := range n.sorted() { // last of what looks at jobs: it names what nothing else named
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !j.pruned && len(j.places) > 0 && j.kind() != claiming {
			n.sealed(j, j.places[0].dir)
		}
	}
	n.reissued()
	n.givenOrders()
	n.core()
	n.notices()
	for _, list := range [][]Finding{n.report.Found, n.report.Warnings} {
		slices.SortFunc(list, func(a, b Finding) int {
			return cmp.Or(cmp.Compare(a.Check, b.Check), cmp.Compare(a.Where, b.Where), cmp.Compare(a.What, b.What))
		})
	}
	return n, nil
}

// node is one reading of a node.
type node struct {
	ctx    context.Context
	cfg    *config.Node
	now    time.Time
	report *Report
	jobs   map[string]*job
	// results are those on record, by their id; renderings those of them that have a folder in reissues, by its name.
	results    map[string]*given
	renderings map[string]*given
	told       map[string]told     // what CORE was told last, by subject
	orders     map[string]*ordered // what orders led to, by their digest
	stale      []string            // temporaries that may be removed
	sealing    bool                // an event had a seal
	signers    []byte              // those of Options
	// As of the event that is read.
	force  inForce
	format int
	last   time.Time
	// blind is set if the ledger is damaged, since then: an event may be missing.
	blind  bool
	since  string // what the first damage is
	damage int    // places
	doubts int    // see unjudged
	// strangers are what is not the node's in CORE's folders.
	strangers int
}

func (n *node) path(elem ...string) string {
	return filepath.Join(append([]string{n.cfg.Dir}, elem...)...)
}

func (n *node) found(c Check, job, where, hint, format string, args ...any) {
	n.report.Found = append(n.report.Found, Finding{Check: c, Job: job, Where: where,
		What: fmt.Sprintf(format, args...), Hint: hint})
}

// unjudged notes what would be wrong, or may only look so because the record is damaged.
func (n *node) unjudged(job, where, what string) {
	const hint = "restore the ledger from a backup first, and check again"
	switch n.doubts++; {
	case n.doubts < maxNamed:
		n.found(CheckLedger, job, where, hint, "it can't be judged since the record is damaged (%s): %s", n.since, what)
	case n.doubts == maxNamed:
		n.found(CheckLedger, "", n.path(spool.DirLedger), hint,
			"more than %d things can't be judged since the record is damaged", maxNamed-1)
	}
}

// warn notes what is no fault of the node's.
func (n *node) warn(c Check, job, where, hint, format string, args ...any) {
	n.report.Warnings = append(n.report.Warnings, Finding{Check: c, Job: job, Where: where,
		What: fmt.Sprintf(format, args...), Hint: hint})
}

// remark notes what is on record as it should be. What is a format of one number.
func (n *node) remark(c Check, seq int64, where, what string) {
	if len(n.report.Remarks) < maxRemarks {
		n.report.Remarks = append(n.report.Remarks, Finding{Check: c, Where: where, What: fmt.Sprintf(what, seq),
			Hint: fmt.Sprintf("nothing if you know of it: threegate events --json | jq 'select(.seq == %d)'", seq)})
	}
}

// unreadable notes that something could not be read.
func (n *node) unreadable(job, where string, err error) {
	n.found(CheckUnreadable, job, where, "run it as a user who may read the node; if that is so, look at the disk",
		"can't be read: %v", err)
}

// unseen notes a folder of others that the caller has no right to read, if it is that.
func (n *node) unseen(dir string, err error) bool {
	closed := errors.Is(err, fs.ErrPermission)
	if closed {
		n.report.Unseen = append(n.report.Unseen, dir)
	}
	return closed
}

// leftover notes a temporary that no start would remove.
func (n *node) leftover(job, where, why string) {
	n.stale = append(n.stale, where)
	n.found(CheckTemporary, job, where, "threegate fsck --repair removes it", "a temporary is left over: %s", why)
}

func (n *node) sorted() []*job {
	list := make([]*job, 0, len(n.jobs))
	for _, j := range n.jobs {
		list = append(list, j)
	}
	slices.SortFunc(list, func(a, b *job) int { return cmp.Compare(a.id, b.id) })
	return list
}

// repair checks the node, whose lock is held, and removes the stale temporaries
// that it finds. Nothing else is ever changed.
func repair(ctx context.Context, cfg *config.Node, o Options) (*Report, error) {
	n, err := read(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	r := n.report
	r.Served = false // the lock is ours
	for i := range r.Found {
		f := &r.Found[i]
		if f.Check != CheckTemporary || !slices.Contains(n.stale, f.Where) {
			continue
		}
		if err := os.RemoveAll(f.Where); err != nil {
			return nil, fmt.Errorf("remove a stale temporary: %w", err)
		}
		f.Repaired = true
	}
	return r, nil
}

// firstBlocking shows one reason for a refusal.
func firstBlocking(fs []schemas.Finding) string {
	for _, f := range fs {
		if f.Severity == schemas.SeverityBlocking {
			return f.Rule + ": " + f.Message
		}
	}
	return "no reason is given"
}
