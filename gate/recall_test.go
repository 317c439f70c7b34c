package gate_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// recall orders that the result of a request is taken back, as alice.
func (w *world) recall(t *testing.T, id string) orders.Receipt {
	t.Helper()
	return w.recallOf(t, id, w.status(t, id).ResultSHA256)
}

func (w *world) recallOf(t *testing.T, id, sum string) orders.Receipt {
	t.Helper()
	given, err := orders.Give(w.dir, orders.Order{Kind: orders.Recall, Subject: id, ResultSHA256: sum, By: "alice",
		Reason: "the input was wrong"}, time.Now(), nil)
	must(t, err)
	return given
}

// putInput puts a request into an inbox that takes a file of that content as its input.
func (w *world) putInput(t *testing.T, id string, content []byte) {
	t.Helper()
	inbox := w.cfg.Inboxes[0].Path
	sum, old := sha256.Sum256(content), sha256.Sum256([]byte(crashPlan))
	doc := strings.ReplaceAll(string(crashRequest(id, "ok")), hex.EncodeToString(old[:]), hex.EncodeToString(sum[:]))
	must(t, os.Mkdir(filepath.Join(inbox, id+".inputs"), 0o755))
	must(t, os.WriteFile(filepath.Join(inbox, id+".inputs", "x.csv"), content, 0o644))
	must(t, os.WriteFile(filepath.Join(inbox, id+".md"), []byte(doc), 0o644))
}

// TestRecall: a result is taken back by an order, on record and by a notice to CORE that names it, and stays where it
// lies. The requests that had the result or a file of its run as input are on record with it.
func TestRecall(t *testing.T) {
	w := served(t, scenario{word: "ok|fail", want: ending{delivered: 5, runs: 5}})
	artifact, err := os.ReadFile(w.one(t, "core-inbound/TS-*-"+crashID+".artifacts/d/x.csv"))
	must(t, err)
	document, err := os.ReadFile(w.one(t, "core-inbound/TS-*-"+crashID+".md"))
	must(t, err)
	w.putInput(t, requestID(7), artifact)
	w.putInput(t, requestID(8), document)
	w.putInput(t, requestID(9), []byte("another file"))
	w.until(t)
	before := w.status(t, crashID)

	given, late := w.recall(t, crashID), w.recall(t, crashID)
	w.until(t)
	if first, second := w.answer(t, given), w.answer(t, late); first != "" || !strings.Contains(second, "was recalled before, by") {
		t.Errorf("the first: %q, the second: %q", first, second)
	}
	on := w.events(t, ledger.ResultRecalled)
	if len(on) != 1 || on[0].By != "alice" || on[0].ResultID != before.ResultID || on[0].Order != given.SHA256 ||
		on[0].ResultSHA256 != schemas.SHA256(document) || on[0].Took == nil || on[0].Took.Requests != 2 ||
		!slices.Equal(on[0].Took.IDs, []string{requestID(7), requestID(8)}) || on[0].Took.Unlisted {
		t.Errorf("on record: %+v, took %+v", on, on[0].Took)
	}
	n := w.notice(t, crashID)
	raw, err := n.Encode()
	must(t, err)
	must(t, valid(raw))
	if n.Stage != schemas.StageRecalled || n.ResultID != before.ResultID || n.ResultSHA256 != before.ResultSHA256 {
		t.Errorf("the notice: %s", raw)
	}
	after := w.status(t, crashID)
	if after.State != ledger.StateRecalled || after.Recalled == nil || after.Recalled.By != "alice" ||
		after.ResultPath != "" || after.ReasonsPath != "" || len(after.Took.IDs) != 2 {
		t.Errorf("status: %+v", after)
	}
	if still, err := os.ReadFile(before.ResultPath); err != nil || string(still) != string(document) {
		t.Errorf("the result in CORE's folder: %v", err)
	}
	w.onlyAnswers(t)
	if v := w.atEnd(false); len(v.notes) > 0 {
		t.Error(strings.Join(v.notes, "\n"))
	}
}

// TestRecallRefused: an order ends the result that it names, or nothing.
func TestRecallRefused(t *testing.T) {
	w := served(t, scenario{word: "ok|; id|secret"})
	for _, c := range []struct {
		what  string
		order orders.Receipt
		why   string
	}{
		{"another result", w.recallOf(t, crashID, strings.Repeat("0", 64)), "is another one now: TS-"},
		{"a refused request", w.recallOf(t, requestID(1), strings.Repeat("0", 64)), "it is quarantined"},
		{"a refused result", w.recallOf(t, requestID(2), strings.Repeat("0", 64)), "it is result-quarantined"},
		{"an unknown one", w.recallOf(t, "TR-none", strings.Repeat("0", 64)), "it is unknown"},
	} {
		w.until(t)
		if why := w.answer(t, c.order); !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, want %q", c.what, why, c.why)
		}
	}
	if n := len(w.events(t, ledger.ResultRecalled)); n > 0 {
		t.Errorf("%d results were recalled", n)
	}
	w.onlyAnswers(t)
}

// TestRecallAfterPrune: a result whose job is gone can be taken back; who took its files then is not known.
func TestRecallAfterPrune(t *testing.T) {
	w := ended(t, "delivered")
	must(t, os.RemoveAll(w.one(t, spool.DirArchive+"/*/*/*")))
	w.append(t, ledger.Event{Type: ledger.ArchivePruned, Jobs: []string{w.status(t, crashID).Job}, By: "op", Reason: "old"})
	given := w.recall(t, crashID)
	w.until(t)
	on := w.events(t, ledger.ResultRecalled)
	if why := w.answer(t, given); why != "" || len(on) != 1 || !on[0].Took.Unlisted {
		t.Errorf("%q, on record: %+v", why, on)
	}
	w.onlyAnswers(t)
}

// oneInForce wants exactly one answer for each request id, whatever else lies there for now.
func (w *world) oneInForce(t *testing.T) {
	t.Helper()
	var v verdict
	if w.answers(&v); v.lost+v.twice > 0 {
		t.Error(strings.Join(v.notes, "\n"))
	}
}

// TestCrashRecall: a recall survives a fault at each of its steps and happens once. At each stop CORE has exactly one
// answer in force, and in the end the notice.
func TestCrashRecall(t *testing.T) {
	calm := &injector{}
	sc := scenario{word: "ok", want: ending{delivered: 1, runs: 1}}
	w := served(t, sc)
	w.recall(t, crashID)
	must(t, w.process(calm))
	if len(calm.steps) < 10 {
		t.Fatalf("only %d steps", len(calm.steps))
	}
	for at := range calm.steps {
		for _, kind := range []faultKind{killBefore, killAfter, cutPerDir, happened} {
			w := served(t, sc)
			given := w.recall(t, crashID)
			_ = w.process(&injector{at: at + 1, kind: kind})
			w.whole(t)
			w.oneInForce(t)
			w.until(t)
			if why := w.answer(t, given); why != "" {
				t.Errorf("%s at step %d: refused: %s", kind, at+1, why)
			}
			if got, n := w.stage(t), len(w.events(t, ledger.ResultRecalled)); got != schemas.StageRecalled || n != 1 {
				t.Errorf("%s at step %d: %q, %d events", kind, at+1, got, n)
			}
			w.onlyAnswers(t)
		}
	}
}
