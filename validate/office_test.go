package validate

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/channel"
)

// officeRequests reads a file of requests: paragraphs of "key: value" lines, whose further
// lines are indented. ⟨200B⟩ stands for the character of that number.
func officeRequests(t *testing.T, file string) []map[string]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	number := regexp.MustCompile(`⟨[0-9A-F]+⟩`)
	for _, block := range strings.Split(strings.TrimSpace(string(b)), "\n\n") {
		r, key := map[string]string{}, ""
		for _, line := range strings.Split(block, "\n") {
			line = number.ReplaceAllStringFunc(line, func(s string) string {
				n, _ := strconv.ParseUint(strings.Trim(s, "⟨⟩"), 16, 32)
				return string(rune(n))
			})
			if rest, ok := strings.CutPrefix(line, "      "); ok && key != "" {
				r[key] += "\n" + rest
				continue
			}
			var value string
			key, value, _ = strings.Cut(line, ": ")
			r[key] = value
		}
		out = append(out, r)
	}
	return out
}

var inputPath = regexp.MustCompile(`/in/[\w./-]*\w`)

// officeRequest writes the request out. Inputs of a command that lists none are declared.
func officeRequest(r map[string]string) string {
	value := func(key, otherwise string) string {
		if r[key] == "" {
			return otherwise
		}
		return r[key]
	}
	var front, listed strings.Builder
	language := map[string]string{"perl": "perl", "ruby": "ruby", "node": "javascript"}[strings.Fields(r["command"] + " x")[0]]
	if language == "" {
		language = "python"
	}
	items := strings.Split(value("inputs", "None"), "; ")
	if r["inputs"] == "" {
		items = slices.Compact(slices.Sorted(slices.Values(inputPath.FindAllString(r["command"], -1))))
	}
	for _, item := range items {
		if strings.HasPrefix(item, "/in/") {
			path, _, _ := strings.Cut(item, ":")
			fmt.Fprintf(&front, "  - path: %s\n    sha256: %q\n", path, strings.Repeat("0123456789abcdef", 4))
		}
		fmt.Fprintf(&listed, "- %s\n", item)
	}
	if listed.Len() == 0 {
		listed.WriteString("- None\n")
	}
	inputs := "inputs: []\n"
	if front.Len() > 0 {
		inputs = "inputs:\n" + front.String()
	}
	body := "## Command\n\n" + r["command"] + "\n\n## Input Files\n\n" + strings.Replace(listed.String(), "- None\n", "None\n", 1)
	backend := "ERA"
	if r["code"] != "" {
		backend = "monty"
		body = "## Code\n\n```python\n" + r["code"] + "\n```\n"
		if r["json"] != "" {
			body += "\n## Inputs (JSON)\n\n```json\n" + r["json"] + "\n```\n"
		}
	}
	outputs := strings.TrimPrefix("- "+strings.ReplaceAll(value("outputs", "None"), "; ", "\n- "), "- None")
	if outputs == "" {
		outputs = "None"
	}
	return fmt.Sprintf(`---
request_type: tool_request
schema_version: "1"
request_id: "TR-20260209-160501Z-office"
created_utc: "2026-02-09T16:05:01Z"
requested_by: "CORE"
approved_by: "j.okafor"
approved_utc: "2026-02-09T16:06:00Z"
purpose: %q
backend: %s
language: %s
network: none
cpu_limit: "0.5"
memory_limit_mb: 256
time_limit_sec: 30
%s---

%s
## Output Expectations

%s

## Risk Assessment

- Risk level: low
- Justification: %s
- Data sensitivity: internal
- Network rationale: none
`, value("purpose", "Statistics over a table"), backend, language, inputs, body, outputs, value("why", "Reads one file."))
}

// TestHonestRequests: what a small company asks for is not refused.
func TestHonestRequests(t *testing.T) {
	for _, r := range officeRequests(t, "testdata/honest.txt") {
		_, fs := Request("", []byte(officeRequest(r)), testPolicy())
		for _, f := range fs {
			if f.Severity == schemas.SeverityBlocking {
				t.Errorf("%s\n\t%s%s\n\t%d: %s: %s", r["purpose"], r["command"], r["code"], f.Line, f.Rule, f.Message)
			}
		}
	}
}

// TestHonestResults: of a hundred requests and of what they print none is refused, and of at most one something is taken
// out.
func TestHonestResults(t *testing.T) {
	cases := officeRequests(t, "testdata/honest-results.txt")
	if len(cases) < 100 {
		t.Fatalf("only %d cases", len(cases))
	}
	touched := 0
	for _, r := range cases {
		_, fs := Request("", []byte(officeRequest(r)), testPolicy())
		for _, f := range fs {
			if f.Severity == schemas.SeverityBlocking {
				t.Errorf("%s\n\t%s\n\t%d: %s: %s", r["purpose"], r["command"], f.Line, f.Rule, f.Message)
			}
		}
		policy := testPolicy()
		v := channel.Judge([]byte(r["prints"]), nil)
		if touched += min(1, len(v.Withheld)); len(v.Refused) > 0 || touched > 1 {
			t.Errorf("%s\n\t%+v", r["purpose"], append(v.Withheld, v.Refused...))
		}
		for _, m := range policy.Secrets([]byte(r["prints"])) {
			t.Errorf("%s\n\tsecret %s: %s", r["purpose"], m.Rule, r["prints"][m.Offset:m.End])
		}
	}
}

// TestHostileRequests: each is refused for what it hides.
func TestHostileRequests(t *testing.T) {
	for _, r := range officeRequests(t, "testdata/hostile.txt") {
		_, fs := Request("", []byte(officeRequest(r)), testPolicy())
		if !slices.ContainsFunc(fs, func(f schemas.Finding) bool {
			return f.Rule == r["rule"] && f.Severity == schemas.SeverityBlocking
		}) {
			t.Errorf("%s%s%s: no %s in %+v", r["purpose"], r["command"], r["code"], r["rule"], fs)
		}
	}
}

// TestQuotedSecrets: a secret is found in the pieces that a shell or Python joins.
func TestQuotedSecrets(t *testing.T) {
	for _, r := range []map[string]string{
		{"command": `python /in/a.py --token "8f3k"'D92mQpL0xZ7vB4nT'`},
		{"code": "password = 'Zx9!kQ' \\\n    '2mVb7t'\nprint(len(password))"},
		{"code": "api_key = '8f3kD92m' + 'QpL0xZ7vB4nT'\nprint(len(api_key))"},
	} {
		_, fs := Request("", []byte(officeRequest(r)), testPolicy())
		if !slices.ContainsFunc(fs, func(f schemas.Finding) bool { return f.Rule == ruleSecrets }) {
			t.Errorf("%v: %+v", r, fs)
		}
	}
}
