package gate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/prune"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// withheld is what a person releases who says that all is a false alarm that the first result of a request does not hold.
func (w *world) withheld(t *testing.T, id string) (all []schemas.Release) {
	t.Helper()
	raw, err := os.ReadFile(w.one(t, spool.DirArchive+"/*/*/"+w.status(t, id).Job+"/"+ledger.FileWithheld))
	must(t, err)
	var r result.WithheldRecord
	must(t, json.Unmarshal(raw, &r))
	for _, place := range r.Withheld {
		if len(place.Releases) == 0 {
			t.Fatalf("nothing releases %+v", place)
		}
		for _, x := range place.Releases {
			if !slices.Contains(all, x) {
				all = append(all, x)
			}
		}
	}
	return all
}

// reissue orders that a result is rendered again without what is released, as alice.
func (w *world) reissue(t *testing.T, id string, released ...schemas.Release) orders.Receipt {
	t.Helper()
	given, err := orders.Give(w.dir, orders.Order{Kind: orders.Reissue, Subject: id,
		ResultSHA256: w.status(t, id).ResultSHA256, Released: released, By: "alice", Reason: "it quotes a manual"}, time.Now(), nil)
	must(t, err)
	return given
}

var withheldOnce = scenario{word: "order", want: ending{delivered: 1, runs: 1}}

// TestReissue: what was withheld by mistake is delivered in a result of its own, which names the one that it replaces.
func TestReissue(t *testing.T) {
	w := served(t, withheldOnce)
	before := w.status(t, crashID)
	is := w.withheld(t, crashID)
	given := w.reissue(t, crashID, is...)
	w.until(t)
	if why := w.answer(t, given); why != "" {
		t.Fatalf("refused: %s", why)
	}
	after := w.status(t, crashID)
	if after.ResultID != before.ResultID+"-2" || after.State != ledger.StateDelivered || after.Replaces != before.ResultID ||
		after.Withheld != 0 {
		t.Errorf("%+v", after)
	}
	raw, err := os.ReadFile(after.ResultPath)
	must(t, err)
	for _, want := range []string{"- Replaces: " + before.ResultID + "\n", "Released by alice: rule ", fetchOrder} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("it lacks %q:\n%s", want, raw)
		}
	}
	if _, err := os.Stat(before.ResultPath); err != nil {
		t.Error(err)
	}
	on := w.events(t, ledger.ResultReissued)
	if len(on) != 1 || on[0].By != "alice" || on[0].Replaces != before.ResultID || on[0].Order != given.SHA256 {
		t.Errorf("on record: %+v", on)
	}
	w.whole(t)
	w.onlyAnswers(t)

	recalled := w.recall(t, crashID)
	w.until(t)
	if n := w.notice(t, crashID); w.answer(t, recalled) != "" || n.ResultID != after.ResultID {
		t.Errorf("the recall of the reissue: %+v", n)
	}
	late := w.reissue(t, crashID, is...)
	w.until(t)
	if why := w.answer(t, late); !strings.Contains(why, "was recalled before") {
		t.Errorf("a reissue of what was recalled: %q", why)
	}
	w.whole(t)
	w.onlyAnswers(t)
}

// TestReissueRefused: nothing is reissued but what is withheld of a job that the archive has, as it was sealed.
func TestReissueRefused(t *testing.T) {
	try := func(what string, w *world, why string, released ...schemas.Release) {
		t.Helper()
		given := w.reissue(t, crashID, released...)
		w.until(t)
		if got := w.answer(t, given); !strings.Contains(got, why) || len(w.events(t, ledger.ResultReissued)) > 0 {
			t.Errorf("%s: %q, want %q", what, got, why)
		}
	}
	w := served(t, withheldOnce)
	is := w.withheld(t, crashID)
	try("other bytes", w, "nothing that can be released is withheld", schemas.Release{Rule: is[0].Rule, SHA256: strings.Repeat("0", 64)})
	try("a rule of structure", w, "nothing that can be released is withheld", schemas.Release{Rule: "result.fence", SHA256: is[0].SHA256})
	w.whole(t)
	job := w.one(t, spool.DirArchive+"/*/*/*")
	must(t, os.WriteFile(filepath.Join(job, ledger.FileStdout), []byte("forged\n"), 0o640))
	try("a changed job", w, "is not as it was sealed: \"stdout\"", is...)
	must(t, os.RemoveAll(job))
	w.append(t, ledger.Event{Type: ledger.ArchivePruned, Jobs: []string{filepath.Base(job)}, By: "op", Reason: "old"})
	try("a pruned job", w, "is in the archive no longer", is...)
}

