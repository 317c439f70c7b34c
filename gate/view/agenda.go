package view

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/hold"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// Entry is a request, or a refused item, that somebody may have to look at.
type Entry struct {
	ledger.Request
	// SinceUTC is when it came into its state.
	SinceUTC time.Time `json:"since_utc,omitzero"`
	// Inbox is where it waits; Held says that an operator holds that inbox, or the node.
	Inbox string `json:"inbox,omitempty"`
	Held  bool   `json:"held,omitempty"`
	// Queued is its place among those that were admitted and have not started, from 1.
	Queued int `json:"queued,omitempty"`
	// LimitSec is the wall clock limit of its run, where the caller may know it.
	LimitSec int `json:"limit_sec,omitempty"`
}

// Agenda follows what a node has before it, and what it did last. It is not safe for concurrent use.
type Agenda struct {
	cfg     *config.Node
	results int
	after   time.Time // older results are left out
	history *ledger.History
	record  *ledger.Follower
}

// tailBytes of the record are looked through for the newest results.
const tailBytes = 512 << 10

// NewAgenda begins to follow a node. At most so many results are listed, of those that were delivered last.
func NewAgenda(cfg *config.Node, results int) *Agenda {
	a := &Agenda{cfg: cfg, results: results}
	a.restart()
	return a
}

func (a *Agenda) restart() {
	dir := filepath.Join(a.cfg.Dir, spool.DirLedger)
	var delivered []time.Time
	for _, e := range ledger.Tail(dir, tailBytes) {
		if e.Type == ledger.ResultDelivered {
			delivered = append(delivered, e.Time)
		}
	}
	delivered = delivered[max(0, len(delivered)-a.results):]
	a.after = time.Time{}
	if len(delivered) > 0 {
		a.after = delivered[0]
	}
	a.history = &ledger.History{Whole: func(r *ledger.Request) bool {
		switch {
		case r.State.Answered(), r.State == ledger.StateRecalled:
			return len(delivered) > 0 && !r.DeliveredUTC.Before(a.after)
		default: // what a person ended needs no decision
			return r.Rejected == nil && r.Cancelled == nil
		}
	}}
	a.record = ledger.Follow(dir)
}

// Look lists what waits in an inbox, the queue, what runs, what was refused and not decided on, and the newest results:
// in the order of a request's way, and each kind the oldest first.
func (a *Agenda) Look() ([]Entry, error) {
	waiting, err := a.waiting() // before the record: what gets its verdict meanwhile is on record then
	if err != nil {
		return nil, err
	}
	note := func(e ledger.Event) error { a.history.Note(e); return nil }
	if err = a.record.Read(note); err != nil { // a gate may have taken back what it could not write: once more
		a.restart()
		err = a.record.Read(note)
	}
	if err != nil {
		return nil, err
	}
	moving, err := inProgress(a.cfg)
	if err != nil {
		return nil, err
	}
	byState := map[ledger.State][]Entry{}
	onRecord := map[string]bool{}
	for _, r := range a.history.Requests() {
		s, err := statusOf(a.cfg, *r, moving)
		if err != nil {
			return nil, err
		}
		onRecord[r.Job] = true
		e := Entry{Request: s.Request, SinceUTC: s.Last()}
		switch s.State {
		case ledger.StateAdmitted:
			e.Queued = len(byState[s.State]) + 1
		case ledger.StateRunning:
			if admitted, err := AdmittedAs(a.cfg, r.Job); err == nil { // root and auditors may look
				e.LimitSec = admitted.Request.TimeLimitSec
			}
		}
		byState[s.State] = append(byState[s.State], e)
	}
	for _, e := range waiting {
		if !onRecord[e.Job] || e.Job == "" {
			byState[ledger.StateWaiting] = append(byState[ledger.StateWaiting], e)
		}
	}
	var list []Entry
	for _, st := range ledger.States {
		list = append(list, byState[st]...)
	}
	return list, nil
}

// Knows reports whether the node has a request of that id, as of the last Look.
func (a *Agenda) Knows(requestID string) bool {
	if a.history.Request(requestID).State != ledger.StateUnknown {
		return true
	}
	waits, _, err := Waits(a.cfg, requestID)
	return waits && err == nil
}

// waiting lists what lies in the inboxes and what was taken in without a verdict, as far as the caller may look.
func (a *Agenda) waiting() ([]Entry, error) {
	holds, err := hold.List(a.cfg)
	if err != nil {
		return nil, err
	}
	held := func(inbox string) bool {
		return slices.ContainsFunc(holds, func(h hold.Hold) bool { return h.Inbox == "" || h.Inbox == inbox })
	}
	var list []Entry
	add := func(name, job, inbox string, since time.Time) {
		e := Entry{Inbox: inbox, Held: held(inbox), SinceUTC: since.UTC()}
		e.RequestID, e.Job, e.State = strings.TrimSuffix(name, ".md"), job, ledger.StateWaiting
		list = append(list, e)
	}
	for _, in := range a.cfg.Inboxes {
		files, err := readFolder(in.Path)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if info, err := f.Info(); err == nil && spool.RequestStem(f.Name()) != "" {
				add(f.Name(), "", in.Name, info.ModTime())
			}
		}
	}
	claimed := filepath.Join(a.cfg.Dir, spool.DirSpool, string(spool.StateClaimed))
	jobs, err := readFolder(claimed)
	for _, j := range jobs {
		if c, err := spool.ReadClaim(filepath.Join(claimed, j.Name())); err == nil {
			add(c.Origin.Name, c.ID, c.Origin.Inbox, c.Origin.ClaimedAt)
		}
	}
	slices.SortStableFunc(list, func(x, y Entry) int {
		return cmp.Or(x.SinceUTC.Compare(y.SinceUTC), strings.Compare(x.RequestID, y.RequestID))
	})
	return list, err
}

// Admitted is what was admitted as a job: the request as it was read, and what runs of it.
type Admitted struct {
	Request  schemas.Request   `json:"request"`
	Task     executors.Task    `json:"task"`
	Rules    string            `json:"rules"`
	Findings []schemas.Finding `json:"findings"`
}

// maxAdmission bounds the file of it.
const maxAdmission = 64 << 20

// AdmittedAs reads what was admitted as a job, wherever the job lies now; fs.ErrNotExist if nowhere.
func AdmittedAs(cfg *config.Node, job string) (*Admitted, error) {
	dir, err := JobDir(cfg, job)
	if err != nil {
		return nil, err
	}
	raw, err := durable.ReadRegular(filepath.Join(dir, ledger.FileAdmission), maxAdmission)
	var a Admitted
	if err == nil {
		err = schemas.DecodeOpen(raw, &a)
	}
	return &a, err
}

// Resolve lists the ids of requests that begin with prefix, those on record first. There are at most max+1.
func Resolve(cfg *config.Node, prefix string, most int) ([]string, error) {
	var ids []string
	add := func(id string) {
		if strings.HasPrefix(id, prefix) && !slices.Contains(ids, id) && len(ids) <= most {
			ids = append(ids, id)
		}
	}
	err := ledger.FollowPrefix(filepath.Join(cfg.Dir, spool.DirLedger), prefix).Read(func(e ledger.Event) error {
		add(e.RequestID)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, in := range cfg.Inboxes {
		entries, err := os.ReadDir(in.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		for _, e := range entries {
			add(spool.RequestStem(e.Name()))
		}
	}
	return ids, nil
}
