package validate

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/schemas"
)

const eraRequest = `---
request_type: tool_request
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
  - path: "/in/script.py"
    sha256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  - path: "/in/input.csv"
    sha256: "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
---

## Command

python -u script.py --in /in/input.csv --out /out/output.json

## Input Files

- /in/script.py: the program
- /in/input.csv: the table

## Output Expectations

- /out/output.json: the figures

## Risk Assessment

- Risk level: low
- Justification: Reads one table, writes one file.
- Data sensitivity: internal
- Network rationale: none
`

const montyRequest = `---
request_type: tool_request
schema_version: 1
request_id: "TR-20260209-160501Z-sum"
created_utc: 2026-02-09T16:05:01Z
requested_by: "CORE"
approved_by: "j.okafor"
approved_utc: 2026-02-09T16:06:00Z
purpose: "A sum"
backend: monty
language: python
network: none
cpu_limit: 1
memory_limit_mb: 64
time_limit_sec: 5
---

## Code

` + "```python\nprint(sum(numbers))\n```" + `

## Inputs (JSON)

` + "```json\n{\"numbers\": [1, 2.5, -3e2], \"label\": \"\\u00e9\"}\n```" + `

## Output Expectations

None

## Risk Assessment

- **Risk level:** low
- **Justification:** Adds numbers.
- **Data sensitivity:** public
- **Network rationale:** none
`

func testPolicy() Policy {
	return DefaultPolicy(time.Date(2026, 2, 10, 0, 0, 0, 0, time.UTC))
}

func ruleLines(fs []schemas.Finding) []string {
	var out []string
	for _, f := range fs {
		out = append(out, fmt.Sprintf("%s:%d", f.Rule, f.Line))
	}
	return out
}

func TestRequestEra(t *testing.T) {
	req, fs := Request("inbox/TR-20260209-160501Z-python-stats.md", []byte(eraRequest), testPolicy())
	if req == nil || len(fs) != 0 {
		t.Fatalf("%v", fs)
	}
	if got := strings.Join(req.Argv, "|"); got != "python|-u|script.py|--in|/in/input.csv|--out|/out/output.json" {
		t.Errorf("argv %s", got)
	}
	if req.MilliCPU != 500 || req.MemoryLimitMB != 256 || req.TimeLimitSec != 30 || req.Backend != schemas.BackendERA ||
		req.Network != schemas.NetworkNone ||
		req.Command != "python -u script.py --in /in/input.csv --out /out/output.json" ||
		req.Purpose != "Statistics over a table" || req.ApprovedBy != "j.okafor" ||
		!req.ApprovedUTC.Equal(time.Date(2026, 2, 9, 16, 6, 0, 0, time.UTC)) || req.SchemaVersion != "1" {
		t.Errorf("%+v", req)
	}
	if len(req.Inputs) != 2 || req.Inputs[1].Path != "/in/input.csv" || req.Inputs[1].Description != "the table" ||
		req.Inputs[1].SHA256[0] != '1' {
		t.Errorf("inputs %+v", req.Inputs)
	}
	if len(req.Outputs) != 1 || req.Outputs[0] != (schemas.OutputExpectation{Path: "/out/output.json",
		Description: "the figures"}) {
		t.Errorf("outputs %+v", req.Outputs)
	}
	if req.Risk != (schemas.Risk{Level: "low", Justification: "Reads one table, writes one file.",
		DataSensitivity: "internal", NetworkRationale: "none"}) {
		t.Errorf("risk %+v", req.Risk)
	}
}

func TestRequestMonty(t *testing.T) {
	req, fs := Request("", []byte(montyRequest), testPolicy())
	if req == nil || len(fs) != 0 {
		t.Fatalf("%v", fs)
	}
	if req.Code != "print(sum(numbers))\n" || string(req.InputsJSON) != `{"numbers":[1,2.5,-3e2],"label":"\u00e9"}` ||
		req.MilliCPU != 1000 || len(req.Outputs) != 0 {
		t.Errorf("%+v %s", req, req.InputsJSON)
	}
}

