package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/draft"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

type draftIn struct {
	Backend     string         `json:"backend" jsonschema:"ERA runs one command in a language's image; monty runs a Python program in pydantic's Monty"`
	Purpose     string         `json:"purpose" jsonschema:"what the run is for, in one sentence"`
	RequestedBy string         `json:"requested_by,omitempty" jsonschema:"who asks (default: CORE)"`
	Slug        string         `json:"slug,omitempty" jsonschema:"last part of the id: a-z, 0-9 and hyphens (default: from the purpose)"`
	Language    string         `json:"language,omitempty" jsonschema:"a language of list_languages (default: python; with plan: tools)"`
	Command     string         `json:"command,omitempty" jsonschema:"ERA: one command line, run without a shell in /in, like: python sum.py /in/data.csv"`
	Plan        []callIn       `json:"plan,omitempty" jsonschema:"ERA: in place of command, calls of tools that change a repository, carried out in this order; schema plan tells which tools there are"`
	Code        string         `json:"code,omitempty" jsonschema:"monty: the program; the value of its last expression is delivered"`
	Variables   map[string]any `json:"variables,omitempty" jsonschema:"monty: each key is bound to a variable of that name"`
	Inputs      []inputIn      `json:"inputs,omitempty" jsonschema:"files that appear below /in; programs longer than a line belong here; tools work on repository.bundle or on the files below workspace/"`
	Outputs     []outputIn     `json:"outputs,omitempty" jsonschema:"files below /out that the run makes; others are not delivered"`
	CPU         string         `json:"cpu,omitempty" jsonschema:"cores, like 1 or 500m (default: 1)"`
	MemoryMB    int            `json:"memory_mb,omitempty" jsonschema:"default: 256"`
	TimeSec     int            `json:"time_sec,omitempty" jsonschema:"default: 60"`
	Network     string         `json:"network,omitempty" jsonschema:"none, or allowlist for the node's allowed hosts (default: none)"`
	Risk        riskIn         `json:"risk" jsonschema:"what the person who approves should weigh"`
}

type callIn struct {
	Tool string         `json:"tool" jsonschema:"like file_patch"`
	Args map[string]any `json:"args,omitempty" jsonschema:"as the schema of the tool says"`
}

type inputIn struct {
	Name        string  `json:"name" jsonschema:"the file's path below /in, like data.csv"`
	Text        *string `json:"text,omitempty" jsonschema:"its content; give text or base64"`
	Base64      *string `json:"base64,omitempty" jsonschema:"its content, if it is not text"`
	Description string  `json:"description,omitempty" jsonschema:"what it is, in a few words"`
}

type outputIn struct {
	Name        string `json:"name" jsonschema:"the file's path below /out, like sum.txt"`
	Description string `json:"description,omitempty" jsonschema:"what it is, in a few words"`
}

type riskIn struct {
	Level            string `json:"level" jsonschema:"low, medium or high"`
	Justification    string `json:"justification" jsonschema:"why that level, in a sentence"`
	DataSensitivity  string `json:"data_sensitivity" jsonschema:"public, internal or confidential"`
	NetworkRationale string `json:"network_rationale,omitempty" jsonschema:"why the network is needed; with network none leave it out"`
}

type draftOut struct {
	RequestID string `json:"request_id"`
	// File is empty if nothing was written.
	File     string            `json:"file" jsonschema:"the file that a person reads and approves; empty: nothing was written"`
	Inputs   []string          `json:"inputs" jsonschema:"the input files, as the program sees them"`
	Request  string            `json:"request" jsonschema:"the whole request"`
	Written  bool              `json:"written"`
	Approval bool              `json:"needs_approval" jsonschema:"it lacks nothing but a person's approval"`
	Findings []schemas.Finding `json:"findings" jsonschema:"what the rules found; those of the approval are a person's to satisfy"`
	Next     string            `json:"next" jsonschema:"what to do now"`
}

// draftSchema is what the types can't say.
func (d *desk) draftSchema(s *jsonschema.Schema) {
	enums(map[string][]any{"backend": {"ERA", "monty"}, "network": {"none", "allowlist"}})(s)
	enums(map[string][]any{"level": {"low", "medium", "high"},
		"data_sensitivity": {"public", "internal", "confidential"}})(s.Properties["risk"])
}

const (
	nextApprove = "A person reads the file and decides: threegate approve, then threegate promote. " +
		"Look with request_status later."
	nextMend = "Nothing was written. Mend what the findings say, and call draft_request again."
)

