package draft

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/toolruntime"
	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

// What a request of threegate-tools needs.
const (
	// ToolsLanguage is the language whose image has the tools, unless a node calls it otherwise.
	ToolsLanguage = "tools"
	PlanCommand   = "threegate-tools run /in/" + PlanFile
	// MaxPlan bounds a plan, in bytes.
	MaxPlan = 64 << 20

	PlanFile     = "plan.jsonl"
	BundleFile   = "repository.bundle"
	WorkspaceDir = "workspace"
	RegistryFile = "registry.yaml"
)

const (
	// planSession is the session_id of calls that name none.
	planSession = "plan"
	// maxToldLines bounds the lines that are told to be wrong.
	maxToldLines = 20
)

// about says what the files are that threegate-tools finds by their names.
var about = map[string]string{
	PlanFile:     "the calls of tools, one a line",
	BundleFile:   "the repository, as git bundle wrote it",
	WorkspaceDir: "the files that the tools work on",
	RegistryFile: "what the tools may do, and the rules of the patch",

	registry.PackFile: "more rules of the patch",
}

// WithTools describes the input files of a run of tools, and declares the outputs that such a run makes.
func (d *Draft) WithTools() {
	for i, in := range d.Inputs {
		d.Inputs[i].Description = cmp.Or(in.Description, about[in.Rel])
	}
	if len(d.Outputs) == 0 {
		d.Outputs = []schemas.OutputExpectation{
			{Path: "/out/changes.patch", Description: "what was changed, for git apply"},
			{Path: "/out/responses.jsonl", Description: "what came of each call"}}
	}
}

// Plan is raw as threegate-tools takes it. A line that names no more than tool and args gets what its envelope
// lacks; one that is whole stays as it is, to the byte. Each line is held to the contract of its tool, and to rules,
// the registry of the run, if that is known. The error names the lines that are wrong, as NAME:LINE.
func Plan(name string, raw []byte, rules *registry.Registry, now time.Time) ([]byte, error) {
	s := toolruntime.New(toolruntime.Tools(nil, nil, cmp.Or(rules, registry.Default())), toolruntime.Options{
		Now:    func() time.Time { return now },
		Stderr: io.Discard})
	var out bytes.Buffer
	var bad []error
	session, seen, line := "", map[string]int{}, 0
	for text := range bytes.Lines(raw) {
		line++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		whole, r, err := planLine(bytes.TrimRight(text, "\r\n"), line, session, now)
		if err == nil {
			err = s.Foresee(r, rules != nil)
		}
		switch {
		case err != nil:
		case seen[r.RequestID] > 0:
			err = fmt.Errorf("the request_id %q stands in line %d already", r.RequestID, seen[r.RequestID])
		case session != "" && r.SessionID != session:
			err = fmt.Errorf("a plan has one session_id")
		}
		if err != nil && len(bad) == maxToldLines {
			return nil, errors.Join(append(bad, errors.New("and there is more"))...)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("%s:%d: %s", name, line, withHint(err)))
			continue
		}
		session, seen[r.RequestID] = r.SessionID, line
		out.Write(append(whole, '\n'))
	}
	switch {
	case len(bad) > 0:
		return nil, errors.Join(bad...)
	case len(seen) == 0:
		return nil, fmt.Errorf("%s: the plan is empty", name)
	case len(seen) > contract.MaxCalls:
		return nil, fmt.Errorf("%s: a plan has %d calls at most, this one %d", name, contract.MaxCalls, len(seen))
	}
	return out.Bytes(), nil
}

// planLine is a line as a whole ToolRequest.
func planLine(text []byte, line int, session string, now time.Time) ([]byte, *contract.ToolRequest, error) {
	var r contract.ToolRequest
	if err := schemas.DecodeStrict(text, &r); err != nil {
		return nil, nil, fmt.Errorf("it is not a call: %w", err)
	}
	given := r
	fill := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	fill(&r.Type, "ToolRequest")
	fill(&r.RequestID, strconv.Itoa(line))
	fill(&r.SessionID, session)
	fill(&r.SessionID, planSession)
	r.Timestamp = cmp.Or(r.Timestamp, now.Unix())
	if len(r.Args) == 0 {
		r.Args = []byte("{}")
	}
	if given.Type != r.Type || given.RequestID != r.RequestID || given.SessionID != r.SessionID ||
		given.Timestamp != r.Timestamp || len(given.Args) == 0 {
		var err error
		if text, err = contract.Encode(r); err != nil {
			return nil, nil, err
		}
	}
	v, err := contract.Decode(text)
	if err != nil {
		return nil, nil, err
	}
	whole, ok := v.(*contract.ToolRequest)
	if !ok {
		return nil, nil, errors.New("a plan holds ToolRequests only")
	}
	return bytes.TrimRight(text, "\n"), whole, nil
}

// withHint is what an error says, with how to mend it.
func withHint(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*contract.Error](err); ok {
		text = e.Message
		if e.Hint != "" {
			text += " (" + e.Hint + ")"
		}
	}
	return strings.ReplaceAll(text, "\n", " ")
}

const planDoc = `# A plan of tools

A plan is a list of calls: {"tool": NAME, "args": {...}}. They are carried out in this order, in a sandbox, and the
plan ends at the first that fails. draft_request makes it the input plan.jsonl, which a person reads and approves.

The tools work on the git bundle repository.bundle among the inputs, or on the files below workspace/ there; without
them on an empty folder. registry.yaml among the inputs says which commands and hosts they may use, and which rules
the change is held to; a profile of the node's brings its own. What comes out is changes.patch, for git apply, and
responses.jsonl.

The JSON Schema has the arguments of each tool:

`

// PlanDoc describes plans to programs that draft one.
func PlanDoc() []byte {
	var b bytes.Buffer
	b.WriteString(planDoc)
	for _, t := range toolruntime.Contracts() {
		fmt.Fprintf(&b, "- %s: %s\n", t.Name, t.Purpose)
	}
	return b.Bytes()
}

// PlanJSONSchema is the JSON Schema of the calls of a plan.
func PlanJSONSchema() []byte {
	var calls []any
	for _, t := range toolruntime.Contracts() {
		args := *t.Args.Doc
		args.Schema, args.Comment = "", ""
		name := map[string]any{"const": t.Name, "description": t.Purpose}
		calls = append(calls, map[string]any{"type": "object", "additionalProperties": false,
			"required": []string{"tool"}, "properties": map[string]any{"tool": name, "args": &args}})
	}
	raw, err := json.Marshal(map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "plan",
		"type": "array", "minItems": 1, "items": map[string]any{"oneOf": calls}}, json.Deterministic(true))
	if err != nil {
		panic(err) // plain values
	}
	return raw
}
