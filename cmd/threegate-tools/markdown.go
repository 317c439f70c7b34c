package main

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/threegate/tool-exec/toolruntime"
	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

//go:embed tools.md
var introduction string

// markdown writes docs/tools.md.
func markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(introduction)
	b.WriteString("\n## Error codes\n\n| Code | Cause | What to do |\n|---|---|---|\n")
	for _, c := range contract.Codes {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Code, c.Cause, c.Hint)
	}
	b.WriteString("\n## Rules\n\nRules named sec.* always hold; others where the registry lists them.\n\n" +
		"| Rule | Specified level | Looked at by | What it demands |\n|---|---|---|---|\n")
	for _, r := range registry.Rules {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, r.Level, r.When, r.What)
	}
	b.WriteString("\n## The tools\n")
	for _, t := range toolruntime.Contracts() {
		fmt.Fprintf(&b, "\n### %s\n\nIt %s. A call takes %s at most, if its arguments say nothing else.\n\n",
			t.Name, t.Purpose, t.Timeout)
		table(&b, "Argument", t.Args.Doc)
		b.WriteByte('\n')
		table(&b, "Result", t.Result.Doc)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func table(b *strings.Builder, kind string, s *jsonschema.Schema) {
	if len(s.Properties) == 0 {
		fmt.Fprintf(b, "%s: none.\n", kind)
		return
	}
	fmt.Fprintf(b, "| %s | Type | Default | Notes |\n|---|---|---|---|\n", kind)
	for _, name := range s.PropertyOrder {
		p := s.Properties[name]
		def := ""
		switch {
		case p.Default != nil:
			def = "`" + string(p.Default) + "`"
		case kind == "Argument" && slices.Contains(s.Required, name):
			def = "required"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, typeOf(p), def, notes(p))
	}
}

func typeOf(s *jsonschema.Schema) string {
	names := s.Types
	if s.Type != "" {
		names = []string{s.Type}
	}
	out := strings.Join(names, " or ")
	if s.Items == nil {
		return out
	}
	inner := typeOf(s.Items)
	if len(s.Items.PropertyOrder) > 0 {
		inner = "{" + strings.Join(s.Items.PropertyOrder, ", ") + "}"
	}
	return strings.ReplaceAll(out, "null or ", "") + " of " + inner
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func notes(s *jsonschema.Schema) string {
	var out []string
	if s.Description != "" {
		out = append(out, s.Description)
	}
	if s.Minimum != nil && s.Maximum != nil {
		out = append(out, number(*s.Minimum)+" to "+number(*s.Maximum))
	}
	if len(s.Enum) > 0 {
		out = append(out, strings.Trim(fmt.Sprint(s.Enum), "[]"))
	}
	return strings.ReplaceAll(strings.Join(out, "; "), "|", `\|`)
}
