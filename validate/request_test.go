package validate

import (
	"encoding/base64"
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
	if req.MilliCPU != 500 || req.MemoryLimitMB != 256 || req.TimeLimitSec != 30 || req.Backend != schemas.BackendERA || req.Network != schemas.NetworkNone ||
		req.Command != "python -u script.py --in /in/input.csv --out /out/output.json" || req.Purpose != "Statistics over a table" || req.ApprovedBy != "j.okafor" ||
		!req.ApprovedUTC.Equal(time.Date(2026, 2, 9, 16, 6, 0, 0, time.UTC)) || req.SchemaVersion != "1" {
		t.Errorf("%+v", req)
	}
	if len(req.Inputs) != 2 || req.Inputs[1].Path != "/in/input.csv" || req.Inputs[1].Description != "the table" || req.Inputs[1].SHA256[0] != '1' {
		t.Errorf("inputs %+v", req.Inputs)
	}
	if len(req.Outputs) != 1 || req.Outputs[0] != (schemas.OutputExpectation{Path: "/out/output.json", Description: "the figures"}) {
		t.Errorf("outputs %+v", req.Outputs)
	}
	if req.Risk != (schemas.Risk{Level: "low", Justification: "Reads one table, writes one file.", DataSensitivity: "internal", NetworkRationale: "none"}) {
		t.Errorf("risk %+v", req.Risk)
	}
}

func TestRequestMonty(t *testing.T) {
	req, fs := Request("", []byte(montyRequest), testPolicy())
	if req == nil || len(fs) != 0 {
		t.Fatalf("%v", fs)
	}
	if req.Code != "print(sum(numbers))\n" || string(req.InputsJSON) != `{"numbers":[1,2.5,-3e2],"label":"\u00e9"}` || req.MilliCPU != 1000 || len(req.Outputs) != 0 {
		t.Errorf("%+v %s", req, req.InputsJSON)
	}
}