// TestRequestMontyTools: the language of a program that calls tools is one whose image has what it takes.
func TestRequestMontyTools(t *testing.T) {
	p := testPolicy()
	p.Languages = []string{"fix", "unknown", "half", "python", "tools"}
	both := []string{"git", "monty", "threegate-tools"}
	p.Programs = map[string][]string{"fix": both, "tools": both, "python": both, "half": {"threegate-tools"}}
	for language, ok := range map[string]bool{"python": true, "monty": true, "fix": true, "tools": true, "unknown": true,
		"half": false, "ruby": false, "Tools": false} {
		text := strings.Replace(montyRequest, "language: python", "language: "+language, 1)
		_, fs := Request("", []byte(text), p)
		if ok != (len(fs) == 0) || !ok && (len(fs) != 1 || fs[0].Rule != "request.language" ||
			fs[0].Hint != "write language: python, or, for a program that calls tools, fix, unknown, tools") {
			t.Errorf("%s: %v", language, fs)
		}
	}
	p = testPolicy()
	p.Languages, p.AnyNode = nil, true
	text := strings.Replace(montyRequest, "language: python", "language: tools", 1)
	if _, fs := Request("", []byte(text), p); len(fs) > 0 {
		t.Errorf("on any node: %v", fs)
	}
}

// Other spellings that are as good.
func TestRequestTolerance(t *testing.T) {
	tests := []struct{ name, base, old, new string }{
		{"no backend", eraRequest, "backend: ERA\n", ""},
		{"no inputs", strings.Replace(eraRequest, "python -u script.py --in /in/input.csv", "python -c 'print(1)'", 1),
			inputsBlock(eraRequest), ""},
		{"plain time", eraRequest, `"2026-02-09T16:05:01Z"`, "2026-02-09T16:05:01Z"},
		{"cores", eraRequest, `"0.5"`, "2"},
		{"millicores", eraRequest, `"0.5"`, "500m"},
		{"folded purpose", eraRequest, `purpose: "Statistics over a table"`,
			"purpose: >-\n  Statistics\n  over a table"},
		{"a YAML comment", eraRequest, "network: none", "network: none # no need"},
		{"backticks around paths", eraRequest, "- /out/output.json: the figures", "- `/out/output.json` - the figures"},
		{"star bullets", eraRequest, "- /out/output.json: the figures",
			"* **/out/output.json** the figures,\n  over two lines"},
		{"plain lines", eraRequest, "- /out/output.json: the figures", "/out/output.json: the figures"},
		{"introduction", eraRequest, "- /out/output.json: the figures",
			"The run writes:\n\n- /out/output.json: the figures"},
		{"label before the path", eraRequest, "- /out/output.json: the figures", "- The figures: `/out/output.json`"},
		{"stdout too", eraRequest, "- /out/output.json: the figures",
			"- /out/output.json: the figures\n- stdout: a summary"},
		{"none", montyRequest, "\nNone\n", "\n- None.\n"},
		{"stdout only", montyRequest, "\nNone\n", "\nStdout only.\n"},
		{"none, and why", montyRequest, "\nNone\n", "\nNone; stdout only.\n"},
		{"a title", eraRequest, "\n## Command", "\n# Statistics over a table\n\n## Command"},
		{"zero offset", eraRequest, `"2026-02-09T16:05:01Z"`, `"2026-02-09T16:05:01+00:00"`},
		{"no output files", montyRequest, "\nNone\n", "\nNo output files are expected.\n"},
		{"capital level", eraRequest, "Risk level: low", "Risk level: Low"},
		{"numbered", eraRequest, "- Risk level: low", "1. **Risk level**: low"},
		{"no bullets", eraRequest, "- Risk level: low\n- Just", "Risk level: low\nJust"},
		{"long justification", eraRequest, "writes one file.",
			"writes one file\n  and nothing else, without touching /etc."},
		{"no packages", eraRequest, "writes one file.", "writes one file. No packages need to be installed."},
		{"rationale", eraRequest, "Network rationale: none", "Network rationale: No network is needed."},
		{"language monty", montyRequest, "language: python", "language: monty"},
		{"fence without language", montyRequest, "```python", "```"},
		{"tilde fence", montyRequest, "```python\nprint(sum(numbers))\n```", "~~~python\nprint('```')\n~~~"},
		{"longer fence", montyRequest, "```python\nprint(sum(numbers))\n```",
			"````python\nx = '''\n```\n## Command\n'''\n````"},
		{"quoted metacharacters", eraRequest, "python -u", "python -u -W 'a;b|c>d&e'"},
		{"a folder tree", strings.Replace(eraRequest, "--in /in/input.csv", "--in /in/input.csv/a/b.csv", 1),
			"    sha256: \"1", "    unpack: tar\n    sha256: \"1"},
		{"a working folder", eraRequest, "    sha256: \"1", "    copy_to: /tmp/work\n    sha256: \"1"},
		{"settings", strings.ReplaceAll(eraRequest, "/in/input.csv", "/in/.settings/.csv"), "table", "Table"},
		{"scoped package", strings.ReplaceAll(eraRequest, "/in/input.csv", "/in/node_modules/@scope/x/i.js"), "table",
			"Table"},
		{"other order", eraRequest, "## Command\n\npython -u script.py --in /in/input.csv --out /out/output.json\n\n",
			""},
	}
	for _, tt := range tests {
		raw := strings.Replace(tt.base, tt.old, tt.new, 1)
		if tt.name == "other order" {
			raw += "\n## Command\n\npython -u script.py --in /in/input.csv --out /out/output.json\n"
		}
		if tt.name == "no inputs" {
			raw = strings.Replace(raw, "- /in/script.py: the program\n- /in/input.csv: the table", "None", 1)
		}
		if raw == tt.base {
			t.Fatalf("%s: nothing changed", tt.name)
		}
		if req, fs := Request("", []byte(raw), testPolicy()); req == nil || len(fs) > 0 {
			t.Errorf("%s: %+v", tt.name, fs)
		}
	}
}

