package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// NodeStatus is what can be seen of a node from outside, whether it is served
// or not.
type NodeStatus struct {
	Dir     string `json:"dir"`
	Name    string `json:"name"`
	Serving bool   `json:"serving"`
	// Inboxes says how many requests wait, unclaimed.
	Inboxes []InboxStatus `json:"inboxes"`
	// Jobs counts the jobs in each state folder.
	Jobs map[spool.State]int `json:"jobs"`
	// Totals come from the ledger, since the node was made.
	Totals Totals `json:"totals"`
	// Disk says why nothing new is taken in, if the disk is too full for it. A
	// gate could not write that down.
	Disk string `json:"disk,omitempty"`
	// Live is what the serving gate says; nil when there is none.
	Live *LiveStatus `json:"live,omitempty"`
}

// InboxStatus is one inbox.
type InboxStatus struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Waiting int    `json:"waiting"`
	Error   string `json:"error,omitempty"`
}

// Totals counts decisions.
type Totals struct {
	Admitted           int       `json:"admitted"`
	RequestsRefused    int       `json:"requests_refused"`
	RunsCompleted      int       `json:"runs_completed"`
	RunsFailed         int       `json:"runs_failed"`
	ResultsDelivered   int       `json:"results_delivered"`
	ResultsQuarantined int       `json:"results_quarantined"`
	LastEvent          time.Time `json:"last_event"`
	Events             int64     `json:"events"`
}

// Inspect reads a node without touching it.
func Inspect(cfg *config.Loaded) (*NodeStatus, error) {
	s := &NodeStatus{Dir: cfg.Dir, Name: cfg.Node.Name, Jobs: map[spool.State]int{}, Inboxes: []InboxStatus{}}
	for _, in := range cfg.Inboxes {
		s.Inboxes = append(s.Inboxes, inspectInbox(in))
	}
	for _, st := range spool.States {
		n, err := countEntries(filepath.Join(cfg.Dir, spool.DirSpool, string(st)))
		if err != nil {
			return nil, err
		}
		s.Jobs[st] = n
	}
	seq, _, err := ledger.Read(filepath.Join(cfg.Dir, spool.DirLedger), func(e ledger.Event) error {
		s.Totals.add(e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.Totals.Events = seq
	if s.Serving, err = spool.Locked(cfg.Dir); err != nil {
		return nil, err
	}
	if err := spool.Room(cfg.Dir, spool.DefaultMinFreeBytes); err != nil {
		s.Disk = err.Error()
	}
	if s.Serving {
		var live LiveStatus
		b, err := os.ReadFile(filepath.Join(cfg.Dir, StatusFile))
		if err == nil && json.Unmarshal(b, &live) == nil {
			s.Live = &live
		}
	}
	return s, nil
}

func (t *Totals) add(e ledger.Event) {
	t.LastEvent = e.Time
	switch e.Type {
	case ledger.DeliveryAttempted:
		if e.Outcome == ledger.Delivered {
			t.Admitted++
		} else {
			t.RequestsRefused++
		}
	case ledger.RunCompleted:
		t.RunsCompleted++
	case ledger.RunFailed:
		t.RunsFailed++
	case ledger.ResultDelivered:
		t.ResultsDelivered++
	case ledger.ResultQuarantined:
		t.ResultsQuarantined++
	}
}

func inspectInbox(in config.Inbox) InboxStatus {
	s := InboxStatus{Name: in.Name, Path: in.Path}
	var err error
	if s.Waiting, err = spool.Waiting(in.Path); err != nil {
		s.Error = err.Error()
	}
	return s
}

// countEntries counts the jobs of a state folder, half-made ones included.
func countEntries(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("read the spool: %w", err)
	}
	return len(entries), nil
}

// Fate is what became of a request id so far.
type Fate struct {
	RequestID string `json:"request_id"`
	Job       string `json:"job,omitempty"`
	// State is "unknown", "waiting", "admitted", "running", "finished",
	// "delivered", "quarantined" or "result-quarantined".
	State      string        `json:"state"`
	Rules      []string      `json:"rules,omitempty"`
	ExitCode   *int          `json:"exit_code,omitempty"`
	Cause      schemas.Cause `json:"cause,omitempty"`
	ResultID   string        `json:"result_id,omitempty"`
	ResultPath string        `json:"result_path,omitempty"`
	// ReasonsPath is the folder to look at when it was refused.
	ReasonsPath string `json:"reasons_path,omitempty"`
}

// Settled says that nothing more will come.
func (f *Fate) Settled() bool {
	return f.State == "delivered" || f.State == "quarantined" || f.State == "result-quarantined"
}

// FateOf reads what became of a request id. A request that was refused before
// its id could be read is found by no id: only by its quarantine item.
func FateOf(cfg *config.Loaded, requestID string) (*Fate, error) {
	f := &Fate{RequestID: requestID, State: "unknown"}
	for _, in := range cfg.Inboxes {
		if _, err := os.Lstat(filepath.Join(in.Path, requestID+".md")); err == nil {
			f.State = "waiting"
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	_, _, err := ledger.Read(filepath.Join(cfg.Dir, spool.DirLedger), func(e ledger.Event) error {
		if e.RequestID == requestID {
			f.follow(cfg, e)
		}
		return nil
	})
	return f, err
}

func (f *Fate) follow(cfg *config.Loaded, e ledger.Event) {
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
	case ledger.RunStarted:
		f.State = "running"
	case ledger.RunCompleted, ledger.RunFailed:
		f.State, f.ExitCode, f.Cause = "finished", e.ExitCode, e.Cause
	case ledger.ResultDelivered:
		f.State, f.ResultID = "delivered", e.ResultID
		f.ResultPath = filepath.Join(cfg.CoreInbound.Path, e.ResultID+".md")
	case ledger.ResultQuarantined:
		f.State, f.ResultID, f.Rules = "result-quarantined", e.ResultID, e.Rules
		f.ReasonsPath = filepath.Join(cfg.Dir, spool.DirQuarantineResults, e.RunID)
	}
}
