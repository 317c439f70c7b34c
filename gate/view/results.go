package view

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// Result is a result that CORE got, or an admitted request of which one may still come.
type Result struct {
	RequestID string `json:"request_id"`
	Job       string `json:"job"`
	// Backend is that of its run, once it was started.
	Backend schemas.Backend `json:"backend,omitempty"`
	// State is "admitted", "running", "finished", "delivered", "taken" (delivered, and no longer in
	// CORE's folder) or "quarantined" (CORE gets a notice instead).
	State     string        `json:"state"`
	ResultID  string        `json:"result_id,omitempty"`
	Path      string        `json:"path,omitempty"`
	SHA256    string        `json:"sha256,omitempty"`
	ExitCode  *int          `json:"exit_code,omitempty"`
	Cause     schemas.Cause `json:"cause,omitempty"`
	Rules     []string      `json:"rules,omitempty"`
	Artifacts int           `json:"artifacts"`
	// Tools are its tool calls, if it told of them.
	Tools        *schemas.ToolCalls `json:"tools,omitempty"`
	Withheld     int                `json:"withheld,omitempty"`
	AdmittedUTC  time.Time          `json:"admitted_utc"`
	StartedUTC   *time.Time         `json:"started_utc,omitempty"`
	EndedUTC     *time.Time         `json:"ended_utc,omitempty"`
	DeliveredUTC *time.Time         `json:"delivered_utc,omitempty"`
	// Released is what a person took back of the judgement on the result.
	Released []schemas.Release `json:"released,omitempty"`
}

// Last is when the last thing happened to it.
func (r *Result) Last() time.Time {
	for _, t := range []*time.Time{r.DeliveredUTC, r.EndedUTC, r.StartedUTC} {
		if t != nil {
			return *t
		}
	}
	return r.AdmittedUTC
}

// Results reads from the record what CORE got and what it may still get, in the order in which
// requests were admitted. It changes nothing.
func Results(cfg *config.Node) ([]*Result, error) {
	var list []*Result
	byJob := map[string]*Result{}
	released := map[string][]schemas.Release{} // of requests that were admitted then
	_, _, err := ledger.Read(filepath.Join(cfg.Dir, spool.DirLedger), func(e ledger.Event) error {
		if e.Type == ledger.DeliveryAttempted && e.Outcome == ledger.Delivered {
			r := &Result{RequestID: e.RequestID, Job: e.RunID, AdmittedUTC: e.Time, Released: released[e.RunID]}
			byJob[e.RunID] = r
			list = append(list, r)
		}
		if r := byJob[e.RunID]; r != nil {
			r.follow(cfg, e)
		} else if e.Type == ledger.QuarantineReleased {
			released[e.RunID] = append(released[e.RunID], e.Released...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if r.State != string(spool.StateDelivered) {
			continue
		}
		if r.State, err = whereIs(cfg, r); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// whereIs tells what became of a result whose delivery is on record.
func whereIs(cfg *config.Node, r *Result) (string, error) {
	_, err := os.Lstat(r.Path)
	switch {
	case err == nil, errors.Is(err, fs.ErrPermission): // who may not look hears what is on record
		return "delivered", nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	_, err = os.Lstat(filepath.Join(cfg.Dir, spool.DirSpool, string(spool.StateFinished), r.Job))
	if err == nil {
		return string(spool.StateFinished), nil // it is about to appear
	}
	return "taken", nil
}

func (r *Result) follow(cfg *config.Node, e ledger.Event) {
	at := e.Time
	if e.Type == ledger.QuarantineReleased {
		r.State, r.Rules, r.ResultID = string(spool.StateFinished), nil, ""
		r.Released = append(r.Released, e.Released...)
		return
	}
	if e.Type == ledger.ToolsRecorded {
		r.Tools = e.Tools
	}
	switch to := ledger.Announces(e); to {
	case spool.StateAdmitted:
		r.State, r.StartedUTC = string(to), nil
	case spool.StateRunning:
		r.State, r.StartedUTC, r.Backend = string(to), &at, e.Backend
	case spool.StateFinished:
		r.State, r.EndedUTC, r.ExitCode, r.Cause = string(to), &at, e.ExitCode, e.Cause
	case spool.StateDelivered:
		r.State, r.DeliveredUTC, r.ResultID, r.SHA256 = string(to), &at, e.ResultID, e.ResultSHA256
		r.Artifacts, r.Withheld = e.Artifacts, e.Withheld
		r.Path = filepath.Join(cfg.CoreInbound.Path, e.ResultID+spool.ResultSuffix)
	case spool.StateResultRefused, spool.StateRequestRefused:
		r.State, r.EndedUTC, r.ResultID, r.Rules = "quarantined", cmp.Or(r.EndedUTC, &at), e.ResultID, e.Rules
	}
}

// JobDir is the folder of a job that was admitted, wherever it lies now; fs.ErrNotExist if nowhere.
func JobDir(cfg *config.Node, job string) (string, error) {
	if !spool.ValidID(job) {
		return "", fs.ErrNotExist
	}
	look := func() (string, error) {
		var places []string
		for _, st := range spool.States {
			places = append(places, filepath.Join(cfg.Dir, spool.DirSpool, string(st), job))
		}
		archived, err := spool.Archived(cfg.Dir, job)
		if err != nil {
			return "", err
		}
		for _, dir := range append(append(places, archived...),
			filepath.Join(cfg.Dir, spool.DirQuarantineResults, job),
			filepath.Join(cfg.Dir, spool.DirQuarantineRequests, job)) {
			if _, err := os.Lstat(dir); err == nil {
				return dir, nil
			} else if !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		return "", fs.ErrNotExist
	}
	dir, err := look()
	if errors.Is(err, fs.ErrNotExist) { // it may have moved meanwhile, from a place not looked at yet
		return look()
	}
	return dir, err
}