func inputsBlock(s string) string {
	return s[strings.Index(s, "inputs:\n"):strings.Index(s, "---\n\n## Command")]
}

func TestRequestRules(t *testing.T) {
	proved := map[string]bool{}
	for _, tt := range requestCases() {
		t.Run(tt.name, func(t *testing.T) {
			raw := tt.base
			if tt.old != "" && tt.old != "xx" {
				if !strings.Contains(raw, tt.old) {
					t.Fatalf("%q is not in the request", tt.old)
				}
				raw = strings.Replace(raw, tt.old, tt.new, 1)
			}
			p := testPolicy()
			if tt.policy != nil {
				tt.policy(&p)
			}
			req, fs := Request(tt.file, []byte(raw), p)
			got := ruleLines(fs)
			want := slices.Clone(tt.want)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) && !(strings.HasPrefix(tt.name, "shell: ") && slices.Contains(got, want[0])) {
				t.Errorf("got  %v\nwant %v\n%+v", got, want, fs)
			}
			if (req == nil) != (schemas.VerdictOf(fs) == schemas.VerdictReject) {
				t.Errorf("request %v with findings %v", req != nil, got)
			}
			checkFindings(t, raw, fs)
			for _, f := range fs {
				proved[f.Rule] = true
			}
		})
	}
	_, unsigned := Signature(nil, nil, &schemas.Request{}, Policy{RequireSignature: true, RequirePlan: true})
	for _, fs := range [][]schemas.Finding{
		unsigned,
		Inputs(&schemas.Request{Inputs: []schemas.Input{{Path: "/in/a", SHA256: "0"}, {Path: "/in/b"}}},
			map[string]string{"/in/a": "1", "/in/c": "2"}, testPolicy()),
	} {
		checkFindings(t, "", fs)
		for _, f := range fs {
			proved[f.Rule] = true
		}
	}
	for _, r := range schemas.Rules() {
		about := strings.HasPrefix(r.ID, "doc.") || strings.HasPrefix(r.ID, "request.") ||
			strings.HasPrefix(r.ID, "approval.") || strings.HasPrefix(r.ID, "sec.") || r.ID == "secrets.scan"
		// the gate's, and TestMinApprovers
		elsewhere := r.ID == "approval.approvers" || r.ID == "request.duplicate" || r.ID == "request.conflict" ||
			r.ID == "request.cancelled" || r.ID == "request.backend.unavailable" || r.ID == "request.inputs.tree" ||
			r.ID == "sec.paths.sandbox" // of patches
		if about && !elsewhere && !proved[r.ID] {
			t.Errorf("no test case proves %s", r.ID)
		}
	}
}

