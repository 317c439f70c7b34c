package openwop_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/schemas"
	wire "github.com/threegate/tool-exec/schemas/openwop"
	"github.com/threegate/tool-exec/validate/approval"
)

var clock = time.Date(2026, 2, 9, 16, 5, 1, 0, time.UTC)

// record writes events to a ledger, a second apart, and returns its folder.
func record(t testing.TB, events ...ledger.Event) string {
	t.Helper()
	dir, now := t.TempDir(), clock
	l, err := ledger.Open(dir, ledger.Options{Now: func() time.Time { now = now.Add(time.Second); return now }},
		func(ledger.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range slices.Chunk(events, 1000) {
		if err := l.Append(chunk...); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// job is the k-th id of a job.
func job(k int) string { return fmt.Sprintf("j01m7y2bdpdcrsgyvat4h%06d", k) }

func node(t testing.TB) *config.Node {
	t.Helper()
	c := config.Default()
	l := &config.Node{Config: c}
	l.Backends.ERA.Languages = map[string]config.Language{"python": {}}
	return l
}

// started, ended and delivered are the events of an ordinary run.
func started(id string) ledger.Event {
	return ledger.Event{Type: ledger.RunStarted, RunID: id, Backend: schemas.BackendERA,
		RequestSHA256: strings.Repeat("a", 64)}
}

func ended(id string, typ ledger.Type, cause schemas.Cause) ledger.Event {
	return ledger.Event{Type: typ, RunID: id, Cause: cause, WallMS: 1500}
}

func delivered(id string) ledger.Event {
	return ledger.Event{Type: ledger.ResultDelivered, RunID: id, Artifacts: 1}
}

// line is one exported event, read strictly.
type line struct {
	EventID   string          `json:"eventId"`
	RunID     string          `json:"runId"`
	Type      wire.EventType  `json:"type"`
	Payload   json.RawMessage `json:"payload"`
	Timestamp time.Time       `json:"timestamp"`
	Sequence  int64           `json:"sequence"`
	NodeID    string          `json:"nodeId"`
}

func exported(t *testing.T, dir string) (lines []line, n openwop.Exported) {
	t.Helper()
	var out bytes.Buffer
	n, err := openwop.Export(t.Context(), dir, openwop.Discover(node(t)), &out)
	if err != nil {
		t.Fatal(err)
	}
	for l := range bytes.Lines(out.Bytes()) {
		var e line
		if err := schemas.DecodeStrict(l, &e); err != nil {
			t.Fatalf("%v: %s", err, l)
		}
		lines = append(lines, e)
	}
	return lines, n
}

// Checks what must hold of the events of any record: valid, gap-free, one terminal event each.
func checkRuns(t *testing.T, lines []line) {
	t.Helper()
	next, over := map[string]int64{}, map[string]bool{}
	ids := map[string]bool{}
	for _, e := range lines {
		if e.Sequence != next[e.RunID] || over[e.RunID] || ids[e.EventID] {
			t.Errorf("%s of run %s: sequence %d, want %d; after the end %v; id seen %v", e.Type, e.RunID, e.Sequence,
				next[e.RunID], over[e.RunID], ids[e.EventID])
		}
		next[e.RunID]++
		ids[e.EventID] = true
		over[e.RunID] = e.Type == wire.RunCompleted || e.Type == wire.RunFailed
		if err := schemaOf(t, string(e.Type)).Validate(parsed(t, e.Payload)); err != nil {
			t.Errorf("%s: %v", e.Type, err)
		}
		raw, _ := json.Marshal(e)
		if e.NodeID == "" {
			raw = bytes.Replace(raw, []byte(`,"nodeId":""`), nil, 1)
		}
		if err := schemaOf(t, "").Validate(parsed(t, raw)); err != nil {
			t.Errorf("%v: %s", err, raw)
		}
	}
	for id := range next {
		if !over[id] {
			t.Errorf("run %s has no terminal event", id)
		}
	}
}

func parsed(t *testing.T, raw []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// schemaOf is the schema of an event, or of the payload of a type.
func schemaOf(t *testing.T, typ string) *jsonschema.Schema {
	t.Helper()
	name, fragment := "run-event", ""
	if typ != "" {
		name, fragment = "run-event-payloads", "#/$defs/_typeIndex/properties/"+typ
	}
	raw, err := wire.Schema(name)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("doc.json", parsed(t, raw)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("doc.json" + fragment)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatBecomesOfARun(t *testing.T) {
	id := job(1)
	quarantined := ledger.Event{Type: ledger.ResultQuarantined, RunID: id}
	const start, stop = "run.started node.started agent.toolCalled ", "node.failed run.failed"
	for _, c := range []struct {
		name   string
		events []ledger.Event
		want   string // types
		has    string // in the last payloads
	}{
		{"delivered", []ledger.Event{started(id), ended(id, ledger.RunCompleted, "none"), delivered(id)},
			start + "agent.toolReturned artifact.created node.completed run.completed", `"status":"ok"`},
		{"trap: a program that fails is the tool's error", []ledger.Event{started(id), ended(id, ledger.RunFailed, "none"), delivered(id)},
			start + "agent.toolReturned artifact.created node.completed run.completed", `"status":"error"`},
		{"out of time", []ledger.Event{started(id), {Type: ledger.CapBreached, RunID: id, Cause: "time", LimitMS: 1000},
			ended(id, ledger.RunFailed, "time"), delivered(id)},
			start + "cap.breached agent.toolReturned artifact.created " + stop, `"code":"run_timeout"`},
		{"the limit", []ledger.Event{started(id), {Type: ledger.CapBreached, RunID: id, Cause: "time", LimitMS: 1000},
			ended(id, ledger.RunFailed, "time"), delivered(id)},
			start + "cap.breached agent.toolReturned artifact.created " + stop, `"kind":"run-duration","limit":1000,"observed":1500`},
		{"a record from before limits were in it", []ledger.Event{started(id), {Type: ledger.CapBreached, RunID: id, Cause: "time"},
			ended(id, ledger.RunFailed, "time"), delivered(id)},
			start + "agent.toolReturned artifact.created " + stop, `"code":"run_timeout"`},
		{"trap: memory is no cap", []ledger.Event{started(id), {Type: ledger.CapBreached, RunID: id, Cause: "memory"},
			ended(id, ledger.RunFailed, "memory"), delivered(id)},
			start + "agent.toolReturned artifact.created " + stop, `"code":"x-host-threegate.memory_limit"`},
		{"interrupted", []ledger.Event{started(id), ended(id, ledger.RunFailed, "interrupted"), delivered(id)},
			start + "agent.toolReturned artifact.created " + stop, `"code":"x-host-threegate.interrupted"`},
		{"trap: quarantine is no dead letter", []ledger.Event{started(id), ended(id, ledger.RunCompleted, "none"), quarantined},
			start + "agent.toolReturned " + stop, `"code":"x-host-threegate.result_rejected"`},
		{"damaged while it ran", []ledger.Event{started(id), quarantined}, start + "agent.toolReturned " + stop, `"status":"error"`},
		{"a start that was taken back", []ledger.Event{started(id), {Type: ledger.RunReturned, RunID: id}, started(id),
			ended(id, ledger.RunCompleted, "none"), delivered(id)}, start + "agent.toolReturned node.started agent.toolCalled " +
			"agent.toolReturned artifact.created node.completed run.completed", `"attempt":1`},
		{"cancelled", []ledger.Event{started(id), ended(id, ledger.RunFailed, "cancelled"), delivered(id)},
			start + "agent.toolReturned artifact.created " + stop, `"code":"x-host-threegate.cancelled"`},
		{"refused after its start was taken back", []ledger.Event{started(id), {Type: ledger.RunReturned, RunID: id},
			{Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeRefused, RunID: id}},
			start + "agent.toolReturned " + stop, `"code":"x-host-threegate.not_started"`},
		{"trap: a destination is no event", []ledger.Event{started(id),
			{Type: ledger.EgressDecided, RunID: id, Decision: "denied", Destination: "evil.example:443"},
			ended(id, ledger.RunCompleted, "none"), delivered(id)},
			start + "agent.toolReturned artifact.created node.completed run.completed", `"durationMs":3000`},
		{"after the end", []ledger.Event{started(id), ended(id, ledger.RunCompleted, "none"), quarantined, delivered(id), quarantined},
			start + "agent.toolReturned " + stop, `"attempts":1`},
		{"trap: a request that was refused has no run", []ledger.Event{{Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeRefused,
			RunID: id}}, "", ""},
		{"refused before it was started", []ledger.Event{{Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeAdmitted, RunID: id},
			quarantined}, "", ""},
		{"an id that is none of a job", []ledger.Event{started("canary"), delivered("canary")}, "", ""},
		{"not ended", []ledger.Event{started(id), ended(id, ledger.RunCompleted, "none")}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, n := exported(t, record(t, c.events...))
			checkRuns(t, lines)
			var types, payloads []string
			for _, e := range lines {
				types, payloads = append(types, string(e.Type)), append(payloads, string(e.Payload))
			}
			if got := strings.Join(types, " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := strings.Join(payloads, "\n"); !strings.Contains(got, c.has) {
				t.Errorf("no %s in\n%s", c.has, got)
			}
			if int(n.Events) != len(lines) || (c.name == "not ended") != (n.Unfinished == 1) {
				t.Errorf("%+v of %d", n, len(lines))
			}
		})
	}
}

// A cause that this build does not know is a failure, in the words of none.
func TestCauseOfALaterBuild(t *testing.T) {
	id := job(1)
	var p openwop.Projector
	var last wire.Event
	for _, e := range []ledger.Event{started(id), ended(id, ledger.RunFailed, "canary"), delivered(id)} {
		if err := p.Project(e, func(ev wire.Event) error { last = ev; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := last.Payload.(wire.RunFailedPayload); !ok || got.Error != wire.NewError(wire.CodeFailed) {
		t.Errorf("got %+v", last)
	}
}

// Runs that overlap are exported whole, one after the other.
func TestRunsThatOverlap(t *testing.T) {
	var events []ledger.Event
	for k := range 5 {
		events = append(events, started(job(k)))
	}
	for k := range 5 {
		events = append(events, ended(job(4-k), ledger.RunCompleted, "none"))
	}
	for k := range 4 {
		events = append(events, delivered(job(k)))
	}
	lines, n := exported(t, record(t, events...))
	checkRuns(t, lines)
	if n.Runs != 4 || n.Unfinished != 1 || lines[0].RunID != job(0) || lines[len(lines)-1].RunID != job(3) {
		t.Errorf("%+v", n)
	}
}

// An event that the discovery document does not license stops the export.
func TestUnlicensed(t *testing.T) {
	id := job(1)
	dir := record(t, started(id), ledger.Event{Type: ledger.CapBreached, RunID: id, Cause: "time", LimitMS: 1000},
		ended(id, ledger.RunFailed, "time"), delivered(id))
	for doc, missing := range map[string]string{
		`{"toolHooks":{"supported":true,"prePostEvents":true}}`: "limits.maxRunDurationMs",
		`{"limits":{"maxRunDurationMs":30000}}`:                 "toolHooks.prePostEvents",
	} {
		var caps wire.Capabilities
		if err := json.Unmarshal([]byte(doc), &caps); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		_, err := openwop.Export(t.Context(), dir, &caps, &out)
		if !errors.Is(err, openwop.ErrUnlicensed) || !strings.Contains(err.Error(), missing) || out.Len() > 0 {
			t.Errorf("%s: %v, %d bytes", doc, err, out.Len())
		}
	}
}

// fill puts a canary into every field of an event that holds text.
func fill(e ledger.Event, canary string) ledger.Event {
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case v.Type().Field(i).Name == "RunID" || v.Type().Field(i).Name == "Prev":
		case f.Type() == reflect.TypeFor[string](), f.Type() == reflect.TypeFor[schemas.Backend]():
			f.SetString(canary)
		case f.Type() == reflect.TypeFor[[]string]():
			f.Set(reflect.ValueOf([]string{canary}))
		}
	}
	e.Approvers = []approval.Approver{{Name: canary, How: canary, Fingerprint: canary}}
	e.Inputs = &ledger.Inputs{Files: 1, List: canary, SHA256: []string{canary}}
	e.Node = &ledger.Node{Version: canary, Config: canary, Signers: []string{canary},
		Images: map[string]string{canary: canary}}
	if e.Released == nil {
		e.Released = []schemas.Release{{Rule: canary}}
	}
	return e
}

// Nothing that is text in the record gets into an event, whatever it is.
func TestNoTextGetsOut(t *testing.T) {
	const canary = "canary"
	var events []ledger.Event
	for k, typ := range ledger.Types { // each type in the middle of a run, with text everywhere
		id := job(k)
		events = append(events, fill(started(id), canary), fill(ledger.Event{Type: typ, RunID: id}, canary),
			fill(ended(id, ledger.RunFailed, "none"), canary), fill(delivered(id), canary))
	}
	var out bytes.Buffer
	n, err := openwop.Export(t.Context(), record(t, events...), openwop.Discover(node(t)), &out)
	if err != nil || n.Runs != int64(len(ledger.Types)) {
		t.Fatal(n, err)
	}
	if strings.Contains(strings.ToLower(out.String()), canary) {
		t.Errorf("text of the record got out:\n%s", out.String())
	}
}

func TestDescriptors(t *testing.T) {
	raw, err := wire.Schema("tool-descriptor")
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("doc.json", parsed(t, raw)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("doc.json")
	if err != nil {
		t.Fatal(err)
	}
	l := node(t)
	l.Backends.Monty.Image = "sha256:canary"
	l.Network.AllowedDomains = []string{"canary.example"}
	var ids []string
	for _, d := range openwop.Descriptors(l) {
		doc, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(parsed(t, doc)); err != nil {
			t.Error(err)
		}
		if strings.Contains(string(doc), "canary") {
			t.Errorf("configuration got out: %s", doc)
		}
		if !strings.Contains(d.Description, "approved before") || d.Approval != wire.ApprovalAlways {
			t.Errorf("%s does not say that a person approves", d.ToolID)
		}
		ids = append(ids, d.ToolID+" "+string(d.Egress))
	}
	if want := []string{"x-host-threegate-exec:era host-owned", "x-host-threegate-exec:monty none"}; !slices.Equal(ids, want) {
		t.Errorf("got %q", ids)
	}
	if got := openwop.Descriptors(&config.Node{}); got == nil || len(got) > 0 {
		t.Errorf("a node without tools has %v", got)
	}
}

// The discovery document is valid, licenses what is emitted, and derives no profile.
func TestDiscovery(t *testing.T) {
	raw, err := wire.Schema("capabilities")
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("doc.json", parsed(t, raw)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("doc.json")
	if err != nil {
		t.Fatal(err)
	}
	caps := openwop.Discover(node(t))
	doc, err := json.Marshal(caps)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(parsed(t, doc)); err != nil {
		t.Error(err)
	}
	for _, typ := range wire.Emitted {
		if ok, missing := caps.Licenses(typ); !ok {
			t.Errorf("%s is emitted, and needs %s", typ, missing)
		}
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(doc, &keys); err != nil {
		t.Fatal(err)
	}
	if string(keys["supportedTransports"]) != "[]" { // a missing list would derive two profiles
		t.Errorf("supportedTransports is %s", keys["supportedTransports"])
	}
	for _, never := range []string{"httpClient", "triggerBridge", "budget", "deadLetter", "agents", "auditLogIntegrity",
		"queueBus", "fixtures", "profiles"} {
		if keys[never] != nil {
			t.Errorf("%s is advertised", never)
		}
	}
	if strings.Contains(strings.ToLower(string(doc)), "compliant") {
		t.Error("it claims what it is not")
	}
}
