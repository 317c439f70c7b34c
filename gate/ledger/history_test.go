package ledger

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestIDsAreComparedWithoutCase: a file system that ignores case would take both for one.
func TestIDsAreComparedWithoutCase(t *testing.T) {
	var h History
	h.Note(Event{Type: DeliveryAttempted, Outcome: OutcomeAdmitted, RequestID: "TR-Stats", RunID: "j1"})
	if j, ok := h.Admitted("tr-STATS"); !ok || j.ID != "j1" || j.RequestID != "TR-Stats" {
		t.Errorf("the id in other letters is %+v, %v", j, ok)
	}
}

// TestAnIDStandsForOneJob: a duplicate changes nothing of the first; what was refused can come again.
func TestAnIDStandsForOneJob(t *testing.T) {
	refused := Event{Type: DeliveryAttempted, Outcome: OutcomeRefused}
	admitted := Event{Type: DeliveryAttempted, Outcome: OutcomeAdmitted}
	released := Event{Type: QuarantineReleased}
	for _, c := range []struct {
		name   string
		events []Event // of the jobs a, b, ... in turns
		want   string
	}{
		{"duplicate", []Event{admitted, refused}, "ja admitted"},
		{"mended", []Event{refused, admitted}, "jb admitted"},
		{"refused twice", []Event{refused, refused}, "jb quarantined"},
		{"the first released", []Event{refused, refused, released}, "ja waiting"},
		{"the first released, and another admitted", []Event{refused, refused, released, admitted}, "jb admitted"},
		{"the first released, and refused as a duplicate", []Event{refused, refused, released, admitted, refused},
			"jb admitted"},
		{"refused after all, and a duplicate", []Event{admitted, refused, refused}, "ja quarantined"},
	} {
		var h History
		for i, e := range c.events {
			e.RequestID, e.RunID = "TR-x", "j"+string(rune('a'+i%2))
			h.Note(e)
		}
		if r := h.Request("TR-x"); r.Job+" "+string(r.State) != c.want {
			t.Errorf("%s: %s %s, want %s", c.name, r.Job, r.State, c.want)
		}
		j, ok := h.Admitted("TR-x")
		if want := slices.ContainsFunc(c.events, func(e Event) bool { return e.Outcome == OutcomeAdmitted }); ok != want ||
			ok && j.ID != strings.Fields(c.want)[0] {
			t.Errorf("%s: admitted as %+v, %v", c.name, j, ok)
		}
	}
}

// lives notes n requests that were delivered.
func lives(h *History, n int) {
	code := 0
	for i := range n {
		id, job := fmt.Sprintf("TR-20260209-160501Z-some-request-%d", i), fmt.Sprintf("j%026d", i)
		sum := strings.Repeat("ab", 32)
		for k, e := range []Event{{Type: DeliveryAttempted, Outcome: OutcomeAdmitted, RequestSHA256: sum, DedupKey: sum},
			{Type: RunStarted, RequestSHA256: sum}, {Type: RunCompleted, ExitCode: &code, Cause: "none"},
			{Type: ResultDelivered, RequestSHA256: sum, ResultID: "TS-20260209-160502Z" + id, ResultSHA256: sum, Seal: sum}} {
			e.Seq, e.RequestID, e.RunID, e.Offset = int64(4*i+k), id, job, int64(1000*(4*i+k))
			h.Note(e)
		}
	}
}

// TestAnEndedRequestTakesFewBytes: what a node keeps of each request for ever.
func TestAnEndedRequestTakesFewBytes(t *testing.T) {
	const n = 100_000
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	h := &History{}
	lives(h, n)
	each := (heap() - before) / n
	if j, ok := h.Admitted("TR-20260209-160501Z-some-request-7"); !ok || j.At != 1000*(4*7+3) {
		t.Errorf("%+v, %v", j, ok)
	}
	t.Logf("%d bytes for each", each)
	if each > 200 {
		t.Errorf("%d bytes for each of %d ended requests, want at most 200", each, n)
	}
}

// TestStatesAreDocumented: the document has a row for each state, and none for others.
func TestStatesAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(raw), "| state | what it means | over |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) != len(States) {
		t.Fatalf("%d rows, want %d", len(rows), len(States))
	}
	for i, s := range States {
		if !strings.HasPrefix(rows[i], "| `"+string(s)+"` |") || strings.HasSuffix(rows[i], "| yes |") != s.Ended() {
			t.Errorf("%s has the row %q", s, rows[i])
		}
	}
}