// Other spellings that are as good.
func TestRequestTolerance(t *testing.T) {
	tests := []struct{ name, base, old, new string }{
		{"no backend", eraRequest, "backend: ERA\n", ""},
		{"no inputs", strings.Replace(eraRequest, "python -u script.py --in /in/input.csv", "python -c 'print(1)'", 1), inputsBlock(eraRequest), ""},
		{"plain time", eraRequest, `"2026-02-09T16:05:01Z"`, "2026-02-09T16:05:01Z"},
		{"cores", eraRequest, `"0.5"`, "2"},
		{"millicores", eraRequest, `"0.5"`, "500m"},
		{"folded purpose", eraRequest, `purpose: "Statistics over a table"`, "purpose: >-\n  Statistics\n  over a table"},
		{"a YAML comment", eraRequest, "network: none", "network: none # no need"},
		{"backticks around paths", eraRequest, "- /out/output.json: the figures", "- `/out/output.json` - the figures"},
		{"star bullets", eraRequest, "- /out/output.json: the figures", "* **/out/output.json** the figures,\n  over two lines"},
		{"plain lines", eraRequest, "- /out/output.json: the figures", "/out/output.json: the figures"},
		{"introduction", eraRequest, "- /out/output.json: the figures", "The run writes:\n\n- /out/output.json: the figures"},
		{"label before the path", eraRequest, "- /out/output.json: the figures", "- The figures: `/out/output.json`"},
		{"stdout too", eraRequest, "- /out/output.json: the figures", "- /out/output.json: the figures\n- stdout: a summary"},
		{"none", montyRequest, "\nNone\n", "\n- None.\n"},
		{"stdout only", montyRequest, "\nNone\n", "\nStdout only.\n"},
		{"no output files", montyRequest, "\nNone\n", "\nNo output files are expected.\n"},
		{"capital level", eraRequest, "Risk level: low", "Risk level: Low"},
		{"numbered", eraRequest, "- Risk level: low", "1. **Risk level**: low"},
		{"no bullets", eraRequest, "- Risk level: low\n- Just", "Risk level: low\nJust"},
		{"long justification", eraRequest, "writes one file.", "writes one file\n  and nothing else, without touching /etc."},
		{"no packages", eraRequest, "writes one file.", "writes one file. No packages need to be installed."},
		{"rationale", eraRequest, "Network rationale: none", "Network rationale: No network is needed."},
		{"language monty", montyRequest, "language: python", "language: monty"},
		{"fence without language", montyRequest, "```python", "```"},
		{"tilde fence", montyRequest, "```python\nprint(sum(numbers))\n```", "~~~python\nprint('```')\n~~~"},
		{"longer fence", montyRequest, "```python\nprint(sum(numbers))\n```", "````python\nx = '''\n```\n## Command\n'''\n````"},
		{"quoted metacharacters", eraRequest, "python -u", "python -u -W 'a;b|c>d&e'"},
		{"other order", eraRequest, "## Command\n\npython -u script.py --in /in/input.csv --out /out/output.json\n\n", ""},
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

// requestCase changes a good request; the findings are "rule:line".
type requestCase struct {
	name, base, old, new string
	want                 []string
	policy               func(*Policy)
	file                 string
}

func awsKey() string { return "AKIA" + "Z7QX3KD5LPVT2MNB" }

func requestCases() []requestCase {
	c := func(name, old, new string, want ...string) requestCase {
		return requestCase{name: name, base: eraRequest, old: old, new: new, want: want}
	}
	m := func(name, old, new string, want ...string) requestCase {
		return requestCase{name: name, base: montyRequest, old: old, new: new, want: want}
	}
	with := func(r requestCase, f func(*Policy)) requestCase { r.policy = f; return r }
	const cmd = "python -u script.py --in /in/input.csv --out /out/output.json"
	command := func(name, line string, want ...string) requestCase { return c(name, cmd, line, want...) }
	out := []requestCase{
		c("document: empty", eraRequest, "", "doc.empty:0"),
		with(c("document: size", "xx", "xx", "doc.size:0"), func(p *Policy) { p.MaxRequestBytes = 100 }),
		c("document: binary", "---\nreq", "\x00---\nreq", "doc.encoding.binary:0"),
		c("document: UTF-8", "Statistics", "Stat\xffistics", "doc.encoding.utf8:9"),
		c("document: BOM", "---\nreq", "\ufeff---\nreq", "doc.encoding.bom:1"),
		c("document: CRLF", "---\nreq", "---\r\nreq", "doc.encoding.newline:1"),
		c("document: escape", "the table", "the \x1b[2Ktable", "doc.encoding.control:30"),
		c("front matter: none", "---\nreq", "req", "doc.frontmatter.missing:1"),
		c("front matter: endless", "---\n\n## Command", "## Command", "doc.frontmatter.unterminated:1"),
		c("front matter: blanks", "---\n\n## Command", "--- \n\n## Command", "doc.frontmatter.delimiter:21"),
		c("front matter: syntax", `"Statistics over a table"`, "Statistics: x", "doc.frontmatter.syntax:9"),
		c("front matter: twice", "network: none", "network: none\nnetwork: none", "doc.frontmatter.duplicate_key:13"),
		c("front matter: alias", `requested_by: "CORE"`, `requested_by: &a "CORE"`, "doc.frontmatter.alias:6"),
		c("front matter: tag", "time_limit_sec: 30", "time_limit_sec: !!int 30", "doc.frontmatter.tag:15"),
		c("front matter: documents", "network: none", "network: none\n...", "doc.frontmatter.documents:13"),
		c("front matter: depth", `"Statistics over a table"`, "[[[[[[[[[[[]]]]]]]]]]]", "doc.frontmatter.depth:9"),
		c("front matter: list", eraRequest[4:strings.Index(eraRequest, "---\n\n")], "- a\n", "doc.frontmatter.root:2"),
		c("front matter: type", "memory_limit_mb: 256", `memory_limit_mb: "256"`, "doc.frontmatter.type:14"),
		c("front matter: purpose as list", `"Statistics over a table"`, "[a]", "doc.frontmatter.type:9"),
		c("front matter: number as name", `"CORE"`, "7", "doc.frontmatter.type:6"),
		c("front matter: local time", `"2026-02-09T16:05:01Z"`, `"2026-02-09T16:05:01+01:00"`, "doc.frontmatter.type:5"),
		c("front matter: blank in name", `"j.okafor"`, `"j.okafor "`, "doc.frontmatter.type:7"),
		c("front matter: missing", "time_limit_sec: 30\n", "", "doc.frontmatter.missing_key:2"),
		c("front matter: no value", "time_limit_sec: 30", "time_limit_sec:", "doc.frontmatter.missing_key:15"),
		c("front matter: unknown", "network: none", "network: none\ntimeout: 5", "doc.frontmatter.unknown_key:13"),
		c("two documents", "Network rationale: none\n", "Network rationale: none\n\n---\nrequest_type: tool_request\n---\n\n## Command\n\nls\n", "doc.documents:44"),
		c("underlined heading", "## Input Files", "Input Files\n---", "doc.heading.form:27"),
		c("closed heading", "## Input Files", "## Input Files ##", "doc.heading.form:27"),
		c("level 3", "## Risk Assessment\n", "## Risk Assessment\n\n### Details\n", "doc.heading.level:38"),
		c("nesting", "the figures\n", "the figures\n\n"+strings.Repeat("> ", 30)+"x\n", "doc.nesting:36"),

		c("type", "tool_request", "job", "request.type:2"),
		c("version", `schema_version: "1"`, "schema_version: 2", "request.version:3"),
		c("version 1.0", `schema_version: "1"`, "schema_version: 1.0", "request.version:3"),
		c("id", "TR-20260209-160501Z-python-stats", "../x", "request.id:4"),
		c("id: hidden", "TR-20260209-160501Z-python-stats", ".x", "request.id:4"),
		c("id: dots", "TR-20260209-160501Z-python-stats", "TR-20260209-160501Z-a..b", "request.id:4"),
		c("id: long", "TR-20260209-160501Z-python-stats", strings.Repeat("a", 101), "request.id:4"),
		c("id: blank", "TR-20260209-160501Z-python-stats", "a b", "request.id:4"),
		c("id: form", "TR-20260209-160501Z-python-stats", "stats", "request.id.recommended:4"),
		{name: "name", base: eraRequest, file: "/x/other.md", want: []string{"request.name:4"}},
		c("purpose", "Statistics over a table", strings.Repeat("long ", 1000), "request.purpose:9"),
		c("backend", "backend: ERA", "backend: docker", "request.backend:10"),
		c("backend: case", "backend: ERA", "backend: era", "request.backend:10"),
		c("backend: empty", "backend: ERA", "backend:", "request.backend:10"),
		c("language", "language: python", "language: Python 3", "request.language:11"),
		with(c("language: no image", "language: python", "language: cobol", "request.language:11"), func(p *Policy) { p.Languages = []string{"python"} }),
		m("language: monty", "language: python", "language: ruby", "request.language:11"),
		c("language: shell", "language: python", "language: bash", "sec.shell.language:11"),
		c("language: Shell", "language: python", "language: Shell", "sec.shell.language:11"),
		c("language: zsh version", "language: python", "language: zsh5.9", "sec.shell.language:11"),
		m("language: shell in monty", "language: python", "language: sh", "sec.shell.language:11"),
		c("network", "network: none", "network: full", "request.network:12"),
		c("network: no egress", "network: none", "network: allowlist", "request.network:12", "request.risk:41"),
		with(c("network: no reason", "network: none", "network: allowlist", "request.risk:41"), func(p *Policy) { p.Egress = true }),
		c("cpu: words", `"0.5"`, "lots", "request.limits:13"),
		c("cpu: zero", `"0.5"`, "0", "request.limits:13"),
		c("cpu: negative", `"0.5"`, "-1", "request.limits:13"),
		c("cpu: too much", `"0.5"`, "64", "request.limits:13"),
		c("cpu: exponent", `"0.5"`, `"1e9"`, "request.limits:13"),
		c("memory: zero", "memory_limit_mb: 256", "memory_limit_mb: 0", "request.limits:14"),
		c("memory: too much", "memory_limit_mb: 256", "memory_limit_mb: 99999999", "request.limits:14"),
		c("time: negative", "time_limit_sec: 30", "time_limit_sec: -5", "request.limits:15"),
		c("time: too much", "time_limit_sec: 30", "time_limit_sec: 100000", "request.limits:15"),

		c("sections: missing", "## Risk Assessment\n", "", "request.outputs:37", "request.outputs:38", "request.outputs:39", "request.outputs:40", "request.sections:0"),
		c("sections: twice", "## Output Exp", "## Command\n\nls\n\n## Output Exp", "request.sections:32"),
		c("sections: unknown", "## Output Exp", "## Notes\n\nx\n\n## Output Exp", "request.sections:32"),
		c("sections: case", "## Output Expectations", "## output expectations", "request.sections:0", "request.sections:32", "request.outputs.undeclared:25"),
		c("sections: of monty", "## Output Exp", "## Code\n\n## Output Exp", "request.sections:32"),
		c("sections: text before", "\n## Command", "\nhello\n\n## Command", "request.sections:23"),
		m("sections: input files without", "time_limit_sec: 5\n", "time_limit_sec: 5\ninputs:\n  - path: /in/x\n    sha256: \"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"\n", "request.sections:0"),

		command("command: empty", "", "request.command:23"),
		command("command: fence", "```\n"+cmd+"\n```", "request.command:25"),
		command("command: indented", "    "+cmd, "request.command:25"),
		command("command: list", "- "+cmd, "request.command:25", "sec.markdown:25"),
		command("command: quote", "> "+cmd, "request.command:25", "sec.markdown:25", "sec.shell.redirection:25"),
		command("command: backticks", "`"+cmd+"`", "request.command:25"),
		command("command: two lines", cmd+"\n"+cmd, "request.command:26"),
		command("command: continued", "python \\\n  script.py", "request.command:26"),
		m("code: no fence", "```python\nprint(sum(numbers))\n```", "print(1)", "request.code:20"),
		m("code: empty section", "```python\nprint(sum(numbers))\n```", "", "request.code:18"),
		m("code: empty", "print(sum(numbers))\n", "", "request.code:20"),
		m("code: two", "## Inputs", "```\n1\n```\n\n## Inputs", "request.code:24"),
		m("code: other language", "```python", "```bash", "request.code:20"),
		m("code: hidden words", "```python", "```python and more", "request.code:20"),
		m("code: indented fence", "```python\nprint(sum(numbers))\n```", "  ```python\n  print(1)\n  ```", "request.code:20"),
		m("code: endless fence", "print(sum(numbers))\n```\n\n## Inputs (JSON)\n\n```json\n{\"numbers\": [1, 2.5, -3e2], \"label\": \"\\u00e9\"}\n```", "print(1)", "request.code:20", "request.sections:0", "request.sections:0"),
		m("json: list", `{"numbers": [1, 2.5, -3e2], "label": "\u00e9"}`, "[1]", "request.inputs_json:27"),
		m("json: twice", `"label"`, `"numbers"`, "request.inputs_json:27"),
		m("json: nested twice", `"\u00e9"`, `{"a": 1, "a": 2}`, "request.inputs_json:27"),
		m("json: two values", "\"\\u00e9\"}\n", "\"\\u00e9\"}\n{}\n", "request.inputs_json:28"),
		m("json: syntax", "2.5,", "2.5", "request.inputs_json:27"),
		m("json: NaN", "2.5", "NaN", "request.inputs_json:27"),
		m("json: infinite", "2.5", "1e999", "request.inputs_json:27"),
		m("json: comma", `"\u00e9"`, `"\u00e9",`, "request.inputs_json:27"),
		m("json: keyword", `"label"`, `"class"`, "request.inputs_json:27"),
		m("json: name", `"label"`, `"my label"`, "request.inputs_json:27"),
		m("json: foreign name", `"label"`, `"lábel"`, "request.inputs_json:27"),
		m("json: half a character", `\u00e9`, `\ud800`, "request.inputs_json:27"),
		m("json: deep", "2.5", strings.Repeat("[", 40)+strings.Repeat("]", 40), "request.inputs_json:27"),
		m("json: empty", `{"numbers": [1, 2.5, -3e2], "label": "\u00e9"}`, "", "request.inputs_json:27"),
		m("json: path of the host", `"\u00e9"`, `"/etc/passwd"`, "sec.paths.host:27"),
		m("json: no fence", "```json\n{\"numbers\": [1, 2.5, -3e2], \"label\": \"\\u00e9\"}\n```", "{}", "request.inputs_json:26"),

		c("inputs: path", `"/in/input.csv"`, `"/etc/passwd"`, "request.inputs:19"),
		c("inputs: traversal", `"/in/input.csv"`, `"/in/../x"`, "request.inputs:19"),
		c("inputs: hidden", `"/in/input.csv"`, `"/in/.x"`, "request.inputs:19"),
		c("inputs: folder", `"/in/input.csv"`, `"/in/x/"`, "request.inputs:19"),
		c("inputs: twice", `"/in/input.csv"`, `"/in/script.py"`, "request.inputs:19", "request.inputs:30", "request.inputs.undeclared:25"),
		c("inputs: clash", `"/in/input.csv"`, `"/in/script.py/x"`, "request.inputs:19", "request.inputs:27", "request.inputs:30", "request.inputs.undeclared:25"),
		c("inputs: hash", `"1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`, `"1123"`, "request.inputs:20"),
		c("inputs: capital hash", `"1123456789abcdef0`, `"1123456789ABCDEF0`, "request.inputs:20"),
		c("inputs: no hash", "\n    sha256: \"1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"", "", "doc.frontmatter.missing_key:19"),
		c("inputs: other key", "    sha256: \"1", "    size: 1\n    sha256: \"1", "doc.frontmatter.unknown_key:20"),
		c("inputs: text", inputsBlock(eraRequest), "inputs: none\n", "doc.frontmatter.type:16", "request.inputs:25", "request.inputs:26", "request.inputs.undeclared:21"),
		c("inputs: no value", inputsBlock(eraRequest), "inputs:\n", "request.inputs:16", "request.inputs:25", "request.inputs:26", "request.inputs.undeclared:21"),
		with(c("inputs: many", "xx", "xx", "request.inputs:17", "request.inputs:30", "request.inputs.undeclared:25"), func(p *Policy) { p.MaxInputs = 1 }),
		c("inputs: not listed", "- /in/input.csv: the table\n", "", "request.inputs:27"),
		c("inputs: not declared", "- /in/input.csv: the table\n", "- /in/input.csv: the table\n- /in/more.csv: more\n", "request.inputs:31"),
		c("inputs: listed twice", "- /in/input.csv: the table\n", "- /in/input.csv: the table\n- /in/input.csv: the table\n", "request.inputs:31"),
		c("inputs: other hash beside", "- /in/input.csv: the table\n", "- /in/input.csv sha256: 2123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n", "request.inputs:30"),
		c("inputs: says none", "- /in/script.py: the program\n- /in/input.csv: the table\n", "None\n", "request.inputs:27", "request.inputs:27"),
		c("inputs: empty section", "- /in/script.py: the program\n- /in/input.csv: the table\n", "", "request.inputs:27", "request.inputs:27", "request.inputs:27"),
		command("inputs: undeclared", "python -u script.py --in=/in/other.csv --out /out/output.json", "request.inputs.undeclared:25"),
		c("outputs: path", "- /out/output.json", "- /tmp/output.json", "request.outputs:34", "request.outputs.undeclared:25"),
		c("outputs: traversal", "- /out/output.json", "- /out/../output.json", "request.outputs:34", "request.outputs.undeclared:25"),
		c("outputs: relative", "- /out/output.json", "- output.json", "request.outputs:34", "request.outputs.undeclared:25"),
		c("outputs: reserved", "- /out/output.json", "- /out/_stdout.txt: x\n- /out/output.json", "request.outputs:34"),
		c("outputs: twice", "- /out/output.json: the figures", "- /out/output.json: the figures\n- /out/output.json: again", "request.outputs:35"),
		c("outputs: clash", "- /out/output.json: the figures", "- /out/output.json: the figures\n- /out/output.json/x: again", "request.outputs:35"),
		c("outputs: pattern", "- /out/output.json: the figures", "- /out/output.json: the figures\n- /out/*.csv: tables", "request.outputs:35"),
		c("outputs: folder", "- /out/output.json: the figures", "- /out/output.json: the figures\n- /out/plots/: plots", "request.outputs:35"),
		c("outputs: colon", "- /out/output.json: the figures", "- /out/output.json: the figures\n- /out/a:b.csv: x", "request.outputs:35"),
		c("outputs: none and some", "- /out/output.json: the figures", "None\n\n- /out/output.json: the figures", "request.outputs:34"),
		c("outputs: empty", "- /out/output.json: the figures", "", "request.outputs:32", "request.outputs.undeclared:25"),
		with(c("outputs: many", "- /out/output.json: the figures", "- /out/output.json: the figures\n- /out/b: x", "request.outputs:32"), func(p *Policy) { p.MaxOutputs = 1 }),
		command("outputs: undeclared", "python -u script.py --in /in/input.csv --out /out/other.json", "request.outputs.undeclared:25"),
		c("risk: level", "Risk level: low", "Risk level: tiny", "request.risk:38"),
		c("risk: template", "Risk level: low", "Risk level: low|medium|high", "request.risk:38"),
		c("risk: sensitivity", "Data sensitivity: internal", "Data sensitivity: secret", "request.risk:40"),
		c("risk: no justification", "- Justification: Reads one table, writes one file.\n", "", "request.risk:36"),
		c("risk: empty justification", "Reads one table, writes one file.", "", "request.risk:39"),
		c("risk: twice", "- Risk level: low", "- Risk level: low\n- Risk level: high", "request.risk:39"),
		c("risk: no label", "- Risk level: low", "low\n- Risk level: low", "request.risk:38"),
		c("risk: no rationale", "- Network rationale: none\n", "", "request.risk:36"),

		c("approval: missing", `approved_by: "j.okafor"`+"\n", "", "approval.missing:2"),
		c("approval: empty", `approved_by: "j.okafor"`, `approved_by: ""`, "approval.missing:7"),
		c("approval: placeholder", `"j.okafor"`, `"TODO"`, "approval.missing:7"),
		c("approval: placeholder in brackets", `"j.okafor"`, `"<name>"`, "approval.missing:7"),
		c("approval: no requester", `requested_by: "CORE"`+"\n", "", "approval.missing:2"),
		c("approval: no time", `approved_utc: "2026-02-09T16:06:00Z"`, "approved_utc:", "approval.missing:8"),
		c("approval: before creation", "16:06:00", "16:04:00", "approval.time:8"),
		c("approval: future", "2026-02-09T16:06:00", "2026-02-10T00:06:00", "approval.time:8"),
		with(c("approval: old", "xx", "xx", "approval.age:8"), func(p *Policy) { p.Now = p.Now.Add(60 * 24 * time.Hour) }),
		with(c("approval: not on the list", "xx", "xx", "approval.approver:7"), func(p *Policy) { p.Approvers = []string{"m.silva"} }),
		c("approval: by the system", `"j.okafor"`, `"tool-exec"`, "approval.approver:7"),
		c("approval: by CORE itself", `"j.okafor"`, `"core"`, "approval.approver:7", "approval.self:7"),
		c("approval: self", `"CORE"`, `"J.Okafor"`, "approval.self:7"),

		with(c("allowlist", "xx", "xx", "sec.shell.allowlist:25"), func(p *Policy) { p.ShellAllow = []string{"^perl ", "("} }),
		with(c("allowlist: empty", "xx", "xx", "sec.shell.allowlist:25"), func(p *Policy) { p.ShellAllow = []string{} }),
		c("packages: purpose", "Statistics over a table", "Run pip install pandas, then count", "sec.packages:9"),
		c("packages: justification", "Reads one table, writes one file.", "Please install the requests package first.", "sec.packages:39"),
		c("packages: output", "the figures", "the figures; needs npm install first", "sec.packages:34"),
		m("packages: code", "print(sum(numbers))", "run(['pip', 'install', 'x'])", "sec.packages:21"),
		m("path in code", "print(sum(numbers))", "open('/etc/passwd')", "sec.paths.host:21"),
		m("device in code", "print(sum(numbers))", "open('/dev/mem')", "sec.devices:21"),
		m("process in code", "print(sum(numbers))", "import subprocess", "sec.shell.code:21"),
		m("dynamic code", "print(sum(numbers))", "exec(text)", "sec.code.dynamic:21"),
		c("path in prose", "the table", "the table, copied from /var/lib/x", "sec.paths.host:30"),
		c("device in purpose", "Statistics over a table", "Read /dev/kmsg", "sec.devices:9"),
		command("two findings at once", "python /etc/x; rm y", "sec.paths.host:25", "sec.shell.chaining:25"),
		c("hidden: comment", "writes one file.", "writes <!-- not --> one file.", "sec.hidden:39"),
		c("hidden: tag", "writes one file.", "writes <b>one</b> file.", "sec.hidden:39"),
		c("hidden: block", "## Risk", "<div>\nx\n</div>\n\n## Risk", "sec.hidden:36"),
		c("hidden: definition", "the figures\n", "the figures\n\n[x]: hidden\n", "sec.hidden:36"),
		c("hidden: bidi", "the figures", "the \u202efigures\u202c", "sec.hidden:34", "sec.hidden:34"),
		c("hidden: zero width in purpose", "Statistics", "Stat\u200bistics", "sec.hidden:9"),
		command("hidden: confusable", "python -u script.py --in /in/input.csv --оut /out/output.json", "sec.hidden:25"),
		command("hidden: all foreign", "рорсо -u script.py", "sec.hidden:25"),
		command("hidden: space", "python\u00a0script.py", "sec.hidden:25"),
		command("markdown", "python script.py '*a*' --in /in/input.csv", "sec.markdown:25"),
		command("tag in a command", "grep -c '<item>' /in/input.csv", "sec.markdown:25"),
		c("secret", "the figures", "key "+awsKey(), "secrets.scan:34"),
		c("secret in base64", "the figures", base64.StdEncoding.EncodeToString([]byte("key "+awsKey()+" is it")), "secrets.scan:34"),
		command("secret in pieces", "python script.py 'AKIA''Z7QX3KD5LPVT2MNB'", "secrets.scan:25"),
		m("secret in pieces of code", "print(sum(numbers))", "k = 'AKIA' + 'Z7QX3KD5LPVT2MNB'", "secrets.scan:21"),
		c("secret with a hole", "the figures", "key AKIAZ7QX\u200b3KD5LPVT2MNB", "sec.hidden:34", "secrets.scan:34"),
	}
	for rule, line := range map[string]string{
		"chaining": "python a.py; ls", "pipeline": "cat /in/input.csv | sort", "redirection": "python a.py > x", "heredoc": "cat <<E", "background": "python a.py & ls",
		"substitution": "python a.py $(date)", "expansion": "python a.py $X", "glob": "wc *.csv", "brace": "wc {a,b}", "assignment": "A=1 python a.py",
		"comment": "python a.py # x", "history": "python a.py !!", "compound": "(python a.py)", "program": "bash -c x", "wrapped": "env bash -c x", "builtin": "cd x",
		"code": "python -c 'import subprocess'", "syntax": "python 'a",
	} {
		out = append(out, command("shell: "+rule, line, "sec.shell."+rule+":25"))
	}
	return append(out,
		command("shell: tilde", "python ~/a.py", "sec.paths.host:25", "sec.shell.tilde:25"),
		command("privilege", "sudo python a.py", "sec.privilege:25"),
		command("package command", "pip install x", "sec.packages:25"),
		command("device", "cat /dev/sda", "sec.devices:25"),
	)
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
	for _, fs := range [][]schemas.Finding{
		Inputs(&schemas.Request{Inputs: []schemas.Input{{Path: "/in/a", SHA256: "0"}, {Path: "/in/b"}}}, map[string]string{"/in/a": "1", "/in/c": "2"}, testPolicy()),
		Signature(nil, nil, nil, Policy{RequireSignature: true}),
	} {
		checkFindings(t, "", fs)
		for _, f := range fs {
			proved[f.Rule] = true
		}
	}
	for _, r := range schemas.Rules() {
		about := strings.HasPrefix(r.ID, "doc.") || strings.HasPrefix(r.ID, "request.") || strings.HasPrefix(r.ID, "approval.") || strings.HasPrefix(r.ID, "sec.") || r.ID == "secrets.scan"
		elsewhere := r.ID == "request.duplicate" || r.ID == "request.conflict" || r.ID == "request.backend.unavailable" // the gate's
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
		if rule.Must && f.Severity != schemas.SeverityBlocking && f.Rule != "request.network" && f.Rule != "request.language" && f.Rule != "sec.shell.code" && f.Rule != "sec.hidden" {
			t.Errorf("a MUST that does not block: %+v", f)
		}
		if i > 0 && f.Line < fs[i-1].Line {
			t.Errorf("not sorted: %v", ruleLines(fs))
		}
		if all := f.Message + f.Hint + f.Excerpt; strings.Contains(all, "Z7QX3KD5") || strings.ContainsAny(all, "\x1b\u202e\u200b") {
			t.Errorf("a finding repeats a secret or a hidden character: %q", all)
		}
	}
}

// Every rule id in the sources is in the catalogue.
func TestEmittedRulesAreKnown(t *testing.T) {
	id := regexp.MustCompile(`"((?:doc|request|approval|sec|secrets)\.[a-z_.]+[a-z])"`)
	n := 0
	for _, dir := range []string{".", "document", "command", "code", "packages", "paths", "approval"} {
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
	p.Levels = map[string]schemas.Severity{"request.id.recommended": schemas.SeverityBlocking, "request.type": schemas.SeveritySuggestion}
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
	start := time.Now()
	req, fs := Request("", huge, testPolicy())
	if req != nil || len(fs) != 1 || fs[0].Rule != "doc.size" || time.Since(start) > 2*time.Second {
		t.Errorf("%v after %v", fs, time.Since(start))
	}
}

// Requests of the largest size, made to be slow.
func TestRequestTime(t *testing.T) {
	p := testPolicy()
	body := eraRequest[strings.Index(eraRequest, "\n## Command"):]
	front := eraRequest[:strings.Index(eraRequest, "\n## Command")]
	fill := func(unit string) string { return strings.Repeat(unit, (1<<19-len(eraRequest)-100)/len(unit)) }
	for name, raw := range map[string]string{
		"paths":     strings.Replace(eraRequest, "writes one file.", fill("/etc/x "), 1),
		"installs":  strings.Replace(eraRequest, "writes one file.", fill("install it. "), 1),
		"sentences": strings.Replace(eraRequest, "writes one file.", fill("a. "), 1),
		"items":     strings.Replace(eraRequest, "the figures\n", "the figures\n"+fill("- /out/a\n"), 1),
		"lines":     strings.Replace(eraRequest, "the figures\n", "the figures\n"+fill("x\n"), 1),
		"commands":  strings.Replace(eraRequest, "python -u", fill("python x\n"), 1),
		"sections":  front + body + fill("## A\n"),
		"marks":     strings.Replace(eraRequest, "writes one file.", fill("\u202ea"), 1),
		"keys":      "---\n" + fill("a: 1\n") + "---\n" + body,
		"labels":    strings.Replace(eraRequest, "- Risk level: low\n", fill("- Risk level: low\n"), 1),
	} {
		start := time.Now()
		Request("", []byte(raw), p)
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s took %v", name, d)
		} else if d > time.Second {
			t.Logf("%s took %v", name, d)
		}
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
		if !safeID.MatchString(req.RequestID) || req.ApprovedBy == "" || req.MilliCPU <= 0 || req.MemoryLimitMB <= 0 || req.TimeLimitSec <= 0 {
			t.Fatalf("accepted %+v", req)
		}
		if req.Backend == schemas.BackendERA && len(req.Argv) == 0 || req.Backend == schemas.BackendMonty && req.Code == "" {
			t.Fatalf("accepted %+v", req)
		}
		for _, o := range req.Outputs {
			if badPath(o.Path, "/out") != "" {
				t.Fatalf("output %q", o.Path)
			}
		}
	})
}
