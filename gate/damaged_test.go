package gate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/spool"
)

// TestADamagedJobEndsItsRequest: the folder of a job that runs is damaged while
// no gate serves. Whoever waits for the request must hear of its end.
func TestADamagedJobEndsItsRequest(t *testing.T) {
	for step, state := range map[string]spool.State{"executor.prepare": spool.StateAdmitted,
		"executor.start": spool.StateRunning, "move.finished.rename": spool.StateFinished} {
		t.Run(string(state), func(t *testing.T) {
			w := mustWorld(t, scenario{name: "damaged", word: "ok"})
			dying := &injector{name: step, nth: 1, kind: killAfter}
			if _ = w.process(dying); !dying.dead {
				t.Fatal("it did not die")
			}
			must(t, os.WriteFile(filepath.Join(w.one(t, "spool/"+string(state)+"/*"), "job.json"), []byte("{}"), 0o600))
			must(t, w.process(&injector{}))
			f, err := view.Of(w.cfg, crashID)
			must(t, err)
			if !f.State.Ended() || f.State != "result-quarantined" || len(f.Rules) != 1 || f.Rules[0] != "spool.job.damaged" {
				t.Errorf("it became %+v", f)
			}
			var last ledger.Event
			_, _, err = ledger.Read(filepath.Join(w.dir, spool.DirLedger), func(e ledger.Event) error {
				if e.Type == ledger.ResultQuarantined {
					last = e
				}
				return nil
			})
			must(t, err)
			if last.RequestID != crashID || last.RequestSHA256 == "" {
				t.Errorf("the event is %+v", last)
			}
			if v, _ := w.look(); len(v.notes) > 0 {
				t.Error(v.notes)
			}
		})
	}
}
