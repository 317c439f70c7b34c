package gate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/spool"
)

// historyOf is the history of a record as the daemon keeps it, and the events of it.
func historyOf(dir string) (h *ledger.History, events []ledger.Event, err error) {
	h = &ledger.History{}
	_, _, err = ledger.Read(filepath.Join(dir, spool.DirLedger), func(e ledger.Event) error {
		h.Note(e)
		events = append(events, e)
		return nil
	})
	return h, events, err
}

// disagreements are what status, results, the node's history, its totals and its folders say differently of some
// request ids.
func disagreements(cfg *config.Node, ids []string) (list []string, err error) {
	differ := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	h, _, err := historyOf(cfg.Dir)
	if err != nil {
		return nil, err
	}
	results, err := results(cfg)
	if err != nil {
		return nil, err
	}
	node, err := view.Inspect(cfg, time.Time{})
	if err != nil {
		return nil, err
	}
	delivered := 0
	for _, r := range results {
		if r.DeliveredUTC != nil {
			delivered++
		}
	}
	if node.Totals.ResultsDelivered != delivered {
		differ("status counts %d results, results lists %d", node.Totals.ResultsDelivered, delivered)
	}
	for _, id := range ids {
		s, err := view.Of(cfg, id)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(results, func(r *view.RequestStatus) bool { return r.RequestID == id })
		if at >= 0 && text(s) != text(results[at]) {
			differ("status has %s, results %s", text(s), text(results[at]))
		}
		kept := h.Request(id)
		if s.Job != "" && (kept.Job != s.Job || kept.Place != s.Place || kept.RequestSHA256 != s.RequestSHA256) {
			differ("status has %s, the node %+v", text(s), kept)
		}
		if _, admitted := h.Admitted(id); admitted != (at >= 0) {
			differ("%s was admitted: the node says %v, results %v", id, admitted, at >= 0)
		}
		if s.Job == "" {
			continue
		}
		// The folder is the state; a job may be one rename short of its last event.
		lies := spool.StateDelivered
		dir, err := view.JobDir(cfg, s.Job)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		for _, st := range append(slices.Clone(spool.States), spool.StateRequestRefused, spool.StateResultRefused) {
			if filepath.Dir(dir) == filepath.Join(cfg.Dir, string(st)) ||
				filepath.Dir(dir) == filepath.Join(cfg.Dir, spool.DirSpool, string(st)) {
				lies = st
			}
		}
		state := s.State
		if state == ledger.StateTaken || state == ledger.StateRecalled {
			state = ledger.StateDelivered
		}
		if state != ledger.StateIn(lies) && (state.Ended() || state != ledger.StateIn(s.Place)) {
			differ("%s is %s, and lies in %s", id, s.State, lies)
		}
	}
	return list, nil
}

// agree notes what the readers of a node say differently of its requests.
func (w *world) agree(v *verdict) {
	list, err := disagreements(w.cfg, w.ids())
	for _, d := range list {
		v.note(&v.half, "%s", d)
	}
	if err != nil {
		v.note(&v.half, "%v", err)
	}
}

// ids are those of the scenario's requests.
func (w *world) ids() (ids []string) {
	for k := range strings.Split(w.sc.word, "|") {
		ids = append(ids, requestID(k))
	}
	return ids
}

// text is a status as programs get it.
func text(s *view.RequestStatus) string {
	b, err := json.Marshal(s)
	return string(b) + fmt.Sprint(err)
}

// TestEveryReaderSaysTheSame: at every prefix of a record, status, results, totals and what the node keeps say the
// same of every request; and fsck, which folds the record in a way of its own, finds each job where the history says
// that it lies, and each notice standing that the history says stands.
func TestEveryReaderSaysTheSame(t *testing.T) {
	for _, w := range []*world{mixedWithOrders(t), served(t, mixed[1]), ended(t, "refused result")} {
		var lines [][]byte
		must(t, ledger.Lines(filepath.Join(w.dir, spool.DirLedger), func(line []byte) error {
			lines = append(lines, bytes.Clone(line))
			return nil
		}))
		for n := range len(lines) + 1 {
			dir := filepath.Join(t.TempDir(), "node")
			must(t, spool.Init(dir))
			must(t, os.WriteFile(filepath.Join(dir, config.FileName), []byte(crashConfig), 0o640))
			must(t, os.Mkdir(filepath.Join(dir, "inbox/b"), 0o700))
			cfg, err := config.Load(dir)
			must(t, err)
			record := append(bytes.Join(lines[:n], []byte("\n")), '\n')
			if n > 0 {
				must(t, os.WriteFile(filepath.Join(dir, spool.DirLedger, "events-000000000001.jsonl"), record, 0o640))
			}
			places := build(t, cfg)
			list, err := disagreements(cfg, w.ids())
			must(t, err)
			for _, d := range list {
				t.Errorf("%s, after %d events: %s", w.sc.name, n, d)
			}
			r, err := fsck.Run(t.Context(), cfg, fsck.Options{})
			must(t, err)
			for _, f := range r.Found {
				if slices.Contains([]fsck.Check{fsck.CheckRecord, fsck.CheckLost, fsck.CheckPlace, fsck.CheckTwice,
					fsck.CheckLedger, fsck.CheckNotice}, f.Check) && !strings.Contains(f.Where, spool.DirOrders) {
					t.Errorf("%s, after %d events: fsck: %s: %s: %s", w.sc.name, n, f.Check, f.Where, f.What)
				}
			}
			b := r.Balance
			if b.Delivered != places[spool.StateDelivered] || b.RequestsQuarantined != places[spool.StateRequestRefused] ||
				b.ResultsQuarantined != places[spool.StateResultRefused] || b.Missing() != 0 {
				t.Errorf("%s, after %d events: fsck has %+v, the history %v", w.sc.name, n, b, places)
			}
		}
	}
}