// checkFindings asserts what is true of every finding.
func checkFindings(t *testing.T, raw string, fs []schemas.Finding) {
	t.Helper()
	lines := strings.Count(raw, "\n") + 1
	for i, f := range fs {
		rule, ok := schemas.RuleByID(f.Rule)
		if !ok {
			t.Errorf("the catalogue has no rule %s", f.Rule)
		}
		if f.Message == "" || f.Hint == "" || f.Severity == "" {
			t.Errorf("incomplete: %+v", f)
		}
		if f.Line < 0 || f.Line > lines || f.Line > 0 && f.Column < 1 {
			t.Errorf("no such place: %+v", f)
		}
		if rule.Must && f.Severity != schemas.SeverityBlocking && f.Rule != "request.network" &&
			f.Rule != "request.language" && f.Rule != "sec.shell.code" && f.Rule != "sec.hidden" {
			t.Errorf("a MUST that does not block: %+v", f)
		}
		if i > 0 && f.Line < fs[i-1].Line {
			t.Errorf("not sorted: %v", ruleLines(fs))
		}
		if all := f.Message + f.Hint + f.Excerpt; strings.Contains(all, "Z7QX3KD5") ||
			strings.ContainsAny(all, "\x1b\u202e\u200b") {
			t.Errorf("a finding repeats a secret or a hidden character: %q", all)
		}
	}
}

// Every rule id in the sources is in the catalogue.
func TestEmittedRulesAreKnown(t *testing.T) {
	id := regexp.MustCompile(`"((?:doc|request|approval|sec|secrets)\.[a-z_.]+[a-z])"`)
	n := 0
	for _, dir := range []string{".", "document", "command", "code", "reach", "approval"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files (%v)", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range id.FindAllStringSubmatch(string(src), -1) {
				n++
				if _, ok := schemas.RuleByID(m[1]); !ok {
					t.Errorf("%s: %s is not in the catalogue", file, m[1])
				}
			}
		}
	}
	if n < 60 {
		t.Fatalf("only %d rule ids found", n)
	}
}

func TestAnyNodeAndLevels(t *testing.T) {
	p := testPolicy()
	p.AnyNode = true
	raw := strings.Replace(eraRequest, "network: none", "network: allowlist", 1)
	raw = strings.Replace(raw, "rationale: none", "rationale: reads example.org for rates", 1)
	req, fs := Request("", []byte(raw), p)
	if req == nil || len(fs) != 1 || fs[0].Rule != "request.network" || fs[0].Severity != schemas.SeverityWarning {
		t.Errorf("%+v", fs)
	}
	p = testPolicy()
	p.Levels = map[string]schemas.Severity{"request.id.recommended": schemas.SeverityBlocking,
		"request.type": schemas.SeveritySuggestion}
	req, fs = Request("", []byte(strings.Replace(eraRequest, "TR-20260209-160501Z-python-stats", "stats", 1)), p)
	if req != nil || len(fs) != 1 || fs[0].Severity != schemas.SeverityBlocking {
		t.Errorf("%+v", fs)
	}
	req, fs = Request("", []byte(strings.Replace(eraRequest, "tool_request", "x", 1)), p)
	if req != nil || len(fs) != 1 || fs[0].Severity != schemas.SeverityBlocking {
		t.Errorf("a MUST was lowered: %+v", fs)
	}
}

