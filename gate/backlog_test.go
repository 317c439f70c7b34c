package gate_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/view"
)

// backlogSize is how many requests lie in the inbox at once.
var (
	backlogSize = flag.Int("backlog", 300, "requests that TestBacklog puts into the inbox before the gate starts")
	backlogJunk = flag.Int("backlog.junk", 300, "other files that TestBacklog adds")
)

// TestBacklog puts many requests into one inbox at once and takes all of them to
// their end: every one is delivered, and neither time
// nor memory for one grows with how many wait.
func TestBacklog(t *testing.T) {
	w := mustWorld(t, scenario{name: "backlog", word: "ok"})
	must(t, os.RemoveAll(w.cfg.Inboxes[0].Path))
	must(t, os.Mkdir(w.cfg.Inboxes[0].Path, 0o770))
	n := *backlogSize
	for i := range n {
		must(t, w.put(w.cfg.Inboxes[0].Path, fmt.Sprintf("TR-20260209-%06dZ-backlog", i), "ok"))
	}
	junk := []string{"junk-%d", ".hidden-%d", "TR-%d.md.part", "TR-nobody-%d.md.sig"}
	for i := range *backlogJunk {
		must(t, os.WriteFile(filepath.Join(w.cfg.Inboxes[0].Path, fmt.Sprintf(junk[i%len(junk)], i)), nil, 0o644))
	}
	ended := 0
	quiet := &injector{}
	quiet.each = func() {
		if n := len(quiet.steps); n > 0 && quiet.steps[n-1].Name == "executor.collect" {
			ended++
		}
		quiet.steps = quiet.steps[:0]
	}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begun := time.Now()
	must(t, w.process(quiet))
	took := time.Since(begun)
	var after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&after)

	runs, err := os.ReadFile(w.recorder(quiet).runsFile())
	must(t, err)
	ids := strings.Fields(string(runs))
	slices.Sort(ids)
	if len(slices.Compact(ids)) != n {
		t.Errorf("%d runs of %d requests", len(ids), n)
	}
	results, err := filepath.Glob(filepath.Join(w.cfg.CoreInbound.Path, "TS-*.md"))
	must(t, err)
	if len(results) != n {
		t.Errorf("%d results of %d requests", len(results), n)
	}
	began := time.Now()
	s, err := view.Inspect(w.cfg, time.Time{})
	must(t, err)
	if s.Inboxes[0].Waiting != 0 {
		t.Errorf("status tells that %d wait", s.Inboxes[0].Waiting)
	}
	t.Logf("status took %s, its inbox has %d requests", time.Since(began).Round(time.Millisecond), s.Inboxes[0].Waiting)
	t.Logf("backlog %d among %d other files, %d taken: %.2f ms each, heap grew by %.1f MiB, peak RSS %s", n,
		*backlogJunk, ended,
		float64(took.Microseconds())/1000/float64(n), float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/(1<<20),
		peakRSS())
}

// peakRSS is the most memory that this process ever had.
func peakRSS() string {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return "unknown"
}
