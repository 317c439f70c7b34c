package gate_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/spool"
)

// TestReload: what can be changed counts from then on; one thing that can't be
// refuses all of it.
func TestReload(t *testing.T) {
	w := mustWorld(t, scenario{name: "reload", word: "ok", want: ending{requests: 1}})
	g, err := gate.Open(w.cfg, gate.Options{Executor: w.recorder(&injector{}), Logger: slog.New(slog.DiscardHandler),
		Retry: firstPause})
	must(t, err)
	load := func(text string) *config.Node {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(w.dir, config.FileName), []byte(text), 0o640))
		l, err := config.Load(w.dir)
		must(t, err)
		return l
	}
	strict := strings.Replace(crashConfig, "max_age: 0s", "max_age: 0s, approvers: [somebody]", 1)
	for _, more := range []string{"core_inbound: {path: elsewhere}\n", "limits: {inputs_mb: 1}\n"} {
		key, _, _ := strings.Cut(more, ":")
		if err := g.Reload(load(strict + more)); !errors.Is(err, gate.ErrRestart) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
	must(t, g.Reload(load(strict+"limits: {time_sec: 10}\n")))
	must(t, w.runUntilIdle(g))
	must(t, g.Close())
	if v := w.atEnd(false); len(v.notes) > 0 {
		t.Error(v.notes)
	}
	reasons, err := os.ReadFile(w.one(t, inRequests+"/reasons.json"))
	must(t, err)
	for _, want := range []string{`"rule": "approval.`, "maximum of 10 seconds"} {
		if !strings.Contains(string(reasons), want) {
			t.Errorf("%s is not among the reasons: %s", want, reasons)
		}
	}
}

// TestReloadBeforeTheDelivery: a result is judged by the configuration that counts when it
// is delivered.
func TestReloadBeforeTheDelivery(t *testing.T) {
	w := mustWorld(t, scenario{name: "reload", word: "script", want: ending{results: 1, runs: 1}})
	load := func(more string) *config.Node {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(w.dir, config.FileName), []byte(crashConfig+more), 0o640))
		l, err := config.Load(w.dir)
		must(t, err)
		return l
	}
	w.cfg = load("results: {artifact_types: [text, script]}\n")
	strict := load("results: {judgement: strict}\n")
	var g *gate.Gate
	ended := false
	var err error
	g, err = gate.Open(w.cfg, gate.Options{Executor: w.recorder(&injector{}), Logger: slog.New(slog.DiscardHandler),
		Seam: func(s spool.Step, apply func() error) error {
			if s.Name == "move.finished.rename" && !ended {
				ended = true
				must(t, g.Reload(strict))
			}
			return apply()
		}})
	must(t, err)
	must(t, w.runUntilIdle(g))
	must(t, g.Close())
	if !ended {
		t.Fatal("no run ended")
	}
	if v := w.atEnd(false); len(v.notes) > 0 {
		t.Error(v.notes)
	}
}
