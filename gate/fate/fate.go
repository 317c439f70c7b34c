// Package fate tells what became of a request, from the record and the places of a node.
package fate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// Fate is what became of a request id so far.
type Fate struct {
	RequestID string `json:"request_id"`
	Job       string `json:"job,omitempty"`
	// State is "unknown", "waiting", "admitted", "running", "finished",
	// "delivered", "quarantined" or "result-quarantined".
	State    string        `json:"state"`
	Rules    []string      `json:"rules,omitempty"`
	ExitCode *int          `json:"exit_code,omitempty"`
	Cause    schemas.Cause `json:"cause,omitempty"`
	// Tools are its tool calls, if it told of them.
	Tools    *schemas.ToolCalls `json:"tools,omitempty"`
	ResultID string             `json:"result_id,omitempty"`
	// Withheld is how many places and files its result does not hold.
	Withheld   int    `json:"withheld,omitempty"`
	ResultPath string `json:"result_path,omitempty"`
	// Cancelled is the order of a person that cancelled it, if there is one.
	Cancelled *Cancellation `json:"cancelled,omitempty"`
	// ReasonsPath is the folder to look at when it was refused.
	ReasonsPath string `json:"reasons_path,omitempty"`

	moving bool // its end is on record, and the job is not at its place yet
}

// Cancellation is who cancelled a request, and when. The reason lies with the order of that digest.
type Cancellation struct {
	By      string    `json:"by"`
	ByUser  string    `json:"by_user,omitempty"` // of the host, if that was not root
	TimeUTC time.Time `json:"time_utc"`
	Order   string    `json:"order_sha256"`
	Reason  string    `json:"reason,omitempty"`
}

// Ended reports whether nothing more will come, and all of it is where ResultPath and ReasonsPath say.
func (f *Fate) Ended() bool {
	return f.decided() && !f.moving
}

// decided reports whether its end is on record.
func (f *Fate) decided() bool {
	return f.State == "delivered" || f.State == "quarantined" || f.State == "result-quarantined"
}

// Watch follows what becomes of a request id: the record is read once, and
// then only what came to it. It is not safe for concurrent use.
type Watch struct {
	cfg    *config.Node
	fate   Fate
	record *ledger.Follower
}

// Follow begins to follow a request id.
func Follow(cfg *config.Node, requestID string) *Watch {
	w := &Watch{cfg: cfg}
	w.restart(requestID)
	return w
}

func (w *Watch) restart(requestID string) {
	w.fate = Fate{RequestID: requestID}
	w.record = ledger.Follow(filepath.Join(w.cfg.Dir, spool.DirLedger))
}

// Look says what became of the request so far. One that was refused before its id
// could be read is found by no id: only by its quarantine item.
func (w *Watch) Look() (*Fate, error) {
	// Before the record: what gets its verdict meanwhile is on record then.
	waits, claimed, err := w.waits()
	if err != nil {
		return nil, err
	}
	err = w.readOn()
	if err != nil { // a gate may have taken back what it could not write: all of it once more
		w.restart(w.fate.RequestID)
		err = w.readOn()
	}
	f := w.fate
	switch {
	case waits && (f.Job == "" || f.State == "quarantined" && f.Job != claimed): // mended, and put in again
		f = Fate{RequestID: f.RequestID, State: "waiting", Cancelled: f.Cancelled}
	case f.Job == "":
		f.State = "unknown"
	}
	f.moving = f.decided() && w.inSpool(f.Job)
	return &f, err
}

// inSpool reports whether a job lies among those in progress.
func (w *Watch) inSpool(job string) bool {
	return slices.ContainsFunc(spool.States, func(st spool.State) bool {
		_, err := os.Lstat(filepath.Join(w.cfg.Dir, spool.DirSpool, string(st), job))
		return err == nil
	})
}

// waits says whether the request lies in an inbox, or was claimed, and as which job.
// Of a claim in the making nobody can tell which request it is. Where the caller may not look,
// nothing waits.
func (w *Watch) waits() (waits bool, job string, err error) {
	name := w.fate.RequestID + ".md"
	for _, in := range w.cfg.Inboxes {
		if _, err := os.Lstat(filepath.Join(in.Path, name)); err == nil {
			return true, "", nil
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return false, "", err
		}
	}
	claimed := filepath.Join(w.cfg.Dir, spool.DirSpool, string(spool.StateClaimed))
	jobs, err := os.ReadDir(claimed)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return false, "", err
	}
	for _, j := range jobs {
		if strings.HasPrefix(j.Name(), ".") {
			return true, j.Name(), nil
		}
		if c, err := spool.ReadClaim(filepath.Join(claimed, j.Name())); err == nil && c.Origin.Name == name {
			return true, j.Name(), nil
		}
	}
	return false, "", nil
}

func (w *Watch) readOn() error {
	return w.record.Read(func(e ledger.Event) error {
		if e.RequestID == w.fate.RequestID {
			w.fate.follow(w.cfg, e)
		}
		return nil
	})
}

// Of is one look of a Watch.
func Of(cfg *config.Node, requestID string) (*Fate, error) {
	return Follow(cfg, requestID).Look()
}

func (f *Fate) follow(cfg *config.Node, e ledger.Event) {
	switch e.Type {
	case ledger.RequestRefused:
		return // before it came
	case ledger.RequestCancelled:
		f.Cancelled = &Cancellation{By: e.By, ByUser: e.ByUser, TimeUTC: e.Time, Order: e.Order}
		return
	}
	// A duplicate that was refused does not change what became of the first.
	if f.Job != "" && e.RunID != f.Job && f.State != "quarantined" {
		return
	}
	f.Job = e.RunID
	switch e.Type {
	case ledger.DeliveryAttempted:
		if e.Outcome == ledger.Delivered {
			f.State, f.Rules, f.ReasonsPath = "admitted", nil, ""
			return
		}
		f.State, f.Rules = "quarantined", e.Rules
		f.ReasonsPath = filepath.Join(cfg.Dir, spool.DirQuarantineRequests, e.RunID)
	case ledger.QuarantineReleased:
		f.State, f.Rules, f.ResultID, f.ReasonsPath = "waiting", nil, "", ""
		if e.ResultID != "" {
			f.State = "finished"
		}
	case ledger.RunStarted:
		f.State = "running"
	case ledger.RunReturned:
		f.State = "admitted"
	case ledger.ToolsRecorded:
		f.Tools = e.Tools
	case ledger.RunCompleted, ledger.RunFailed:
		f.State, f.ExitCode, f.Cause = "finished", e.ExitCode, e.Cause
	case ledger.ResultDelivered:
		f.State, f.ResultID, f.Withheld = "delivered", e.ResultID, e.Withheld
		f.ResultPath = filepath.Join(cfg.CoreInbound.Path, e.ResultID+".md")
	case ledger.ResultQuarantined:
		f.State, f.ResultID, f.Rules = "result-quarantined", e.ResultID, e.Rules
		f.ReasonsPath = filepath.Join(cfg.Dir, spool.DirQuarantineResults, e.RunID)
	}
}
