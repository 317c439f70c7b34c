package openwop_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/schemas/openwop"
)

// compiled compiles a schema of the package, or with a fragment one of its $defs.
func compiled(t *testing.T, name, fragment string) *jsonschema.Schema {
	t.Helper()
	raw, err := openwop.Schema(name)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("doc.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("doc.json" + fragment)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func payloadSchema(t *testing.T, of string) *jsonschema.Schema {
	return compiled(t, "run-event-payloads", "#/$defs/_typeIndex/properties/"+of)
}

func valid(t *testing.T, s *jsonschema.Schema, doc string) bool {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
	if err != nil {
		t.Fatalf("%v: %s", err, doc)
	}
	return s.Validate(v) == nil
}

func TestSchemasAreSchemas(t *testing.T) {
	if len(openwop.SchemaNames()) < 10 {
		t.Fatal(openwop.SchemaNames())
	}
	for _, name := range openwop.SchemaNames() {
		compiled(t, name, "")
	}
	if _, err := openwop.Schema("../openwop.go"); err == nil {
		t.Error("a file that is no schema was read")
	}
}

// Vectors of the scenarios about shapes, and of the traps that a reading of the text found.
func TestVectors(t *testing.T) {
	tool := func(more string) string {
		return `{"toolId":"x:y","source":"host-extension","safetyTier":"exec"` + more + `}`
	}
	of := func(name string) *jsonschema.Schema { return compiled(t, name, "") }
	for _, c := range []struct {
		what string
		s    *jsonschema.Schema
		doc  string
		want bool
	}{
		{"exec of a host extension", of("tool-descriptor"), tool(""), true},
		{"trap: exec of a node pack", of("tool-descriptor"),
			strings.Replace(tool(""), "host-extension", "node-pack", 1), false},
		{"read of a node pack", of("tool-descriptor"), `{"toolId":"x","source":"node-pack","safetyTier":"read"}`, true},
		{"no safety tier", of("tool-descriptor"), `{"toolId":"x","source":"node-pack"}`, false},
		{"a key that nobody knows", of("tool-descriptor"), tool(`,"body":1`), false},
		{"toolCatalog", compiled(t, "capabilities", "#/properties/toolCatalog"), `{"supported":true,"sources":["mcp"],"sessionLifecycle":false}`, true},
		{"toolCatalog, open", compiled(t, "capabilities", "#/properties/toolCatalog"), `{"supported":true,"compactView":true}`, false},
		{"limits, closed", compiled(t, "capabilities", "#/properties/limits"), `{"clarificationRounds":0,"schemaRounds":0,"envelopesPerTurn":0,"memoryMb":1}`, false},
		{"trap: egressPolicy without safeFetch", compiled(t, "capabilities", "#/properties/httpClient"),
			`{"supported":true,"egressPolicy":{"supported":true}}`, false},
		{"a session's outcome", payloadSchema(t, "tool.session.closed"), `{"sessionId":"s","toolId":"t","outcome":"completed"}`, true},
		{"trap: an outcome of the later scenario", payloadSchema(t, "tool.session.closed"), `{"sessionId":"s","toolId":"t","outcome":"aborted"}`, false},

		{"no audience", of("credential-provenance"), `{"credentialId":"c","issuer":"i","audiences":[]}`, false},
		{"no credential id", of("credential-provenance"), `{"issuer":"i","audiences":["a"]}`, false},
		{"a secret", of("credential-provenance"), `{"credentialId":"c","issuer":"i","audiences":["a"],"secret":"s"}`, false},
		{"an egress decision", payloadSchema(t, "egress.decided"), `{"decision":"denied","destination":"a.example","reason":"policy-denied"}`, true},
		{"ok is a reason, no decision", payloadSchema(t, "egress.decided"), `{"decision":"ok","destination":"a.example"}`, false},
		{"a reason with a URL", payloadSchema(t, "egress.decided"), `{"decision":"denied","destination":"a","reason":"https://a/b"}`, false},
		{"trap: a URL as the destination is valid", payloadSchema(t, "egress.decided"),
			`{"decision":"denied","destination":"https://a.example/?token=1"}`, true},
		{"trap: a body in a delivery is valid", payloadSchema(t, "trigger.delivery.attempted"),
			`{"subscriptionId":"s","dedupKey":"k","attempt":1,"outcome":"delivered","body":"all of it"}`, true},

		{"four states", of("trigger-subscription"), `{"subscriptionId":"s","source":"queue","state":"dead-lettered"}`, true},
		{"a fifth", of("trigger-subscription"), `{"subscriptionId":"s","source":"queue","state":"claimed"}`, false},
		{"a source of ours", of("trigger-subscription"), `{"subscriptionId":"s","source":"filesystem","state":"active"}`, false},
		{"a fingerprint that is a hash", of("trigger-subscription"),
			`{"subscriptionId":"s","source":"queue","state":"active","secretFingerprint":"` + strings.Repeat("a", 64) + `"}`, false},

		{"trap: wall time is no budget", of("budget-policy"), `{"maxWallMs":1}`, false},
		{"trap: memory is no budget", payloadSchema(t, "budget.exhausted"), `{"dimension":"memory","consumed":1,"limit":1}`, false},
		{"over a hundred percent", of("budget-policy"), `{"thresholdPercent":101}`, false},
		{"a price", of("budget-policy"), `{"pricePerToken":1}`, false},
		{"trap: memory is no cap", payloadSchema(t, "cap.breached"), `{"kind":"memory","limit":1,"observed":2}`, false},
		{"trap: the example of RFC 0084", payloadSchema(t, "cap.breached"), `{"kind":"budget-cost","limit":1,"observed":1.02}`, false},
		{"trap: an error is an object", payloadSchema(t, "run.failed"), `{"error":"budget_exhausted"}`, false},
		{"a name of version 2", compiled(t, "run-event", "#/$defs/RunEventType"), `"tool.session-opened"`, false},
		{"a type of ours", compiled(t, "run-event", "#/$defs/RunEventType"), `"result.delivered"`, false},
	} {
		if got := valid(t, c.s, c.doc); got != c.want {
			t.Errorf("%s: valid is %v: %s", c.what, got, c.doc)
		}
	}
}

// examples is one payload of each type.
var examples = []openwop.Payload{
	openwop.RunStartedPayload{WorkflowID: openwop.WorkflowID},
	openwop.RunCompletedPayload{DurationMS: 12},
	openwop.RunFailedPayload{Error: openwop.NewError(openwop.CodeTimeout), FailedNodeID: openwop.NodeID},
	openwop.NodeStartedPayload{NodeID: openwop.NodeID, TypeID: openwop.NodeTypePrefix + "era"},
	openwop.NodeCompletedPayload{NodeID: openwop.NodeID},
	openwop.NodeFailedPayload{NodeID: openwop.NodeID, Error: openwop.NewError(openwop.CodeMemory), Attempts: 1},
	openwop.ToolCalledPayload{AgentID: openwop.AgentID, ToolName: openwop.ToolPrefix + "era", CallID: "c",
		ArgsHash: strings.Repeat("a", 64), Transport: openwop.TransportNative},
	openwop.ToolReturnedPayload{AgentID: openwop.AgentID, ToolName: openwop.ToolPrefix + "era", CallID: "c",
		Status: openwop.ToolError},
	openwop.ArtifactCreatedPayload{ArtifactID: "a", ArtifactType: openwop.ArtifactType, NodeID: openwop.NodeID},
	openwop.CapBreachedPayload{Kind: openwop.CapRunDuration, Limit: 1, Observed: 2, NodeID: openwop.NodeID},
}

// Each type that is emitted has a payload that is valid, closed, and free of the keys that the
// text leaves open.
func TestPayloadsAreClosed(t *testing.T) {
	doc := compiled(t, "run-event", "")
	var seen []openwop.EventType
	for _, p := range examples {
		seen = append(seen, p.EventType())
		raw, err := json.Marshal(openwop.Event{EventID: "e", RunID: "r", Type: p.EventType(), Payload: p,
			Timestamp: time.Date(2026, 2, 9, 16, 5, 1, 0, time.UTC)})
		if err != nil {
			t.Fatal(err)
		}
		payload, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if !valid(t, doc, string(raw)) || !valid(t, payloadSchema(t, string(p.EventType())), string(payload)) {
			t.Errorf("not valid: %s", raw)
		}
		for _, more := range []string{"body", "url", "inputs", "outputs", "metadata", "details", "summary", "principal"} {
			open := strings.Replace(string(payload), "{", `{"`+more+`":"x",`, 1)
			if err := schemas.DecodeStrict([]byte(open), reflect.New(reflect.TypeOf(p)).Interface()); err == nil {
				t.Errorf("%s has room for %s", p.EventType(), more)
			}
		}
	}
	slices.Sort(seen)
	if want := slices.Sorted(slices.Values(openwop.Emitted)); !slices.Equal(seen, want) {
		t.Errorf("examples of %v, emitted are %v", seen, want)
	}
}

// No name of this node's lies where the protocol has its own, but for the one that it gives.
func TestNames(t *testing.T) {
	for _, name := range []string{openwop.WorkflowID, openwop.NodeID, openwop.NodeTypePrefix, openwop.ToolPrefix,
		openwop.ArtifactType} {
		if strings.HasPrefix(name, "core.") || strings.HasPrefix(name, "openwop.") {
			t.Error(name)
		}
	}
	if openwop.AgentID != "core.system" {
		t.Error(openwop.AgentID)
	}
	for _, code := range []openwop.ErrorCode{openwop.CodeTimeout, openwop.CodeCPU, openwop.CodeMemory, openwop.CodePids,
		openwop.CodeDisk, openwop.CodeInterrupted, openwop.CodeCancelled, openwop.CodeNotStarted, openwop.CodeResultRejected,
		openwop.CodeFailed} {
		if e := openwop.NewError(code); e.Message == "" {
			t.Errorf("%s has no message", code)
		}
	}
}

// Events are licensed by capabilities. The three mappings that look obvious are not.
func TestLicenses(t *testing.T) {
	read := func(doc string) *openwop.Capabilities {
		t.Helper()
		var c openwop.Capabilities
		if err := json.Unmarshal([]byte(doc), &c); err != nil {
			t.Fatal(err)
		}
		return &c
	}
	bare := read(`{"protocolVersion":"1.0"}`)
	for _, c := range []struct {
		typ  openwop.EventType
		with string // a document that licenses it
		near string // one that does not, though it looks so
	}{
		{"run.started", `{}`, ""},
		{"cap.breached", `{"limits":{"maxRunDurationMs":1000}}`, `{"limits":{}}`},
		{"agent.toolCalled", `{"toolHooks":{"supported":true,"prePostEvents":true}}`, `{"toolHooks":{"supported":true}}`},
		{"egress.decided", `{"httpClient":{"supported":true,"safeFetch":{"supported":true},"egressPolicy":{"supported":true}}}`,
			`{"httpClient":{"supported":true,"egressPolicy":{"supported":true}}}`},
		{"budget.exhausted", `{"budget":{"supported":true}}`, `{"budget":{"supported":false}}`},
		{"run.dead_lettered", `{"deadLetter":{"supported":true}}`, `{"triggerBridge":{"supported":true}}`},
		{"trigger.delivery.attempted", `{"triggerBridge":{"supported":true}}`, `{"deadLetter":{"supported":true}}`},
		{"tool.session.opened", `{"toolCatalog":{"supported":true,"sessionLifecycle":true}}`, `{"toolCatalog":{"supported":true}}`},
	} {
		if ok, missing := read(c.with).Licenses(c.typ); !ok {
			t.Errorf("%s is not licensed by %s: %s", c.typ, c.with, missing)
		}
		if c.near == "" {
			continue
		}
		for _, doc := range []*openwop.Capabilities{bare, read(c.near)} {
			if ok, missing := doc.Licenses(c.typ); ok || missing == "" {
				t.Errorf("%s is licensed by %+v", c.typ, doc)
			}
		}
	}
	if ok, _ := bare.Licenses("result.delivered"); ok {
		t.Error("a type that is not of the protocol is licensed")
	}
}
