package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// request is a request to measure with.
type request struct {
	language, command string // ERA
	code              string // Monty
	inputs            map[string][]byte
	outputs           []string
}

// The programs that are measured.
var (
	pythonArgv     = []string{"python3", "-c", "print(1)"}
	javascriptArgv = []string{"node", "-e", "console.log(1)"}

	pythonRequest     = request{language: "python", command: "python3 -c 'print(1)'"}
	javascriptRequest = request{language: "javascript", command: "node -e 'console.log(1)'"}
	montyRequest      = request{code: "print(1)\n"}
)

// document renders the request, approved just now.
func (r request) document(id string) []byte {
	now := time.Now().UTC().Format(time.RFC3339)
	backend, language := "ERA", r.language
	if r.code != "" {
		backend, language = "monty", "python"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `---
request_type: tool_request
schema_version: "1"
request_id: %q
created_utc: %q
requested_by: "CORE"
approved_by: "operator"
approved_utc: %q
purpose: "Benchmark"
backend: %s
language: %s
network: none
cpu_limit: "2"
memory_limit_mb: 256
time_limit_sec: 30
`, id, now, now, backend, language)
	names := slices.Sorted(maps.Keys(r.inputs))
	if len(names) > 0 {
		b.WriteString("inputs:\n")
	}
	for _, name := range names {
		sum := sha256.Sum256(r.inputs[name])
		fmt.Fprintf(&b, "  - path: \"/in/%s\"\n    sha256: %q\n", name, hex.EncodeToString(sum[:]))
	}
	b.WriteString("---\n\n")
	if r.code != "" {
		fmt.Fprintf(&b, "## Code\n\n```python\n%s```\n\n", r.code)
	} else {
		fmt.Fprintf(&b, "## Command\n\n%s\n\n", r.command)
	}
	if r.code == "" || len(names) > 0 {
		b.WriteString("## Input Files\n\n")
		for _, name := range names {
			fmt.Fprintf(&b, "- /in/%s: an input\n", name)
		}
		if len(names) == 0 {
			b.WriteString("None\n")
		}
		b.WriteString("\n")
	}
	b.WriteString("## Output Expectations\n\n")
	for _, name := range r.outputs {
		fmt.Fprintf(&b, "- /out/%s: an output\n", name)
	}
	if len(r.outputs) == 0 {
		b.WriteString("None\n")
	}
	b.WriteString("\n## Risk Assessment\n\n- Risk level: low\n- Justification: a benchmark\n- Data sensitivity: public\n- Network rationale: none\n")
	return []byte(b.String())
}
