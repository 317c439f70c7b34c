package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/threegate/tool-exec/toolruntime"
	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

func budget(calls int) toolruntime.Options {
	return toolruntime.Options{Budget: toolruntime.Budget{Calls: calls, Bytes: 1 << 20, Time: time.Hour}, Timeline: io.Discard,
		Stderr: io.Discard, Now: time.Now}
}

// connect makes a session of tools and a client of it.
func connect(t *testing.T, o toolruntime.Options, tools []contract.Tool, told func(*mcp.ProgressNotificationParams)) *mcp.ClientSession {
	t.Helper()
	var d door
	o.Emit = d.emit
	s := toolruntime.New(tools, o)
	ours, theirs := mcp.NewInMemoryTransports()
	server, err := d.server(s, append(slices.Clone(tools), toolruntime.EmitMetrics(s))).Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			told(r.Params)
		}})
	c, err := client.Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func fileTools(t *testing.T) []contract.Tool {
	t.Helper()
	w, err := workspace.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return toolruntime.Tools(w, nil, registry.Default())
}

func call(t *testing.T, c *mcp.ClientSession, name, args string) (result map[string]any, code string, text string) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	result, _ = r.StructuredContent.(map[string]any)
	if r.IsError {
		code, _ = result["code"].(string)
		if code == "" || result["message"] == "" {
			t.Errorf("%s %s: the failure is %v", name, args, result)
		}
	}
	return result, code, r.Content[0].(*mcp.TextContent).Text
}

func TestCalls(t *testing.T) {
	c := connect(t, budget(1000), fileTools(t), nil)
	if r, code, _ := call(t, c, "file_write", `{"path":"a","content":"x\n"}`); code != "" || r["written"] != true {
		t.Errorf("file_write: %s, %v", code, r)
	}
	r, code, text := call(t, c, "file_read", `{"path":"a"}`)
	if code != "" || r["content"] != "x\n" || !strings.Contains(text, `"content":"x\n"`) {
		t.Errorf("file_read: %s, %v, %s", code, r, text)
	}
	r, _, text = call(t, c, "file_read", `{"path":"../a"}`)
	if r["code"] != "E_POLICY" || r["rule"] != workspace.Rule || r["hint"] == nil || !strings.Contains(text, workspace.Rule) {
		t.Errorf("a path outside: %v, %s", r, text)
	}
	if r, _, _ := call(t, c, "shell_exec", `{"cmd":"ls"}`); r["rule"] != "sec.shell.allowlist" {
		t.Errorf("a command that is not allowed: %v", r)
	}
	if _, code, _ := call(t, c, "git_status", `{}`); code != "E_GIT" {
		t.Errorf("without a repository: %s", code)
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "none"}); err == nil {
		t.Error("a tool that does not exist was called")
	}
}

// TestArgumentsAreStrict has a client write arguments as others would let pass.
func TestArgumentsAreStrict(t *testing.T) {
	var d door
	s := toolruntime.New(fileTools(t), budget(100))
	d.server(s, nil)
	for _, args := range []string{`{"Path":"a"}`, `{"path":"a","x":1}`, `{"path":"a","path":"b"}`, `{"path":1}`, `{}`, `[]`,
		`null`, `"a"`, `{"path":"a"`, "{\"path\":\"\xff\"}", `{"path":"a"}{}`} {
		r, err := d.call(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "file_read",
			Arguments: json.RawMessage(args)}})
		if err != nil || !r.IsError || !strings.Contains(string(r.StructuredContent.(json.RawMessage)), "E_VALIDATION_FAIL") {
			t.Errorf("%s: %v, %+v", args, err, r)
		}
		if err := s.Err(); err != nil {
			t.Errorf("%s ends the session: %v", args, err)
		}
	}
}

func TestBudgetHolds(t *testing.T) {
	c := connect(t, budget(1), fileTools(t), nil)
	if _, code, _ := call(t, c, "fs_list", `{"glob":"**"}`); code != "" {
		t.Error(code)
	}
	if _, code, text := call(t, c, "fs_list", `{"glob":"**"}`); code != "E_POLICY" || !strings.Contains(text, "budget") {
		t.Errorf("%s, %s", code, text)
	}
}

type wait struct {
	Path string `json:"path,omitempty"`
}

type waited struct {
	Part string `json:"part"`
}

func (waited) WithError() bool { return true }

// A failure keeps the result that its tool keeps, and progress comes to who asked for it.
func TestProgressAndKeptResults(t *testing.T) {
	told := make(chan *mcp.ProgressNotificationParams, 2)
	c := connect(t, budget(9), []contract.Tool{contract.NewTool("half", "fails", time.Minute, wait{},
		func(context.Context, wait) (waited, error) {
			return waited{"so far"}, contract.Errorf(contract.Shell, "failed")
		})}, func(p *mcp.ProgressNotificationParams) { told <- p })
	p := &mcp.CallToolParams{Name: "half", Arguments: map[string]any{}}
	p.SetProgressToken("mine")
	r, err := c.CallTool(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(r.StructuredContent)
	if want := `{"code":"E_SHELL","data":{"part":"so far"},"message":"failed"}`; !r.IsError || string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, want := range []string{"half", "half E_SHELL"} {
		if p := <-told; p.ProgressToken != "mine" || p.Progress != 0 != (want == "half E_SHELL") || p.Message != want {
			t.Errorf("progress is %+v, want %s", p, want)
		}
	}
}

// record hands on each line of a timeline.
type record chan string

func (r record) Write(line []byte) (int, error) {
	r <- string(line)
	return len(line), nil
}

// TestCancel ends a call by its client: the tool is told so, and the record says so.
func TestCancel(t *testing.T) {
	started, ended := make(chan bool), make(chan bool)
	lines := make(record, 9)
	o := budget(9)
	o.Timeline = lines
	c := connect(t, o, []contract.Tool{
		contract.NewTool("wait", "waits", time.Hour, wait{}, func(ctx context.Context, _ wait) (waited, error) {
			close(started)
			<-ctx.Done()
			close(ended)
			return waited{}, ctx.Err()
		})}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "wait"})
		answered <- err
	}()
	<-started
	cancel()
	<-ended
	if err := <-answered; err == nil {
		t.Error("the cancelled call has a result")
	}
	if line := <-lines; !strings.Contains(line, `"code":"E_TIMEOUT"`) {
		t.Errorf("the record says %s", line)
	}
}

// Every contract can be told, and each hint is of a tool that exists.
func TestDescriptions(t *testing.T) {
	c := connect(t, budget(1), fileTools(t), nil)
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range list.Tools {
		names = append(names, l.Name)
		raw, err := json.Marshal(l)
		if err != nil || bytes.Contains(raw, []byte("$schema")) || l.Annotations == nil {
			t.Errorf("%s: %v, %s", l.Name, err, raw)
		}
		a := l.Annotations
		if want := l.Name == "fs_delete" || l.Name == "shell_exec"; want && (a.ReadOnlyHint || !*a.DestructiveHint) {
			t.Errorf("%s is told to be harmless", l.Name)
		}
		if l.Name == "file_read" && (!a.ReadOnlyHint || *a.DestructiveHint || *a.OpenWorldHint) {
			t.Errorf("file_read is told to be %+v", a)
		}
	}
	if len(list.Tools) != len(toolruntime.Contracts()) {
		t.Errorf("%d tools of %d", len(list.Tools), len(toolruntime.Contracts()))
	}
	for _, name := range slices.Concat(looks, adds, open) {
		if !slices.Contains(names, name) {
			t.Errorf("there is no tool %s", name)
		}
	}
}