// build makes the folders and notices that the history of a node's record says are there, and counts the jobs in
// each place.
func build(t *testing.T, cfg *config.Node) map[spool.State]int {
	t.Helper()
	h, events, err := historyOf(cfg.Dir)
	must(t, err)
	places, notices := map[spool.State]int{}, map[string]ledger.Event{}
	for _, e := range events {
		if e.Notice != "" {
			notices[e.Notice] = e
		}
		j, ok := h.Job(e.RunID)
		if !ok {
			continue
		}
		if j.RequestID != e.RequestID && e.RequestID != "" {
			t.Errorf("job %s is of %s, and of %s", j.ID, j.RequestID, e.RequestID)
		}
		place := filepath.Join(cfg.Dir, spool.DirSpool, string(j.Place), j.ID)
		if j.Place.Ended() {
			place = filepath.Join(cfg.Dir, string(j.Place), j.ID)
		}
		if j.Place == spool.StateDelivered {
			place = filepath.Join(cfg.Dir, spool.DirArchive, e.Time.Format("2006/01"), j.ID)
		}
		if _, err := os.Lstat(place); errors.Is(err, fs.ErrNotExist) {
			must(t, os.MkdirAll(place, 0o700))
			places[j.Place]++
		}
		if again, err := ledger.EventAt(filepath.Join(cfg.Dir, spool.DirLedger), j.At); err != nil ||
			again.RunID != j.ID || !j.Rejected && !j.Recalled && !ledger.Reissues(again) && ledger.Announces(again) != j.Place {
			t.Errorf("job %s is in %s by %+v, %v", j.ID, j.Place, again, err)
		}
	}
	for _, e := range events {
		if ledger.Reissues(e) {
			must(t, os.MkdirAll(filepath.Join(cfg.Dir, spool.DirReissues, spool.RenderingName(e.RunID, 2)), 0o700))
		}
	}
	for subject, e := range notices {
		by, gone, ok := h.Told(subject)
		if !ok || by != e.RunID && !gone {
			t.Errorf("%s was told by %s, and by %s", subject, e.RunID, by)
		}
		if gone {
			continue
		}
		data, err := ledger.NoticeOf(e).Encode()
		must(t, err)
		must(t, os.WriteFile(filepath.Join(cfg.CoreNotices.Path, ledger.NoticeFile(subject)), data, 0o640))
	}
	return places
}

// mixedWithOrders is a node with a request of each end, of which a person released, rejected and cancelled some, and
// of which some were mended and put in again.
func mixedWithOrders(t *testing.T) *world {
	t.Helper()
	w := served(t, scenario{name: "with orders", word: "ok|; id|secret|" + secret + "|fail|; id|order"})
	for _, item := range w.items(t) {
		if it, err := quarantine.NewStore(filepath.Join(w.dir, spool.DirQuarantine)).Show(item); err != nil ||
			len(it.Reasons.Releasable) == 0 {
			w.order(t, orders.Reject, item, nil)
		} else {
			w.release(t, item)
		}
	}
	w.until(t)
	must(t, w.put(w.cfg.Inboxes[0].Path, requestID(1), "ok"))
	must(t, w.put(w.cfg.Inboxes[0].Path, requestID(5), "endless"))
	must(t, w.serveUntil(func() bool { return w.status(t, requestID(5)).State == ledger.StateRunning }))
	w.order(t, orders.Cancel, requestID(5), nil)
	w.until(t)
	w.recall(t, requestID(4))
	w.reissue(t, requestID(6), w.withheld(t, requestID(6))...)
	w.until(t)
	return w
}