// TestCrashReissue: a reissue survives a fault at each of its steps and happens once. At each stop CORE has exactly one
// answer in force, and in the end the new one.
func TestCrashReissue(t *testing.T) {
	calm := &injector{}
	w := served(t, withheldOnce)
	is := w.withheld(t, crashID)
	w.reissue(t, crashID, is...)
	must(t, w.process(calm))
	if len(calm.steps) < 30 {
		t.Fatalf("only %d steps", len(calm.steps))
	}
	for at := range calm.steps {
		kind := []faultKind{killBefore, killAfter, cutPerDir, happened}[at%4]
		w := served(t, withheldOnce)
		given := w.reissue(t, crashID, is...)
		_ = w.process(&injector{at: at + 1, kind: kind})
		w.whole(t)
		w.oneInForce(t)
		w.until(t)
		if why := w.answer(t, given); why != "" {
			t.Errorf("%s at step %d: refused: %s", kind, at+1, why)
		}
		s := w.status(t, crashID)
		if n := len(w.events(t, ledger.ResultReissued)); n != 1 || !strings.HasSuffix(s.ResultID, "-2") ||
			s.State != ledger.StateDelivered {
			t.Errorf("%s at step %d: %d events, %s is %s", kind, at+1, n, s.ResultID, s.State)
		}
		w.whole(t)
		w.onlyAnswers(t)
	}
}

// TestCrashReissueTaken: CORE takes each result away as it sees it, and gets none twice, wherever the gate dies.
func TestCrashReissueTaken(t *testing.T) {
	sc := withheldOnce
	sc.core = true
	calm := &injector{}
	w := served(t, sc)
	is := w.withheld(t, crashID)
	w.reissue(t, crashID, is...)
	must(t, w.process(calm))
	for at := range calm.steps {
		kind := []faultKind{killAfter, happened, killBefore}[at%3]
		w := served(t, sc)
		w.reissue(t, crashID, is...)
		_ = w.process(&injector{at: at + 1, kind: kind})
		w.until(t)
		w.take()
		for name, n := range w.taken {
			if n > 1 {
				t.Errorf("%s at step %d: CORE was given %s %d times", kind, at+1, name, n)
			}
		}
		if len(w.taken) != 2 {
			t.Errorf("%s at step %d: CORE was given %v", kind, at+1, w.taken)
		}
		w.whole(t)
	}
}

// TestReissueIsChecked: fsck names a rendering that was changed, is gone, or has no event, and an event that ends what was
// not in force.
func TestReissueIsChecked(t *testing.T) {
	for what, c := range map[string]struct {
		do   func(t *testing.T, w *world, folder string)
		says string
	}{
		"changed": {func(t *testing.T, w *world, folder string) {
			must(t, os.WriteFile(filepath.Join(folder, ledger.FileResult), []byte("forged\n"), 0o640))
		}, "seal: "},
		"gone": {func(t *testing.T, _ *world, folder string) { must(t, os.RemoveAll(folder)) }, "its rendering is gone"},
		"made up": {func(t *testing.T, _ *world, folder string) {
			must(t, os.CopyFS(strings.TrimSuffix(folder, "-2")+"-3", os.DirFS(folder)))
		}, "nothing on record tells of this rendering"},
		"a second end": {func(t *testing.T, w *world, _ string) {
			e := w.events(t, ledger.ResultReissued)[0]
			w.append(t, ledger.Event{Type: ledger.ResultReissued, RunID: e.RunID, RequestID: e.RequestID,
				ResultID: e.Replaces + "-3", Replaces: e.Replaces, Seal: e.Seal})
		}, "was not the answer to its request"},
	} {
		w := served(t, withheldOnce)
		w.reissue(t, crashID, w.withheld(t, crashID)...)
		w.until(t)
		c.do(t, w, w.one(t, spool.DirReissues+"/*"))
		v, _ := w.look()
		if all := strings.Join(v.notes, "\n"); !strings.Contains(all, c.says) {
			t.Errorf("%s: fsck says %q, want %q", what, all, c.says)
		}
	}
}

// TestReissueOfAPart: what releases only a part of a place changes nothing, and leaves nothing. Prune removes renderings
// with their job.
func TestReissueOfAPart(t *testing.T) {
	w := served(t, scenario{word: "order", want: ending{delivered: 1, runs: 1}})
	is := w.withheld(t, crashID)
	given := w.reissue(t, crashID, is[0]) // the place breaks two rules
	w.until(t)
	if why := w.answer(t, given); !strings.Contains(why, "would hold no more than it does") {
		t.Errorf("half of a place: %q", why)
	}
	if left, err := spool.Renderings(w.dir, ""); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	w.reissue(t, crashID, is...)
	w.until(t)
	_, err := prune.Run(t.Context(), w.cfg, prune.Rule{Keep: 0}, prune.Options{By: "op", Reason: "space"})
	must(t, err)
	if left, err := spool.Renderings(w.dir, ""); err != nil || len(left) > 0 {
		t.Errorf("prune left %v, %v", left, err)
	}
	w.whole(t)
}
