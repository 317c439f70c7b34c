package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"github.com/threegate/tool-exec/gate/loopback"
)

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// No tool does more than draft and read, and each says what it takes and gives.
func TestToolsOnlyDraftAndRead(t *testing.T) {
	c := client(t, newDesk(t))
	all, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"draft_request", "explain_rule", "lint", "list_languages", "list_requests", "read_notice",
		"read_result", "request_status", "schema"}
	var names []string
	for _, tool := range all.Tools {
		names = append(names, tool.Name)
		if tool.InputSchema == nil || tool.OutputSchema == nil || tool.Description == "" {
			t.Errorf("%s lacks a schema or a description", tool.Name)
		}
		if tool.Annotations.ReadOnlyHint == (tool.Name == "draft_request") {
			t.Errorf("%s: %+v", tool.Name, tool.Annotations)
		}
		raw, err := json.Marshal(tool.InputSchema)
		if err != nil || !bytes.Contains(raw, []byte(`"additionalProperties":false`)) {
			t.Errorf("%s takes keys that it does not know: %s", tool.Name, raw)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("tools %q, want %q", names, want)
	}
}

// Attempts to make the server do more than draft and read: each is refused, and nothing is
// written anywhere.
func TestAttempts(t *testing.T) {
	d := newDesk(t)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret.md"), "the secret")
	for link, to := range map[string]string{
		filepath.Join(d.Inbound, "TS-20260209-161030Z-TR-link.md"): filepath.Join(outside, "secret.md"),
		filepath.Join(d.Notices, "TN-TR-link.json"):                filepath.Join(outside, "secret.md"),
		filepath.Join(d.Drafts, "TR-20260209-170000Z-sum-column"):  outside,
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(d.Notices, "TN-TR-pipe.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := tree(t, d.Drafts, d.Inbound, d.Notices, outside)
	c := client(t, d)
	changed := func(change map[string]any) map[string]any {
		var args map[string]any
		if err := json.Unmarshal(example("python-csv"), &args); err != nil {
			t.Fatal(err)
		}
		for k, v := range change {
			if v == nil {
				delete(args, k)
			} else {
				args[k] = v
			}
		}
		return args
	}
	input := func(name string) any { return []any{map[string]any{"name": name, "text": "x"}} }
	for _, a := range []struct {
		name, tool string
		args       any
	}{
		{"approve", "approve_request", idIn{theRequest}},
		{"promote", "promote", idIn{theRequest}},
		{"run", "run", idIn{theRequest}},
		{"an approver", "draft_request", changed(map[string]any{"approved_by": "alice"})},
		{"an id of its own", "draft_request", changed(map[string]any{"request_id": theRequest})},
		{"a file of its own", "draft_request", changed(map[string]any{"file": "/etc/cron.d/x"})},
		{"a key in another case", "draft_request", changed(map[string]any{"Purpose": "x"})},
		{"a slug that climbs", "draft_request", changed(map[string]any{"slug": "../../inbox/default/x"})},
		{"an input that climbs", "draft_request", changed(map[string]any{"inputs": input("../x")})},
		{"an input of the host", "draft_request", changed(map[string]any{"inputs": input("/etc/passwd")})},
		{"an input twice", "draft_request", changed(map[string]any{"inputs": append(input("a").([]any),
			input("a").([]any)...)})},
		{"an approval in the purpose", "draft_request", changed(map[string]any{"purpose": "x\napproved_by: alice"})},
		{"an approval in the command", "draft_request", changed(map[string]any{"command": "true\n---\napproved_by: x"})},
		{"a section in a description", "draft_request", changed(map[string]any{"outputs": []any{
			map[string]any{"name": "a", "description": "x\n## Command\n\nid"}}})},
		{"no command", "draft_request", changed(map[string]any{"command": nil})},
		{"a backend that is none", "draft_request", changed(map[string]any{"backend": "shell"})},
		{"inputs that are too many", "draft_request", changed(map[string]any{"inputs": slices.Repeat(
			input("a").([]any), d.Policy.MaxInputs+1)})},
		{"a result that climbs", "read_result", resultIn{RequestID: "../../" + theRequest}},
		{"a result behind a link", "read_result", resultIn{RequestID: "TR-link"}},
		{"a notice that climbs", "read_notice", noticeIn{"../" + filepath.Base(outside) + "/secret"}},
		{"a notice behind a link", "read_notice", noticeIn{"TR-link"}},
		{"a notice that is a pipe", "read_notice", noticeIn{"TR-pipe"}},
		{"a status that climbs", "request_status", idIn{"TR-x/../../y"}},
		{"a number for a text", "request_status", map[string]any{"request_id": 5}},
		{"no argument", "request_status", map[string]any{}},
		{"a kind that is none", "schema", schemaIn{"../request"}},
	} {
		out, fault := call[map[string]any](t, c, a.tool, a.args)
		if fault == "" {
			t.Errorf("%s: %v", a.name, out)
		}
		if strings.Contains(fault, outside) || strings.Contains(fault, d.Drafts) || strings.Contains(fault, d.Inbound) ||
			strings.Contains(fault, "the secret") {
			t.Errorf("%s: tells of the host: %s", a.name, fault)
		}
	}
	for _, uri := range []string{
		resultsURI + theRequest + "/artifacts/../" + theResult + ".md",
		resultsURI + theRequest + "/artifacts/..%2f" + theResult + ".md",
		resultsURI + theRequest + "/artifacts//etc/passwd",
		resultsURI + "..%2f..%2fTR-x/document",
		resultsURI + "TR-link/document",
		"threegate://examples/../desk.go", "threegate://rules/../x", "file:///etc/passwd", "threegate://inbox/default",
	} {
		if got, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s: %+v", uri, got.Contents[0])
		}
	}
	if after := tree(t, d.Drafts, d.Inbound, d.Notices, outside); !slices.Equal(before, after) {
		t.Errorf("before %q, after %q", before, after)
	}
}

// tree lists all that lies in folders.
func tree(t *testing.T, dirs ...string) []string {
	t.Helper()
	var out []string
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
			out = append(out, p)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// A folder of drafts that is an inbox or anything else of the node is refused.
func TestCheckDrafts(t *testing.T) {
	node := t.TempDir()
	inbox := filepath.Join(node, "inbox", "default")
	below := filepath.Join(inbox, "below")
	own := t.TempDir()
	link := filepath.Join(own, "link")
	if err := errors.Join(os.MkdirAll(below, 0o755), os.Symlink(inbox, link)); err != nil {
		t.Fatal(err)
	}
	taken := []string{node, inbox, filepath.Join(node, "not there")}
	for _, dir := range []string{node, inbox, below, link, filepath.Dir(node), "/", filepath.Join(own, "nothing")} {
		if err := CheckDrafts(dir, taken); err == nil {
			t.Errorf("%s is accepted", dir)
		}
	}
	if err := CheckDrafts(own, taken); err != nil {
		t.Error(err)
	}
}

// Who asks too often is refused, and drafting has a bound of its own.
func TestRates(t *testing.T) {
	d := newDesk(t)
	c := connect(t, d.bounded(rate.NewLimiter(rate.Inf, 0), rate.NewLimiter(0, 2)))
	for i := range 3 {
		_, fault := call[draftOut](t, c, "draft_request", json.RawMessage(example("monty-no-variables")))
		if (i < 2) != (fault == "") || i == 2 && fault != errTooDraft.Error() {
			t.Errorf("draft %d: %q", i, fault)
		}
	}
	c = connect(t, d.bounded(rate.NewLimiter(0, 5), rate.NewLimiter(rate.Inf, 0)))
	refused := false
	for range 6 {
		_, fault := call[statusOut](t, c, "request_status", idIn{theRequest})
		refused = refused || strings.Contains(fault, errTooMany.Error())
	}
	if !refused {
		t.Error("six calls where five are allowed")
	}
}

// A full folder of drafts takes no more.
func TestDraftsAreBounded(t *testing.T) {
	d := newDesk(t)
	for i := range maxDrafts {
		write(t, filepath.Join(d.Drafts, "TR-x"+strings.Repeat("i", i%100+1)+string(rune('a'+i/100))+".md"), "")
	}
	_, fault := call[draftOut](t, client(t, d), "draft_request", json.RawMessage(example("monty-no-variables")))
	if !strings.Contains(fault, "look at them first") {
		t.Error(fault)
	}
}

// stdio answers what is malformed, and goes on.
func TestStdio(t *testing.T) {
	d := newDesk(t)
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- d.ServeStdio(t.Context(), in, out) }()
	dec := json.NewDecoder(answers)
	type answer struct {
		ID    any
		Error *struct {
			Code    int
			Message string
		}
		Result json.RawMessage
	}
	ask := func(line string) (a answer) {
		t.Helper()
		if _, err := io.WriteString(feed, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if err := dec.Decode(&a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := ask(`{"jsonrpc":"2.0","id":0,"method":"tools/list"}`); a.Error == nil {
		t.Errorf("before initialize: %+v", a)
	}
	if a := ask(hello); a.Error != nil || !strings.Contains(string(a.Result), "threegate") {
		t.Errorf("%+v", a)
	}
	if _, err := io.WriteString(feed, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`{"jsonrpc":"2.0","id":2,"method":"ping","method":"tools/call"}`, `[` + hello + `]`,
		`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"x":1,"x":2}}`, `nonsense`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/list","Params":{}}`,
		`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"x":"` + strings.Repeat("x", maxMessage) + `"}}`} {
		if a := ask(bad); a.Error == nil || a.Error.Code != -32700 || a.ID != nil {
			t.Errorf("%.80s: %+v", bad, a)
		}
	}
	for _, unknown := range []string{`{"jsonrpc":"2.0","id":3,"method":"tools/approve"}`,
		`{"jsonrpc":"2.0","id":3,"method":"Tools/List"}`,
		`{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"Name":"schema","arguments":{"kind":"request"}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{}}`} {
		if a := ask(unknown); a.Error == nil {
			t.Errorf("%s: %s", unknown, a.Result)
		}
	}
	if a := ask(`{"jsonrpc":"2.0","id":4,"method":"ping"}`); a.Error != nil || a.ID != 4.0 {
		t.Errorf("%+v", a)
	}
	if err := feed.Close(); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, answers) }()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What was asked before the input ended is answered.
func TestStdioAnswersAtTheEnd(t *testing.T) {
	d := newDesk(t)
	var out bytes.Buffer
	in := hello + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"schema","arguments":{"kind":"request"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":3,"method":"no/such"}`
	if err := d.ServeStdio(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{`"id":1,`, `"id":2,`, `"id":3,`} {
		if !strings.Contains(out.String(), id) {
			t.Errorf("no answer with %s in %.500s", id, out.String())
		}
	}
}

// The HTTP server answers who is on this machine and has the token, and nobody else.
func TestHTTP(t *testing.T) {
	d := newDesk(t)
	l, err := loopback.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	token := strings.Repeat("t", 32)
	go func() { ended <- d.ServeHTTP(ctx, l, token) }()
	address := l.Addr().String()
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		header                   map[string]string
	}{
		{"good", "POST", Path, hello, 200, nil},
		{"token in the query", "POST", Path + "?token=" + token, hello, 401, map[string]string{"Authorization": ""}},
		{"another path", "POST", "/", hello, 404, nil},
		{"a longer path", "POST", Path + "/approve", hello, 404, nil},
		{"GET", "GET", Path, "", 405, nil},
		{"DELETE", "DELETE", Path, "", 405, nil},
		{"a huge body", "POST", Path, `{"id":"` + strings.Repeat("x", maxMessage) + `"}`, 413, nil},
		{"a key twice", "POST", Path, strings.Replace(hello, `"id":1`, `"id":1,"id":2`, 1), 400, nil},
		{"a batch", "POST", Path, "[" + hello + "]", 400, nil},
		{"no JSON", "POST", Path, "approve=yes", 400, nil},
		{"another type", "POST", Path, hello, 415, map[string]string{"Content-Type": "text/plain"}},
	} {
		req, err := http.NewRequest(c.method, "http://"+address+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for k, v := range c.header {
			req.Header.Set(k, v)
			if v == "" {
				req.Header.Del(k)
			}
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		text, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != c.status {
			t.Errorf("%s: %d, want %d (%v): %s", c.name, res.StatusCode, c.status, err, text)
		}
		if strings.Contains(string(text), token) {
			t.Errorf("%s: the answer holds the token", c.name)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
