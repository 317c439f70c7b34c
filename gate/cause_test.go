package gate_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
)

// TestOneCause: each way a run can end has its word, and the job's outcome, the event, the list of results and the
// result itself say the same.
func TestOneCause(t *testing.T) {
	w := mustWorld(t, scenario{name: "causes", word: strings.Join(endings(), "|")})
	leaves := map[string]map[string]string{}
	for word := range ends {
		leaves[word] = map[string]string{"stdout": "a\n", "out/d/x.csv": "1\n"}
	}
	delete(leaves["missing-output"], "out/d/x.csv")
	g, err := gate.Open(w.cfg, gate.Options{Executor: &ender{speaker{w.recorder(&injector{}), leaves}},
		Retry: time.Microsecond, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	must(t, w.runUntilIdle(g))
	must(t, g.Close())

	inEvent := map[string]ledger.Event{} // by job
	_, _, err = ledger.Read(filepath.Join(w.cfg.Dir, spool.DirLedger), func(e ledger.Event) error {
		if e.Type == ledger.RunCompleted || e.Type == ledger.RunFailed {
			inEvent[e.RunID] = e
		}
		return nil
	})
	must(t, err)
	words := map[string]string{}
	for k, word := range endings() {
		words[requestID(k)] = word
	}
	results, err := results(w.cfg)
	must(t, err)
	seen := map[schemas.Cause]bool{}
	for _, r := range results {
		want := schemas.Cause(words[r.RequestID])
		if _, ok := ends[string(want)]; !ok {
			t.Fatalf("%s is none of the requests", r.RequestID)
		}
		if want == "hostile" || want == "long" || want == "order" {
			want = schemas.CauseNone
		}
		seen[want] = true
		dir, err := view.JobDir(w.cfg, r.Job)
		must(t, err)
		var kept struct {
			Outcome struct{ Cause schemas.Cause }
		}
		raw, err := os.ReadFile(filepath.Join(dir, ledger.FileOutcome))
		must(t, err)
		must(t, json.Unmarshal(raw, &kept))
		doc, err := os.ReadFile(r.ResultPath)
		must(t, err)
		res, found := validate.Result(filepath.Base(r.ResultPath), doc, w.cfg.Policy(time.Now()))
		if res == nil {
			t.Fatalf("%s: %+v", r.RequestID, found)
		}
		e := inEvent[r.Job]
		if kept.Outcome.Cause != want || e.Cause != want || r.Cause != want || res.Summary.Cause != want {
			t.Errorf("%s: the outcome says %s, the event %s, the list of results %s, the result %s", want,
				kept.Outcome.Cause, e.Cause, r.Cause, res.Summary.Cause)
		}
		completed := want == schemas.CauseNone || want == "output" || want == "missing-output"
		if (e.Type == ledger.RunCompleted) != completed {
			t.Errorf("%s is on record as %s", want, e.Type)
		}
	}
	seen[schemas.CauseCancelled] = true // TestCancel
	for _, c := range schemas.Causes {
		if !seen[c] {
			t.Errorf("no run ended with %s", c)
		}
	}
}

// TestOlderOutcome: the outcome that an older node left has another word for a program that failed by itself, and none
// for a missing output. The result says what it would say today.
func TestOlderOutcome(t *testing.T) {
	for word, want := range map[string]schemas.Cause{"fail": schemas.CauseExit, "script": schemas.CauseMissingOutput} {
		w := mustWorld(t, scenario{name: "older", word: word})
		dying := &injector{name: "executor.cleanup", nth: 1, kind: killBefore}
		if _ = w.process(dying); !dying.dead {
			t.Fatal("it did not die")
		}
		path := w.one(t, "spool/finished/*/"+ledger.FileOutcome)
		raw, err := os.ReadFile(path)
		must(t, err)
		var o result.Outcome
		must(t, json.Unmarshal(raw, &o))
		if want == schemas.CauseMissingOutput {
			o.Collected.Files = nil
		}
		o.Outcome.Cause = schemas.CauseNone
		raw, err = json.Marshal(o)
		must(t, err)
		must(t, os.WriteFile(path, raw, 0o600))
		must(t, w.process(&injector{}))
		doc, err := os.ReadFile(w.one(t, "archive/*/*/*/"+ledger.FileResult))
		must(t, err)
		if res, _ := validate.Result("", doc, w.cfg.Policy(time.Now())); res == nil || res.Summary.Cause != want {
			t.Errorf("%s: %s", want, doc)
		}
	}
}
