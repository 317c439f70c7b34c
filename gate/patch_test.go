package gate_test

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
)

// tooled is a node with one request of threegate-tools, whose registry is the input x.csv and whose run leaves a patch.
func tooled(t *testing.T, more, registry, patch string) (*world, *speaker) {
	t.Helper()
	w := mustWorld(t, scenario{name: "tools", word: "ok", want: ending{delivered: 1, runs: 1}})
	must(t, os.WriteFile(filepath.Join(w.dir, config.FileName), []byte(crashConfig+more), 0o640))
	var err error
	w.cfg, err = config.Load(w.dir)
	must(t, err)
	stem := filepath.Join(w.cfg.Inboxes[0].Path, crashID)
	must(t, os.WriteFile(filepath.Join(stem+".inputs", "x.csv"), []byte(registry), 0o644))
	was, is := sha256.Sum256([]byte(crashPlan)), sha256.Sum256([]byte(registry))
	request := strings.NewReplacer(hex.EncodeToString(was[:]), hex.EncodeToString(is[:]),
		"python x.csv ok", "threegate-tools run --registry /in/x.csv /in/plan.jsonl",
		"/out/d/x.csv", "/out/changes.patch").Replace(string(crashRequest(crashID, "ok")))
	must(t, os.WriteFile(stem+".md", []byte(request), 0o644))
	return w, &speaker{w.recorder(&injector{}), map[string]map[string]string{"/in/plan.jsonl": {
		"out/changes.patch": patch}}}
}

func (w *world) runWith(t *testing.T, e gate.Executor) {
	t.Helper()
	g, err := gate.Open(w.cfg, gate.Options{Executor: e, Retry: firstPause, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	must(t, w.runUntilIdle(g))
	must(t, g.Close())
	w.whole(t)
}

const todoPatch = "diff --git a/x.md b/x.md\nindex 1..2 100644\n--- a/x.md\n+++ b/x.md\n@@ -1 +1,2 @@\n one\n+TODO\n"

func todoAt(level string) string {
	return "version: 1\nvalidators: [{rule: code.todo.blockers, enforcement: " + level + "}]\n"
}

// TestPatchOfARun: a patch that breaks a rule of the run's registry does not reach CORE, whose result says which
// rule it is; what only warns is told.
func TestPatchOfARun(t *testing.T) {
	for _, c := range []struct {
		name, registry, patch, says string
		delivered                   bool
	}{
		{name: "good", registry: todoAt("blocking"), patch: strings.Replace(todoPatch, "TODO", "two", 1),
			says: "Unexpected behavior: None observed", delivered: true},
		{name: "blocking", registry: todoAt("blocking"), patch: todoPatch,
			says: "Withheld from CORE, and kept in the archive: /out/changes.patch, all of it (code.todo.blockers)."},
		{name: "warning", registry: todoAt("warning"), patch: todoPatch, delivered: true,
			says: "The patch breaks a rule of its registry that is a warning there: code.todo.blockers, places: 1."},
		{name: "disguised", registry: todoAt("blocking"), patch: strings.Replace(todoPatch, "TODO", "a\x1b[31m", 1), delivered: true,
			says: "The patch holds or names characters that a terminal or an editor does not show as they are"},
		{name: "no patch", registry: todoAt("blocking"), patch: "none\n", says: "all of it (tools.patch.form)."},
		{name: "no registry", registry: "version: 2\n", patch: todoPatch, says: "all of it (tools.registry)."},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, e := tooled(t, "", c.registry, c.patch)
			w.runWith(t, e)
			file := w.one(t, "core-inbound/TS-*.md")
			b, err := os.ReadFile(file)
			must(t, err)
			r, fs := validate.Result(file, b, w.cfg.Policy(w.events(t, ledger.ResultDelivered)[0].Time))
			if r == nil || !strings.Contains(string(b), c.says) {
				t.Fatalf("%q is not in it: %v\n%s", c.says, fs, b)
			}
			has := slices.ContainsFunc(r.Artifacts, func(a schemas.Artifact) bool { return a.Path == "changes.patch" })
			if has != c.delivered || len(w.glob("core-inbound/*/changes.patch")) > 0 != c.delivered {
				t.Errorf("delivered: %v", has)
			}
		})
	}
}

// TestPatchThatAPersonReleases: where nothing is withheld the result is refused, and a person can say that a rule
// does not matter for this patch.
func TestPatchThatAPersonReleases(t *testing.T) {
	w, e := tooled(t, "results: {judgement: strict}\n", todoAt("blocking"), todoPatch)
	w.runWith(t, e)
	reasons, err := os.ReadFile(w.one(t, filepath.Join(spool.DirQuarantineResults, "*/reasons.json")))
	must(t, err)
	if !strings.Contains(string(reasons), `\"x.md\", line 2: a TODO is added`) {
		t.Errorf("%s", reasons)
	}
	order := w.release(t, w.items(t)[0])
	w.runWith(t, e)
	if why := w.answer(t, order); why != "" {
		t.Fatal(why)
	}
	if got := w.result(t); !strings.Contains(got, "Released by alice: rule code.todo.blockers.") ||
		len(w.glob("core-inbound/*/changes.patch")) != 1 {
		t.Errorf("the result:\n%s", got)
	}
}