func TestInputs(t *testing.T) {
	req := &schemas.Request{Inputs: []schemas.Input{{Path: "/in/a", SHA256: "00"}, {Path: "/in/b", SHA256: "11"}}}
	tests := []struct {
		files map[string]string
		want  []string
	}{
		{map[string]string{"/in/a": "00", "/in/b": "11"}, nil},
		{map[string]string{"/in/a": "00"}, []string{"request.inputs.missing:0"}},
		{map[string]string{"/in/a": "00", "/in/b": "22"}, []string{"request.inputs.hash:0"}},
		{map[string]string{"/in/a": "00", "/in/b": "11", "/in/c": "33"}, []string{"request.inputs.extra:0"}},
		{nil, []string{"request.inputs.missing:0", "request.inputs.missing:0"}},
	}
	for _, tt := range tests {
		if got := ruleLines(Inputs(req, tt.files, testPolicy())); !slices.Equal(got, tt.want) {
			t.Errorf("%v: %v, want %v", tt.files, got, tt.want)
		}
	}
}

func TestHugeInput(t *testing.T) {
	huge := make([]byte, 100<<20)
	for i := range huge {
		huge[i] = 'x'
	}
	req, fs := Request("", huge, testPolicy())
	if req != nil || len(fs) != 1 || fs[0].Rule != "doc.size" {
		t.Errorf("%v", fs)
	}
}

// Requests of half the largest size, made to be slow.
func TestSlowRequests(t *testing.T) {
	p := testPolicy()
	body := eraRequest[strings.Index(eraRequest, "\n## Command"):]
	front := eraRequest[:strings.Index(eraRequest, "\n## Command")]
	fill := func(unit string) string { return strings.Repeat(unit, (1<<19-len(eraRequest)-100)/len(unit)) }
	for _, raw := range map[string]string{
		"paths":     strings.Replace(eraRequest, "writes one file.", fill("/etc/x "), 1),
		"installs":  strings.Replace(eraRequest, "writes one file.", fill("install it. "), 1),
		"sentences": strings.Replace(eraRequest, "writes one file.", fill("a. "), 1),
		"items":     strings.Replace(eraRequest, "the figures\n", "the figures\n"+fill("- /out/a\n"), 1),
		"lines":     strings.Replace(eraRequest, "the figures\n", "the figures\n"+fill("x\n"), 1),
		"commands":  strings.Replace(eraRequest, "python -u", fill("python x\n"), 1),
		"sections":  front + body + fill("## A\n"),
		"controls":  strings.Replace(eraRequest, "writes one file.", fill("\u202ea"), 1),
		"keys":      "---\n" + fill("a: 1\n") + "---\n" + body,
		"labels":    strings.Replace(eraRequest, "- Risk level: low\n", fill("- Risk level: low\n"), 1),
	} {
		Request("", []byte(raw), p)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(eraRequest))
	f.Add([]byte(montyRequest))
	for i, c := range requestCases() {
		if i%7 == 0 && c.old != "" {
			f.Add([]byte(strings.Replace(c.base, c.old, c.new, 1)))
		}
	}
	p := testPolicy()
	p.MaxRequestBytes = 1 << 16
	f.Fuzz(func(t *testing.T, raw []byte) {
		req, fs := Request("x.md", raw, p)
		if (req == nil) != (schemas.VerdictOf(fs) == schemas.VerdictReject) {
			t.Fatalf("request %v with %v", req != nil, ruleLines(fs))
		}
		for _, f := range fs {
			if _, ok := schemas.RuleByID(f.Rule); !ok || f.Message == "" || f.Hint == "" || f.Line < 0 {
				t.Fatalf("finding %+v", f)
			}
		}
		if req == nil {
			return
		}
		if !safeID.MatchString(req.RequestID) || req.ApprovedBy == "" || req.MilliCPU <= 0 || req.MemoryLimitMB <= 0 ||
			req.TimeLimitSec <= 0 {
			t.Fatalf("accepted %+v", req)
		}
		if req.Backend == schemas.BackendERA && len(req.Argv) == 0 || req.Backend == schemas.BackendMonty &&
			req.Code == "" {
			t.Fatalf("accepted %+v", req)
		}
		for _, o := range req.Outputs {
			if badPath(o.Path, "/out") != "" {
				t.Fatalf("output %q", o.Path)
			}
		}
	})
}
