// Package draft writes requests that nobody has approved yet. What it is given may come from
// anybody: it quotes where the form asks for it, and judges nothing.
package draft

import (
	"regexp"
	"strings"
	"text/template"
	"time"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/frontmatter"
	"github.com/threegate/tool-exec/schemas"
)

// Defaults of a drafted request: small, so that raising them is a decision.
const (
	CPU      = "1"
	MemoryMB = 256
	TimeSec  = 60
)

// Draft is a request without an approval.
type Draft struct {
	ID, RequestedBy, Purpose string
	Created                  time.Time
	Backend                  schemas.Backend
	Language                 string
	Network                  schemas.Network
	CPU                      string
	MemoryMB, TimeSec        int
	// Inputs have been hashed.
	Inputs []Input
	// Outputs are paths below /out/ with what they are.
	Outputs []schemas.OutputExpectation
	// Command is ERA's. Code is Monty's, and Variables, which may be empty, its inputs as JSON.
	Command, Code, Variables string
	Risk                     schemas.Risk
}

// Input is an input file, and what it is.
type Input struct {
	bundle.File
	Description string
	// Unpack is schemas.UnpackTar for a folder tree.
	Unpack string
	// CopyTo is schemas.WorkDir for one that the program may change there.
	CopyTo string
}

var page = template.Must(template.New("request").Funcs(template.FuncMap{
	"yaml": frontmatter.Quote, "fence": Fence, "utc": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
}).Parse("---\n" + `request_type: tool_request
schema_version: "1"
request_id: {{yaml .ID}}
created_utc: {{yaml (utc .Created)}}
requested_by: {{yaml .RequestedBy}}
approved_by: ""
approved_utc: ""
purpose: {{yaml .Purpose}}
backend: {{.Backend}}
language: {{yaml .Language}}
network: {{.Network}}
cpu_limit: {{yaml .CPU}}
memory_limit_mb: {{.MemoryMB}}
time_limit_sec: {{.TimeSec}}
{{- if .Inputs}}
inputs:
{{- range .Inputs}}
  - path: {{yaml .Path}}
    sha256: {{yaml .SHA256}}
{{- if .Unpack}}
    unpack: {{.Unpack}}
{{- end}}
{{- if .CopyTo}}
    copy_to: {{.CopyTo}}
{{- end}}
{{- end}}
{{- end}}
---
{{if .Code}}
## Code

{{fence .Code}}python
{{.Code}}
{{fence .Code}}
{{if .Variables}}
## Inputs (JSON)

{{fence .Variables}}json
{{.Variables}}
{{fence .Variables}}
{{end}}{{if .Inputs}}
## Input Files

{{range .Inputs}}- {{.Path}}{{with .Description}}: {{.}}{{end}}
{{end}}{{end}}{{else}}
## Command

{{.Command}}

## Input Files

{{range .Inputs}}- {{.Path}}{{with .Description}}: {{.}}{{end}}
{{else}}None
{{end}}{{end}}
## Output Expectations

{{range .Outputs}}- {{.Path}}{{with .Description}}: {{.}}{{end}}
{{else}}None
{{end}}
## Risk Assessment

- Risk level: {{.Risk.Level}}
- Justification: {{.Risk.Justification}}
- Data sensitivity: {{.Risk.DataSensitivity}}
- Network rationale: {{.Risk.NetworkRationale}}
`))

// Markdown writes the request. It checks nothing: the rules judge what it wrote.
func (d Draft) Markdown() (string, error) {
	var b strings.Builder
	if err := page.Execute(&b, d); err != nil {
		return "", err
	}
	return b.String(), nil
}

// Fence returns a fence of backticks that no line of text closes.
func Fence(text string) string {
	f := "```"
	for strings.Contains(text, f) {
		f += "`"
	}
	return f
}

// NewID is the id of a request that was drafted now. slug must be what Slug makes.
func NewID(now time.Time, slug string) string {
	return "TR-" + now.UTC().Format("20060102-150405Z") + "-" + slug
}

// MaxSlug is the longest slug.
const MaxSlug = 48

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

var slugOfID = regexp.MustCompile(`^TR-\d{8}-\d{6}Z-(.+?)(-\d+)?$`)

// SlugOf is the part of a request's id that names what it is about, or "".
func SlugOf(id string) string {
	if m := slugOfID.FindStringSubmatch(id); m != nil {
		return m[1]
	}
	return ""
}

// Slug makes a part of an id out of words. It may be empty.
func Slug(words string) string {
	s := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(words), "-"), "-")
	if len(s) > MaxSlug {
		s = s[:MaxSlug]
		if i := strings.LastIndexByte(s, '-'); i > MaxSlug/2 {
			s = s[:i]
		}
	}
	return strings.Trim(s, "-")
}
