package view

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
)

// RequestStatus is what became of a request so far: what the record has of it, and where its files lie. Its
// state changes to an end when all of it is where ResultPath or ReasonsPath says.
type RequestStatus struct {
	ledger.Request
	ResultPath string `json:"result_path,omitempty"`
	// ReasonsPath is the folder to look at when it or its result was refused.
	ReasonsPath string `json:"reasons_path,omitempty"`
}

// Watch follows what becomes of a request id: the record is read once, and
// then only what came to it. It is not safe for concurrent use.
type Watch struct {
	cfg     *config.Node
	id      string
	history *ledger.History
	record  *ledger.Follower
}

// Follow begins to follow a request id.
func Follow(cfg *config.Node, requestID string) *Watch {
	w := &Watch{cfg: cfg, id: requestID}
	w.restart()
	return w
}

func (w *Watch) restart() {
	w.history = &ledger.History{Whole: func(*ledger.Request) bool { return true }}
	w.record = ledger.FollowRequest(filepath.Join(w.cfg.Dir, spool.DirLedger), w.id)
}

// Look says what became of the request so far. One that was refused before its id
// could be read is found by no id: only by its quarantine item.
func (w *Watch) Look() (*RequestStatus, error) {
	// Before the record: what gets its verdict meanwhile is on record then.
	waits, claimed, err := Waits(w.cfg, w.id)
	if err != nil {
		return nil, err
	}
	err = w.readOn()
	if err != nil { // a gate may have taken back what it could not write: all of it once more
		w.restart()
		err = w.readOn()
	}
	if err != nil {
		return nil, err
	}
	r := w.history.Request(w.id)
	// What was refused and never admitted may have been mended, and put in again.
	again := r.State == ledger.StateQuarantined && r.AdmittedUTC == nil && r.Job != claimed
	if waits && (r.Job == "" || again) {
		r = ledger.Request{RequestID: w.id, State: ledger.StateWaiting, Cancelled: r.Cancelled}
	}
	moving, err := inProgress(w.cfg)
	if err != nil {
		return nil, err
	}
	return statusOf(w.cfg, r, moving)
}

func (w *Watch) readOn() error {
	return w.record.Read(func(e ledger.Event) error {
		if e.RequestID == w.id {
			w.history.Note(e)
		}
		return nil
	})
}

// Of is one look of a Watch.
func Of(cfg *config.Node, requestID string) (*RequestStatus, error) {
	return Follow(cfg, requestID).Look()
}

// Waits says whether a request lies in an inbox, or was claimed, and as which job.
// Of a claim in the making nobody can tell which request it is. Where the caller may not look,
// nothing waits.
func Waits(cfg *config.Node, requestID string) (waits bool, job string, err error) {
	name := requestID + ".md"
	for _, in := range cfg.Inboxes {
		if _, err := os.Lstat(filepath.Join(in.Path, name)); err == nil {
			return true, "", nil
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return false, "", err
		}
	}
	claimed := filepath.Join(cfg.Dir, spool.DirSpool, string(spool.StateClaimed))
	jobs, err := readFolder(claimed)
	for _, j := range jobs {
		if strings.HasPrefix(j.Name(), ".") {
			return true, j.Name(), nil
		}
		if c, err := spool.ReadClaim(filepath.Join(claimed, j.Name())); err == nil && c.Origin.Name == name {
			return true, j.Name(), nil
		}
	}
	return false, "", err
}

// readFolder lists a folder, which is empty for those who may not look.
func readFolder(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		err = nil
	}
	return entries, err
}

// inProgress says in which folder of the spool each job lies that is there. It must be read after the record: an
// event is written before the rename that it announces.
func inProgress(cfg *config.Node) (map[string]spool.State, error) {
	at := map[string]spool.State{}
	for _, st := range spool.States {
		jobs, err := readFolder(filepath.Join(cfg.Dir, spool.DirSpool, string(st)))
		if err != nil {
			return nil, err
		}
		for _, j := range jobs {
			at[j.Name()] = st
		}
	}
	return at, nil
}

// statusOf adds to what the record has of a request where its files lie.
func statusOf(cfg *config.Node, r ledger.Request, moving map[string]spool.State) (*RequestStatus, error) {
	s := &RequestStatus{Request: r}
	at, isMoving := moving[r.Job]
	switch {
	case !r.State.Ended():
	case isMoving: // its end is on record, and the job is not at its place yet
		s.State = ledger.StateIn(at)
	case r.State == ledger.StateRecalled: // what CORE may still have is no answer
	case r.State != ledger.StateDelivered:
		s.ReasonsPath = filepath.Join(cfg.Dir, string(r.Place), r.Job)
	default:
		s.ResultPath = filepath.Join(cfg.CoreInbound.Path, r.ResultID+spool.ResultSuffix)
		_, err := os.Lstat(s.ResultPath)
		switch {
		case errors.Is(err, fs.ErrNotExist) && onItsWay(cfg, r.Job):
			s.State = ledger.StateFinished
		case errors.Is(err, fs.ErrNotExist):
			s.State = ledger.StateTaken
		case err != nil && !errors.Is(err, fs.ErrPermission): // who may not look hears what is on record
			return nil, err
		}
	}
	return s, nil
}

// onItsWay says whether another rendering of a job's result is on record, and CORE may not have it yet.
func onItsWay(cfg *config.Node, job string) bool {
	names, _ := spool.Renderings(cfg.Dir, job)
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, ".") })
}

// ResultDir is the folder that holds the result of an id of a job: a rendering has one of its own.
func ResultDir(cfg *config.Node, job, resultID string) (string, error) {
	names, err := spool.Renderings(cfg.Dir, job)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return "", err
	}
	for _, name := range names {
		if _, n, _, _ := spool.RenderingOf(name); strings.HasSuffix(resultID, fmt.Sprintf("-%d", n)) {
			return filepath.Join(cfg.Dir, spool.DirReissues, name), nil
		}
	}
	return JobDir(cfg, job)
}

// Results reads from the record what CORE got and what it may still get, and calls each with it, in the order in which
// requests were admitted. It changes nothing, and ends with the first error.
func Results(cfg *config.Node, each func(*RequestStatus) error) error {
	admitted := func(r *ledger.Request) bool { return r.AdmittedUTC != nil }
	h := ledger.History{Whole: admitted}
	_, _, err := ledger.Read(filepath.Join(cfg.Dir, spool.DirLedger), func(e ledger.Event) error {
		h.Note(e)
		return nil
	})
	if err != nil {
		return err
	}
	moving, err := inProgress(cfg)
	if err != nil {
		return err
	}
	for _, r := range h.Requests() {
		if !admitted(r) {
			continue
		}
		s, err := statusOf(cfg, *r, moving)
		if err == nil {
			err = each(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Item is what the record has of the job of a quarantined item; the zero Request if it has none.
func Item(dir, job string) (ledger.Request, error) {
	h := ledger.History{Whole: func(*ledger.Request) bool { return true }}
	err := ledger.FollowJob(filepath.Join(dir, spool.DirLedger), job).Read(func(e ledger.Event) error {
		if e.RunID == job {
			h.Note(e)
		}
		return nil
	})
	for _, r := range h.Requests() {
		return *r, err
	}
	return ledger.Request{}, err
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