func (d *desk) draftRequest(ctx context.Context, raw []byte, in draftIn) (*mcp.CallToolResult, draftOut,
	error) {
	out := draftOut{Findings: []schemas.Finding{}, Inputs: []string{}, Next: nextMend}
	if !d.drafts.Allow() {
		return nil, out, errTooDraft
	}
	if err := in.check(); err != nil {
		return nil, out, err
	}
	policy := d.policy()
	limits := bundle.Limits{Files: policy.MaxInputs, Bytes: policy.MaxInputBytes}
	if err := in.plan(raw, policy.Now); err != nil {
		return nil, out, err
	}
	files, err := in.files(ctx, limits)
	if err != nil {
		return nil, out, err
	}
	q, err := in.draft(raw, files)
	if err != nil {
		return nil, out, err
	}
	d.writing.Lock() // no two drafts find the same id free
	defer d.writing.Unlock()
	q.Created = policy.Now
	if q.ID, err = d.freeID(draft.NewID(q.Created, in.Slug)); err != nil {
		return nil, out, err
	}
	if out.Request, err = q.Markdown(); err != nil {
		return nil, out, err
	}
	verdict, err := d.judge(ctx, schemas.KindRequest, []byte(out.Request), bundle.Files{Context: ctx, List: files})
	if err != nil {
		return nil, out, unwritable(err)
	}
	out.RequestID, out.Findings, out.Approval = q.ID, verdict.Findings, verdict.Approval
	for _, f := range q.Inputs {
		out.Inputs = append(out.Inputs, f.Path())
	}
	if !out.Approval {
		return nil, out, nil
	}
	if err := d.write(ctx, q.ID, out.Request, files, limits); err != nil {
		return nil, out, unwritable(err)
	}
	out.File, out.Written, out.Next = q.ID+".md", true, nextApprove
	return nil, out, nil
}

// unwritable says what kept a draft from being written, without a path of the host's.
func unwritable(err error) error {
	if errors.Is(err, bundle.ErrTooMuch) {
		return errors.New("the inputs are more or larger than the node takes")
	}
	return errors.New("the draft could not be written: a person has to look at the folder of drafts")
}

// check refuses what the form of a request can't hold.
func (in *draftIn) check() error {
	lines := map[string]string{"purpose": in.Purpose, "command": in.Command, "language": in.Language, "cpu": in.CPU,
		"requested_by": in.RequestedBy, "risk.justification": in.Risk.Justification,
		"risk.network_rationale": in.Risk.NetworkRationale}
	for _, f := range in.Inputs {
		lines["inputs.description of "+f.Name] = f.Description
	}
	for _, f := range in.Outputs {
		lines["outputs.name "+f.Name] = f.Name
		lines["outputs.description of "+f.Name] = f.Description
	}
	for name, text := range lines {
		if strings.ContainsAny(text, "\n\r\u0085\u2028\u2029") {
			return fmt.Errorf("%q must be one line", name)
		}
	}
	monty := in.Backend == string(schemas.BackendMonty)
	switch {
	case strings.TrimSpace(in.Purpose) == "":
		return errors.New("say what the run is for: purpose is empty")
	case monty && (in.Command != "" || len(in.Plan) > 0):
		return errors.New("command and plan belong to ERA; monty takes code, variables and inputs")
	case monty && strings.TrimSpace(in.Code) == "":
		return errors.New("monty needs code")
	case !monty && (in.Code != "" || len(in.Variables) > 0):
		return errors.New("code and variables belong to monty; ERA takes command and inputs")
	case in.Command != "" && len(in.Plan) > 0:
		return errors.New("give command or plan: the command of a plan is " + draft.PlanCommand)
	case !monty && strings.TrimSpace(in.Command) == "" && len(in.Plan) == 0:
		return errors.New("ERA needs command, or plan")
	case in.Slug != draft.Slug(in.Slug):
		return fmt.Errorf("slug: use a-z, 0-9 and hyphens, at most %d", draft.MaxSlug)
	}
	in.Slug = cmp.Or(in.Slug, draft.Slug(in.Purpose), draft.Slug(in.Backend))
	return nil
}

// plan makes the calls an input, and the command the one that carries them out.
func (in *draftIn) plan(raw []byte, now time.Time) error {
	if len(in.Plan) == 0 {
		return nil
	}
	// The bytes that came, as with variables.
	var exact struct {
		Plan []struct {
			Tool string         `json:"tool"`
			Args jsontext.Value `json:"args,omitempty"`
		} `json:"plan"`
	}
	if err := schemas.DecodeOpen(raw, &exact); err != nil {
		return err
	}
	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	e.SetEscapeHTML(false) // a person reads it
	for _, call := range exact.Plan {
		if err := e.Encode(call); err != nil {
			return err
		}
	}
	rules, err := in.rules()
	if err != nil {
		return err
	}
	whole, err := draft.Plan("plan", lines.Bytes(), rules, now)
	if err != nil {
		return fmt.Errorf("the plan can't be carried out; schema plan tells which arguments its tools have:\n%w", err)
	}
	text := string(whole)
	in.Inputs = append(in.Inputs, inputIn{Name: draft.PlanFile, Text: &text})
	in.Command, in.Language = draft.PlanCommand, cmp.Or(in.Language, draft.ToolsLanguage)
	return nil
}

