package mcp

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// toolCall is a call of a tool of threegate-tools, and what must come of it: a part of its structured content.
type toolCall struct {
	name string
	args map[string]any
	want string
}

var toolCalls = []toolCall{
	{"file_write", map[string]any{"path": "src/a.txt", "content": "one $& two\n", "create_dirs": true}, `"written":true`},
	{"file_read", map[string]any{"path": "src/a.txt"}, `"content":"one $& two\n"`},
	{"grep", map[string]any{"pattern": "TWO", "glob": "src/**"}, `"file":"src/a.txt","line":1`},
	{"shell_exec", map[string]any{"cmd": "sleep 0", "must_succeed": true}, `"code":0`},
	{"file_read", map[string]any{"path": "../../etc/passwd"}, `"code":"E_POLICY","rule":"sec.paths.sandbox"`},
	{"shell_exec", map[string]any{"cmd": "sh -c id"}, `"code":"E_POLICY","rule":"sec.shell.allowlist"`},
	{"shell_exec", map[string]any{"cmd": "sleep x", "must_succeed": true}, `"code":"E_SHELL"`},
	{"file_read", map[string]any{"path": "src/a.txt", "Path": "b"}, `"code":"E_VALIDATION_FAIL"`},
}

// serving is the command line of a server of tools, for a new workspace.
func (d desk) serving(t *testing.T) []string {
	t.Helper()
	registry := filepath.Join(d.dir, "registry.yaml")
	write(t, registry, []byte("version: 1\nshell_allow: ['^sleep ']\n"))
	return []string{d.tools, "serve", "--mcp", "--workspace", t.TempDir(),
		"--registry", registry, "--timeline", filepath.Join(t.TempDir(), "timeline.jsonl")}
}

func newBox(t *testing.T) desk {
	t.Helper()
	d := clients(t)
	return d
}

// check compares structured content with what a call must give.
func (c toolCall) check(t *testing.T, failed bool, content json.RawMessage) {
	t.Helper()
	var compact bytes.Buffer
	if err := json.Compact(&compact, content); err != nil || !strings.Contains(compact.String(), c.want) ||
		failed != strings.Contains(c.want, "E_") {
		t.Errorf("%s %v: failed %v, %s; want %s", c.name, c.args, failed, content, c.want)
	}
}

// The client of the TypeScript SDK lists the tools with schemas that it can use, calls them, and cancels
// one whose progress it hears of.
func TestToolsTypeScriptSDK(t *testing.T) {
	d := newBox(t)
	script, err := filepath.Abs("tools.mjs")
	if err != nil {
		t.Fatal(err)
	}
	var in [][]any
	for _, c := range toolCalls {
		in = append(in, []any{c.name, c.args})
	}
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	serving := d.serving(t)
	cmd := d.client(t, script, serving...)
	cmd.Stdin = bytes.NewReader(raw)
	var got struct {
		Tools []struct {
			Name                          string
			ReadOnlyHint, DestructiveHint bool
		}
		Answers []struct {
			Error   bool
			Content json.RawMessage
		}
		Cancelled string
	}
	if err := json.Unmarshal(d.must(t, cmd), &got); err != nil {
		t.Fatal(err)
	}
	for i, c := range toolCalls {
		c.check(t, got.Answers[i].Error, got.Answers[i].Content)
	}
	hints := map[string][2]bool{}
	for _, tool := range got.Tools {
		hints[tool.Name] = [2]bool{tool.ReadOnlyHint, tool.DestructiveHint}
	}
	list := d.must(t, exec.Command(serving[0], "schema"))
	for line := range strings.Lines(string(list)) {
		if name := strings.Fields(line + " -")[0]; strings.HasPrefix(name, "Envelopes") {
			break
		} else if _, ok := hints[name]; strings.HasPrefix(line, "  ") && !ok {
			t.Errorf("%s is not listed", name)
		}
	}
	if hints["file_read"] != [2]bool{true, false} || hints["fs_delete"] != [2]bool{false, true} {
		t.Errorf("hints are %v", hints)
	}
	if got.Cancelled != "cancelled" {
		t.Errorf("the call that was given up was %s", got.Cancelled)
	}
	timeline, err := os.ReadFile(serving[len(serving)-1])
	if err != nil || bytes.Count(timeline, []byte("\n")) != len(toolCalls)+1 || !bytes.Contains(timeline, []byte("E_TIMEOUT")) {
		t.Errorf("the timeline: %v\n%s", err, timeline)
	}
}

// The command line of the MCP Inspector lists and calls the tools. Each of its calls is a session.
func TestToolsInspector(t *testing.T) {
	d := newBox(t)
	inspector := filepath.Join(d.modules, "@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	serving := d.serving(t)
	serving = serving[:len(serving)-2] // no timeline: its file would be there already
	ask := func(into any, args ...string) {
		t.Helper()
		args = append(append([]string{"--cli", "--format", "json", "-q"}, args...), "--")
		cmd := d.client(t, inspector, append(args, serving...)...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run() // a call that failed is a failure of the program, too
		var answer struct{ Result json.RawMessage }
		if e := json.Unmarshal(out.Bytes(), &answer); e != nil {
			t.Fatalf("%v, %v: %s\n%s", err, e, out.Bytes(), errs.Bytes())
		}
		if e := json.Unmarshal(answer.Result, into); e != nil {
			t.Fatalf("%v: %s", e, answer.Result)
		}
	}
	var list struct {
		Tools []struct {
			Name                      string
			InputSchema, OutputSchema struct{ Type string }
		}
	}
	ask(&list, "--method", "tools/list")
	if len(list.Tools) < 20 {
		t.Errorf("only %d tools are listed", len(list.Tools))
	}
	for _, tool := range list.Tools {
		if tool.InputSchema.Type != "object" || tool.OutputSchema.Type != "object" {
			t.Errorf("%s has no schemas", tool.Name)
		}
	}
	for _, c := range toolCalls {
		in, err := json.Marshal(c.args)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			IsError           bool
			StructuredContent json.RawMessage
		}
		ask(&got, "--method", "tools/call", "--tool-name", c.name, "--tool-args-json", string(in))
		c.check(t, got.IsError, got.StructuredContent)
	}
}
