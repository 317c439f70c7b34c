package gate_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/openwop"
	wire "github.com/threegate/tool-exec/schemas/openwop"
	"github.com/threegate/tool-exec/spool"
)

// Every event of a node that had requests of all outcomes is valid, and holds nothing of what
// requests, people, files and programs said.
func TestRunEventsOfANode(t *testing.T) {
	const canary = "canary"
	w := mustWorld(t, scenario{name: "canaries", again: true,
		word: "ok canary-arg|balk canary-arg|fail canary-arg|; canary-arg|leak"})
	requests, err := filepath.Glob(filepath.Join(w.dir, "inbox/*/TR-*.md"))
	must(t, err)
	for _, file := range requests {
		doc, err := os.ReadFile(file)
		must(t, err)
		id := strings.TrimSuffix(filepath.Base(file), ".md")
		stem := strings.TrimSuffix(file, ".md")
		renamed := strings.Replace(stem, crashID, crashID+canary, 1)
		text := strings.NewReplacer(id, filepath.Base(renamed), "Fault matrix", canary+" purpose", `"operator"`,
			`"`+canary+`-approver"`, `"CORE"`, `"`+canary+`-core"`, "a test", canary+" why", "an input", canary,
			"an output", canary, "x.csv", canary+".csv").Replace(string(doc))
		must(t, os.Rename(stem+".inputs", renamed+".inputs"))
		must(t, os.Rename(filepath.Join(renamed+".inputs", "x.csv"), filepath.Join(renamed+".inputs", canary+".csv")))
		must(t, os.Remove(file))
		must(t, os.WriteFile(renamed+".md", []byte(text), 0o644))
	}
	said := map[string]string{"stdout": canary, "stderr": canary, "out/d/" + canary + ".csv": canary}
	g, err := gate.Open(w.cfg, gate.Options{Executor: &speaker{w.recorder(&injector{}), map[string]map[string]string{
		"canary-arg": said, "leak": {"stdout": dumped + canary}}},
		Retry: time.Microsecond, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	must(t, w.runUntilIdle(g))
	must(t, g.Close())

	dir := filepath.Join(w.dir, spool.DirLedger)
	record, err := os.ReadFile(filepath.Join(dir, "events-000000000001.jsonl"))
	must(t, err)
	if !strings.Contains(string(record), canary) { // of ids; else this test shows nothing
		t.Fatal("no canary in the record")
	}
	var out bytes.Buffer
	n, err := openwop.Export(t.Context(), dir, openwop.Discover(w.cfg), &out)
	must(t, err)
	if n.Runs != 4 || n.Unfinished != 0 {
		t.Errorf("%+v\n%s", n, record)
	}
	if strings.Contains(strings.ToLower(out.String()), canary) {
		t.Errorf("words of others in\n%s", out.String())
	}
	event := compile(t, "run-event", "")
	last := map[string]int64{}
	for line := range bytes.Lines(out.Bytes()) {
		var e struct {
			RunID    string          `json:"runId"`
			Type     string          `json:"type"`
			Payload  json.RawMessage `json:"payload"`
			Sequence int64           `json:"sequence"`
		}
		must(t, json.Unmarshal(line, &e))
		if next, begun := last[e.RunID]; begun && e.Sequence != next+1 || !begun && e.Sequence != 0 {
			t.Errorf("run %s: %d after %d", e.RunID, e.Sequence, next)
		}
		last[e.RunID] = e.Sequence
		must(t, event.Validate(value(t, line)))
		must(t, compile(t, "run-event-payloads", "#/$defs/_typeIndex/properties/"+e.Type).Validate(value(t, e.Payload)))
	}
	ends := strings.Count(out.String(), `"type":"run.completed"`) + strings.Count(out.String(), `"type":"run.failed"`)
	if ends != 4 {
		t.Errorf("%d terminal events", ends)
	}
	for _, want := range []string{`"attempt":1`, `"x-host-threegate.result_rejected"`, `"status":"ok"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}

func value(t *testing.T, raw []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	must(t, err)
	return v
}

func compile(t *testing.T, name, fragment string) *jsonschema.Schema {
	t.Helper()
	raw, err := wire.Schema(name)
	must(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	must(t, c.AddResource("doc.json", value(t, raw)))
	s, err := c.Compile("doc.json" + fragment)
	must(t, err)
	return s
}