// rules are those of a registry among the inputs, or nil.
func (in *draftIn) rules() (*registry.Registry, error) {
	text := func(name string) *string {
		for _, f := range in.Inputs {
			if f.Name == name {
				return f.Text
			}
		}
		return nil
	}
	raw, pack := text(draft.RegistryFile), text(registry.PackFile)
	if raw == nil {
		return nil, nil
	}
	rules, err := registry.Parse([]byte(*raw))
	if err == nil && pack != nil {
		err = rules.Raise([]byte(*pack))
	}
	return rules, err
}

// tools says whether threegate-tools makes the changes.
func (in *draftIn) tools() bool {
	if in.Backend == string(schemas.BackendMonty) {
		return in.Language != "" && !schemas.PlainMonty(in.Language)
	}
	return len(in.Plan) > 0
}

// files are the inputs, hashed.
func (in *draftIn) files(ctx context.Context, l bundle.Limits) ([]bundle.File, error) {
	if len(in.Inputs) > l.Files {
		return nil, fmt.Errorf("at most %d inputs", l.Files)
	}
	var files []bundle.File
	for _, f := range in.Inputs {
		rel, ok := bundle.InFolder(bundle.InDir + strings.TrimPrefix(f.Name, bundle.InDir))
		if !ok {
			return nil, fmt.Errorf("%q is not a path below /in", f.Name)
		}
		if slices.ContainsFunc(files, func(g bundle.File) bool { return g.Rel == rel }) {
			return nil, fmt.Errorf("%q is given twice", f.Name)
		}
		var data []byte
		switch {
		case f.Text != nil && f.Base64 == nil:
			data = []byte(*f.Text)
		case f.Text == nil && f.Base64 != nil:
			var err error
			if data, err = base64.StdEncoding.Strict().DecodeString(*f.Base64); err != nil {
				return nil, fmt.Errorf("the content of %q is not base64", f.Name)
			}
		default:
			return nil, fmt.Errorf("give text or base64 of %q", f.Name)
		}
		files = append(files, bundle.File{Rel: rel, Data: data})
	}
	if err := bundle.Hash(ctx, files, l); err != nil {
		return nil, unwritable(err)
	}
	return files, nil
}

// draft is the request without its id and time.
func (in *draftIn) draft(raw []byte, files []bundle.File) (draft.Draft, error) {
	q := draft.Draft{RequestedBy: cmp.Or(in.RequestedBy, "CORE"), Purpose: in.Purpose,
		Backend: schemas.Backend(in.Backend), Language: cmp.Or(in.Language, "python"),
		Network: schemas.Network(cmp.Or(in.Network, string(schemas.NetworkNone))), CPU: cmp.Or(in.CPU, draft.CPU),
		MemoryMB: cmp.Or(in.MemoryMB, draft.MemoryMB), TimeSec: cmp.Or(in.TimeSec, draft.TimeSec),
		Command: in.Command, Code: strings.TrimRight(in.Code, "\n"),
		Risk: schemas.Risk{Level: in.Risk.Level, Justification: in.Risk.Justification,
			DataSensitivity: in.Risk.DataSensitivity, NetworkRationale: cmp.Or(in.Risk.NetworkRationale, "none")}}
	for i, f := range files {
		q.Inputs = append(q.Inputs, draft.Input{File: f, Description: in.Inputs[i].Description})
	}
	for _, o := range in.Outputs {
		q.Outputs = append(q.Outputs, schemas.OutputExpectation{Path: "/out/" + strings.TrimPrefix(o.Name, "/out/"),
			Description: o.Description})
	}
	if in.tools() {
		q.WithTools()
	}
	if len(in.Variables) == 0 {
		return q, nil
	}
	// The bytes that came: a number that went through a float might be another one.
	var exact struct {
		Variables jsontext.Value `json:"variables"`
	}
	var b bytes.Buffer
	if err := errors.Join(schemas.DecodeOpen(raw, &exact), json.Indent(&b, exact.Variables, "", "  ")); err != nil {
		return q, err
	}
	q.Variables = b.String()
	return q, nil
}
