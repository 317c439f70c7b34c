package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	exact "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/threegate/tool-exec/toolruntime"
	"github.com/threegate/tool-exec/toolruntime/contract"
)

const instructions = `These tools work on one folder, the workspace; paths are relative to it.
A registry says which commands and hosts are allowed, and no call changes it.
A call that fails has a code, a message, often a hint and the rule that was broken: read them before you call again.`

// failure is the structured content of a call that failed. Data is the result that a few tools have in spite of it.
type failure struct {
	contract.Error
	Data jsontext.Value `json:"data,omitzero"`
}

var failureSchema = contract.NewSchema[failure]("failure", nil, contract.ErrorCodes, func(s *jsonschema.Schema) {
	s.Required = []string{"code", "message"}
})

// door leads clients of the Model Context Protocol to one session: each call is a ToolRequest of it, held to the same
// registry, budgets and record, and each event is progress. All clients are one to the session. They are hostile:
// arguments reach a tool as the client wrote them, and are judged by its contract there.
type door struct {
	session *toolruntime.Session
	mu      sync.Mutex
	calls   int
	// listening has the calls whose client asked for progress, by request id.
	listening map[string]func(contract.Progress)
}

// emit tells clients of an event. The session has it as its Options.Emit.
func (d *door) emit(e contract.EventMessage) {
	d.mu.Lock()
	tell := d.listening[e.RequestID]
	d.mu.Unlock()
	if tell != nil {
		tell(e.Progress)
	}
}

// server serves the session's tools, of which contracts are the schemas.
func (d *door) server(s *toolruntime.Session, contracts []contract.Tool) *mcp.Server {
	d.session, d.listening = s, map[string]func(contract.Progress){}
	who := &mcp.Implementation{Name: "threegate-tools", Title: "Tools under contracts", Version: toolruntime.Version}
	server := mcp.NewServer(who, &mcp.ServerOptions{Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	for _, t := range contracts {
		server.AddTool(describe(t), d.call)
	}
	return server
}

var (
	// looks are tools that change nothing, though a session lets them run alone.
	looks = []string{"git_diff", "git_status", "validate"}
	// adds are tools that change something, and lose nothing that was there.
	adds = []string{"git_add", "git_commit", "git_push"}
	// open are tools that can reach hosts outside.
	open = []string{"curl", "git_pull", "shell_exec"}
)

// describe is what a client is told of a tool.
func describe(t contract.Tool) *mcp.Tool {
	reads := t.ReadOnly || slices.Contains(looks, t.Name)
	destroys := !reads && !slices.Contains(adds, t.Name)
	reaches := slices.Contains(open, t.Name)
	return &mcp.Tool{Name: t.Name,
		Description: fmt.Sprintf("%s%s. A call takes %s at most, if its arguments say nothing else.",
			strings.ToUpper(t.Purpose[:1]), t.Purpose[1:], t.Timeout),
		InputSchema: plain(t.Args),
		// Clients compare failures with it, too.
		OutputSchema: &jsonschema.Schema{Type: "object",
			AnyOf: []*jsonschema.Schema{plain(t.Result), plain(failureSchema)}},
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: reads, DestructiveHint: &destroys, OpenWorldHint: &reaches},
	}
}

// plain is a schema without its dialect: it is the protocol's own, and clients know no other by its name.
func plain(s *contract.Schema) *jsonschema.Schema {
	doc := *s.Doc
	doc.Schema, doc.Comment = "", ""
	return &doc
}

// call makes one call a request of the session.
func (d *door) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args := jsontext.Value(req.Params.Arguments)
	if len(args) == 0 {
		args = jsontext.Value("{}")
	}
	if !args.IsValid() || args.Kind() != '{' {
		e := contract.Errorf(contract.Validation, "the arguments are no JSON object, or give a key twice")
		return refused(*e, nil)
	}
	id, done := d.begin(ctx, req)
	defer done()
	resp := d.session.Do(ctx, &contract.ToolRequest{Type: "ToolRequest", Tool: req.Params.Name, Args: args,
		RequestID: id, SessionID: "mcp", Timestamp: time.Now().Unix()})
	if !resp.OK {
		return refused(resp.Errors[0], resp.Data)
	}
	return &mcp.CallToolResult{StructuredContent: json.RawMessage(resp.Data),
		Content: []mcp.Content{&mcp.TextContent{Text: string(resp.Data)}}}, nil
}

// begin gives a call its id, and lets its client hear of it until it is done.
func (d *door) begin(ctx context.Context, req *mcp.CallToolRequest) (id string, done func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	id = fmt.Sprint("mcp-", d.calls)
	if token := req.Params.GetProgressToken(); token != nil {
		d.listening[id] = func(p contract.Progress) {
			// A client that is gone hears nothing: the call goes on.
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token,
				Message: p.Message, Progress: float64(p.Pct), Total: 100})
		}
	}
	return id, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.listening, id)
	}
}

// refused is the answer to a call that failed, for programs and for models.
func refused(e contract.Error, data jsontext.Value) (*mcp.CallToolResult, error) {
	raw, err := exact.Marshal(failure{e, data}, jsontext.AllowInvalidUTF8(true), exact.Deterministic(true))
	if err != nil {
		return nil, err
	}
	text := e.Error()
	for _, more := range []struct{ name, text string }{{"rule", e.Rule}, {"hint", e.Hint}, {"result", string(data)}} {
		if more.text != "" {
			text += "\n" + more.name + ": " + more.text
		}
	}
	return &mcp.CallToolResult{IsError: true, StructuredContent: json.RawMessage(raw),
		Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
}
