package schemas

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

func compile(t *testing.T, raw []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("urn:test", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:test")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON reads front matter the way a program that uses the JSON Schema would.
func asJSON(t *testing.T, front string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(front), &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const requestFront = `request_type: tool_request
schema_version: "1"
request_id: "TR-20260209-160501Z-python-stats"
created_utc: "2026-02-09T16:05:01Z"
requested_by: "CORE"
approved_by: "j.okafor"
approved_utc: "2026-02-09T16:06:00Z"
purpose: "Statistics over a table"
backend: ERA
language: python
network: none
cpu_limit: "0.5"
memory_limit_mb: 256
time_limit_sec: 30
inputs:
  - path: "/in/input.csv"
    sha256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
`

const resultFront = `result_type: tool_result
schema_version: 1
result_id: "TS-20260209-161030Z-TR-20260209-160501Z-python-stats"
created_utc: "2026-02-09T16:10:30Z"
request_id: "TR-20260209-160501Z-python-stats"
executor: "tool-exec"
backend: "ERA"
exit_code: 0
runtime_sec: 3.4
network_used: "none"
network_destinations: []
artifacts:
  - path: "output.json"
    sha256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
stdout_sha256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
stderr_sha256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
`

func TestJSONSchemas(t *testing.T) {
	const hash = `"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`
	tests := []struct {
		name, front string
		schema      []byte
		good, bad   [][2]string // old text, new text
	}{
		{"request", requestFront, RequestJSONSchema(), [][2]string{
			{`schema_version: "1"`, "schema_version: 1"},
			{`cpu_limit: "0.5"`, "cpu_limit: 2"},
			{`cpu_limit: "0.5"`, "cpu_limit: 500m"},
			{`cpu_limit: "0.5"`, `cpu_limit: "0.05"`},
			{"backend: ERA\n", ""},
			{"backend: ERA", "backend: monty"},
			{"network: none", "network: allowlist"},
			{"language: python", "language: c++"},
			{"/in/input.csv", "/in/a/b_c.csv"},
		}, [][2]string{
			{"tool_request", "request"},
			{`schema_version: "1"`, "schema_version: 2"},
			{`"TR-20260209-160501Z-python-stats"`, `"../x"`},
			{`"TR-20260209-160501Z-python-stats"`, `"a..b"`},
			{`"TR-20260209-160501Z-python-stats"`, `"` + strings.Repeat("a", 101) + `"`},
			{`created_utc: "2026-02-09T16:05:01Z"`, `created_utc: "2026-02-09"`},
			{`created_utc: "2026-02-09T16:05:01Z"`, `created_utc: "2026-02-09T16:05:01+01:00"`},
			{`approved_by: "j.okafor"`, `approved_by: ""`},
			{`approved_by: "j.okafor"`, `approved_by: " "`},
			{`approved_by: "j.okafor"` + "\n", ""},
			{`requested_by: "CORE"` + "\n", ""},
			{`purpose: "Statistics over a table"`, `purpose: []`},
			{"backend: ERA", "backend: docker"},
			{"language: python", "language: bash"},
			{"network: none", "network: full"},
			{`cpu_limit: "0.5"`, `cpu_limit: "0.0"`},
			{`cpu_limit: "0.5"`, "cpu_limit: 0"},
			{`cpu_limit: "0.5"`, "cpu_limit: lots"},
			{"memory_limit_mb: 256", `memory_limit_mb: "256"`},
			{"memory_limit_mb: 256", "memory_limit_mb: 0"},
			{"time_limit_sec: 30", "time_limit_sec: 1.5"},
			{"time_limit_sec: 30\n", ""},
			{"time_limit_sec: 30", "time_limit_sec: 30\nextra: 1"},
			{"/in/input.csv", "/in/../x"},
			{"/in/input.csv", "/etc/passwd"},
			{"\n    sha256: " + hash, ""},
			{hash, `"xyz"`},
			{hash, `"0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef"`},
			{"    sha256", "    size: 1\n    sha256"},
		}},
		{"result", resultFront, ResultJSONSchema(), [][2]string{
			{"exit_code: 0", "exit_code: -1"},
			{"runtime_sec: 3.4", "runtime_sec: 3"},
			{"network_used: \"none\"\nnetwork_destinations: []",
				"network_used: allowlist\nnetwork_destinations: [\"example.org:443\"]"},
			{"backend: \"ERA\"", "backend: monty"},
		}, [][2]string{
			{"tool_result", "result"},
			{"schema_version: 1", "schema_version: 2"},
			{"executor: \"tool-exec\"", "executor: other"},
			{"exit_code: 0", "exit_code: \"0\""},
			{"exit_code: 0\n", ""},
			{"runtime_sec: 3.4", "runtime_sec: -1"},
			{"network_destinations: []", "network_destinations: [\"example.org\"]"},
			{"network_used: \"none\"", "network_used: full"},
			{"output.json", "../output.json"},
			{"output.json", "/output.json"},
			{"stdout_sha256: " + hash + "\n", ""},
			{"result_id: \"TS-", "result_id: \"../TS-"},
			{"artifacts:\n  - path: \"output.json\"\n    sha256: " + hash, "artifacts: none"},
		}},
	}
	for _, tt := range tests {
		s := compile(t, tt.schema)
		if err := s.Validate(asJSON(t, tt.front)); err != nil {
			t.Errorf("%s: the example is refused: %v", tt.name, err)
		}
		for i, m := range slices.Concat(tt.good, tt.bad) {
			if !strings.Contains(tt.front, m[0]) {
				t.Fatalf("%s: %q is not in the example", tt.name, m[0])
			}
			err := s.Validate(asJSON(t, strings.Replace(tt.front, m[0], m[1], 1)))
			if good := i < len(tt.good); good != (err == nil) {
				t.Errorf("%s: %q for %q: accepted %v, want %v (%v)", tt.name, m[1], m[0], err == nil, good, err)
			}
		}
	}
}

// Every key of the schemas is explained in the texts.
func TestDocsNameEveryKey(t *testing.T) {
	for _, x := range []struct{ schema, doc []byte }{{RequestJSONSchema(), RequestDoc()},
		{ResultJSONSchema(), ResultDoc()}} {
		var s struct{ Properties map[string]any }
		if err := json.Unmarshal(x.schema, &s); err != nil {
			t.Fatal(err)
		}
		if len(s.Properties) < 14 {
			t.Fatalf("%d properties", len(s.Properties))
		}
		for key := range s.Properties {
			if !bytes.Contains(x.doc, []byte("`"+key+"`")) {
				t.Errorf("the text does not name %s", key)
			}
		}
	}
}

func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	rules := Rules()
	if len(rules) < 70 || !slices.IsSortedFunc(rules, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) }) {
		t.Fatalf("%d rules, or not sorted", len(rules))
	}
	for _, r := range rules {
		if seen[r.ID] {
			t.Errorf("%s is there twice", r.ID)
		}
		seen[r.ID] = true
		for name, v := range map[string]string{"Title": r.Title, "Why": r.Why, "Bad": r.Bad, "Good": r.Good,
			"Fix": r.Hint, "Source": r.Source} {
			if strings.TrimSpace(v) == "" {
				t.Errorf("%s has no %s", r.ID, name)
			}
		}
		if r.Level != SeverityBlocking && r.Level != SeverityWarning && r.Level != SeveritySuggestion ||
			len(r.Applies) == 0 {
			t.Errorf("%s: level %q, applies %v", r.ID, r.Level, r.Applies)
		}
		if r.Must && r.Level != SeverityBlocking {
			t.Errorf("%s is a MUST that does not block", r.ID)
		}
		got, ok := RuleByID(r.ID)
		if !ok || got.Title != r.Title {
			t.Errorf("%s is not found", r.ID)
		}
	}
	if _, ok := RuleByID("no.such.rule"); ok {
		t.Error("found a rule that does not exist")
	}
	rules[0].ID = "changed"
	if Rules()[0].ID == "changed" {
		t.Error("a caller can change the catalogue")
	}
}
