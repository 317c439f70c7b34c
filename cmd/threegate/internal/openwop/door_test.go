package openwop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/loopback"
	projection "github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/schemas/openwop"
)

const (
	bearer  = "0123456789abcdef0123456789abcdef"
	ran     = "j01m7y2bdpdcrsgyvat4hpvd7tk" // has ended
	running = "j01m7y2bdpdcrsgyvat4hpvd7tm"
	canary  = "canary"
	guard   = 5 * time.Minute // ends a test that hangs
)

// served is a door on a port of its own, with a record that holds a canary in every text.
type served struct {
	base   string
	record *ledger.Ledger
	door   *door
}

func text(e ledger.Event) ledger.Event {
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case v.Type().Field(i).Name == "RunID" || v.Type().Field(i).Name == "Prev" || f.CanInt():
		case f.Type() == reflect.TypeFor[string](), f.Type() == reflect.TypeFor[schemas.Backend]():
			f.SetString(canary)
		}
	}
	return e
}

func serveTest(t *testing.T) *served {
	t.Helper()
	dir := t.TempDir()
	record, err := ledger.Open(dir, ledger.Options{}, func(ledger.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := record.Append(
		text(ledger.Event{Type: ledger.RunStarted, RunID: ran}),
		text(ledger.Event{Type: ledger.CapBreached, RunID: ran, Cause: schemas.CauseTime, LimitMS: 1000}),
		text(ledger.Event{Type: ledger.RunFailed, RunID: ran, Cause: schemas.CauseTime, WallMS: 1001}),
		text(ledger.Event{Type: ledger.ResultDelivered, RunID: ran, Artifacts: 2}),
		text(ledger.Event{Type: ledger.RunStarted, RunID: running})); err != nil {
		t.Fatal(err)
	}
	l, err := loopback.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := &config.Node{Config: config.Default()}
	cfg.Backends.ERA.Languages = map[string]config.Language{canary: {Image: canary}}
	cfg.Backends.Monty.Image = canary
	cfg.Network.AllowedDomains = []string{canary}
	d, err := newDoor(dir, projection.Discover(cfg), projection.Descriptors(cfg))
	if err != nil {
		t.Fatal(err)
	}
	d.lookEvery, d.keepAlive = time.Millisecond, time.Millisecond
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.behind(bearer).Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		if err := record.Close(); err != nil {
			t.Error(err)
		}
	})
	return &served{base: "http://" + l.Addr().String(), record: record, door: d}
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask sends one request; change may change it before.
func (s *served) ask(t *testing.T, method, path string, change func(*http.Request)) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	if change != nil {
		change(req)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ToLower(fmt.Sprint(resp.Header, string(body))), canary) {
		t.Errorf("%s %s: text got out: %s", method, path, body)
	}
	return answer{resp.StatusCode, resp.Header, body}
}

func check(t *testing.T, schema string, doc []byte) {
	t.Helper()
	raw, err := openwop.Schema(schema)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("doc.json", parsed); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("doc.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		t.Errorf("%s: %v: %s", schema, err, doc)
	}
}

// The scenario "discovery": without a key, the required members, and a cache rule.
func TestScenarioDiscovery(t *testing.T) {
	s := serveTest(t)
	a := s.ask(t, "GET", "/.well-known/openwop", func(r *http.Request) { r.Header.Del("Authorization") })
	if a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") ||
		a.header.Get("Cache-Control") == "" {
		t.Fatalf("%d %v", a.status, a.header)
	}
	check(t, "capabilities", a.body)
	if etag := a.header.Get("ETag"); etag != "" {
		t.Errorf("an ETag %s promises 304", etag)
	}
	a = s.ask(t, "GET", "/v1/openapi.json", func(r *http.Request) { r.Header.Del("Authorization") })
	var api struct {
		OpenAPI string                                `json:"openapi"`
		Paths   map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(a.body, &api); err != nil || a.status != 200 || api.OpenAPI < "3.1" {
		t.Fatal(a.status, err)
	}
	for path, methods := range api.Paths { // it describes what is served, and nothing else
		at := strings.NewReplacer("{toolId}", "x-host-threegate-exec%3Aera", "{runId}", ran).Replace(path)
		if len(methods) != 1 || methods["get"] == nil {
			t.Errorf("%s has %v", path, methods)
		}
		if got := s.ask(t, "GET", at, nil); got.status != 200 {
			t.Errorf("%s is described, and answers %d", at, got.status)
		}
	}
	if len(api.Paths) != 6 {
		t.Errorf("%d paths are described", len(api.Paths))
	}
}

// The scenario "tool catalogue": with a key only, a bare array of valid descriptors without
// credentials, each by its encoded id, and 404 for others.
func TestScenarioToolCatalogue(t *testing.T) {
	s := serveTest(t)
	for _, wrong := range []string{"", "Bearer", "Bearer " + bearer[1:], "Basic " + bearer} {
		a := s.ask(t, "GET", "/v1/tools", func(r *http.Request) { r.Header.Set("Authorization", wrong) })
		if a.status != 401 || a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%q: %d", wrong, a.status)
		}
		check(t, "error", a.body)
	}
	a := s.ask(t, "GET", "/v1/tools", nil)
	var tools []map[string]any
	if err := json.Unmarshal(a.body, &tools); err != nil || a.status != 200 || len(tools) != 2 { // trap: no {"tools": ...}
		t.Fatal(a.status, err, string(a.body))
	}
	for _, tool := range tools {
		for _, key := range []string{"secret", "credential", "credentials", "token", "apiKey", "password"} {
			if _, ok := tool[key]; ok {
				t.Errorf("%v has %s", tool, key)
			}
		}
		doc, _ := json.Marshal(tool)
		check(t, "tool-descriptor", doc)
		id := strings.ReplaceAll(tool["toolId"].(string), ":", "%3A") // trap: the path is encoded
		one := s.ask(t, "GET", "/v1/tools/"+id, nil)
		var got map[string]any
		if err := json.Unmarshal(one.body, &got); err != nil || one.status != 200 || !reflect.DeepEqual(got, tool) {
			t.Errorf("%s: %d %s", id, one.status, one.body)
		}
	}
	for _, unknown := range []string{"x-host-threegate-exec%3Anone", "", "x-host-threegate-exec%3Aera/more", "%2e%2e"} {
		a := s.ask(t, "GET", "/v1/tools/"+unknown, nil)
		if a.status != 404 {
			t.Errorf("%q: %d", unknown, a.status)
		}
		check(t, "error", a.body)
	}
}

// events reads a stream to its end.
func events(t *testing.T, body []byte) (types, ids []string) {
	t.Helper()
	for l := range strings.Lines(string(body)) {
		if name, ok := strings.CutPrefix(l, "event: "); ok {
			types = append(types, strings.TrimSpace(name))
		}
		if id, ok := strings.CutPrefix(l, "id: "); ok {
			ids = append(ids, strings.TrimSpace(id))
		}
		if data, ok := strings.CutPrefix(l, "data: "); ok {
			check(t, "run-event", []byte(data))
		}
	}
	return types, ids
}

func TestRunReads(t *testing.T) {
	s := serveTest(t)
	a := s.ask(t, "GET", "/v1/runs/"+ran, nil)
	check(t, "run-snapshot", a.body)
	if a.status != 200 || !strings.Contains(string(a.body), `"status":"failed"`) ||
		!strings.Contains(string(a.body), `"run_timeout"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	a = s.ask(t, "GET", "/v1/runs/"+running, nil)
	check(t, "run-snapshot", a.body)
	if !strings.Contains(string(a.body), `"status":"running"`) {
		t.Errorf("%s", a.body)
	}

	const all = "run.started node.started agent.toolCalled cap.breached agent.toolReturned artifact.created artifact.created " +
		"node.failed run.failed"
	const updates = "run.started agent.toolCalled agent.toolReturned artifact.created artifact.created node.failed run.failed"
	for query, want := range map[string]string{"": updates, "?streamMode=updates&bufferMs=10": updates, "?streamMode=debug": all} {
		a := s.ask(t, "GET", "/v1/runs/"+ran+"/events"+query, nil)
		types, _ := events(t, a.body)
		if got := strings.Join(types, " "); got != want || a.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%q: got %s", query, got)
		}
	}
	for last, want := range map[string]string{"5": "6 7 8", "8": "", "99": ""} { // resumed after, never repeated
		a := s.ask(t, "GET", "/v1/runs/"+ran+"/events?streamMode=debug", func(r *http.Request) {
			r.Header.Set("Last-Event-ID", last)
		})
		if _, ids := events(t, a.body); strings.Join(ids, " ") != want {
			t.Errorf("after %s: %v", last, ids)
		}
	}
	for query, status := range map[string]int{"?streamMode=values": 400, "?streamMode=messages": 400, "?streamMode=": 400,
		"?streamMode=updates&streamMode=debug": 400, "?more=1": 400, "?%zz": 400} {
		a := s.ask(t, "GET", "/v1/runs/"+ran+"/events"+query, nil)
		check(t, "error", a.body)
		if a.status != status {
			t.Errorf("%q: %d", query, a.status)
		}
		if strings.Contains(query, "=values") && !strings.Contains(string(a.body), `"supported":["updates","debug"]`) {
			t.Errorf("%q: %s", query, a.body)
		}
	}
	a = s.ask(t, "GET", "/v1/runs/"+ran+"/events", func(r *http.Request) { r.Header.Set("Last-Event-ID", "-1") })
	if a.status != 400 {
		t.Errorf("a number that is none: %d", a.status)
	}
}

// A stream goes on as the run does, keeps the connection alive, and ends with the run.
func TestStreamFollows(t *testing.T) {
	s := serveTest(t)
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.base+"/v1/runs/"+running+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	until := func(want string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == want {
				return
			}
		}
		t.Fatalf("the stream ended before %q: %v", want, lines.Err())
	}
	until("event: agent.toolCalled")
	until(": keep-alive")
	if err := s.record.Append(ledger.Event{Type: ledger.RunCompleted, RunID: running},
		ledger.Event{Type: ledger.ResultDelivered, RunID: running}); err != nil {
		t.Fatal(err)
	}
	until("event: run.completed")
	for lines.Scan() { // it ends by itself
		if strings.HasPrefix(lines.Text(), "event: ") {
			t.Errorf("after the end: %s", lines.Text())
		}
	}
	if lines.Err() != nil {
		t.Error(lines.Err())
	}
}

// What readers of OpenWOP might look for, and a tool node does not have.
func TestNotServed(t *testing.T) {
	s := serveTest(t)
	for _, path := range []string{"/v1/runs", "/v1/runs/" + ran + "/events/poll", "/v1/runs/" + ran + "/artifacts",
		"/v1/runs/" + ran + ":fork", "/v1/runs/" + ran + "/eval-summary", "/v1/agents", "/v1/agents/roster",
		"/v1/agents/org-chart", "/v1/agents/org-chart/d", "/v1/deployments", "/v1/memory", "/v1/prompts", "/v1/webhooks",
		"/v1/interrupts", "/v1/workflows", "/v1/trigger-subscriptions", "/v1/audit/verify", "/v1/host/workspace/files/x",
		"/v1/host/sample/http/safe-fetch", "/", "/v1", "/v1/", "/v1/tools/", "/.well-known", "/metrics",
		"/v1/runs/j00000000000000000000000000", "/v1/runs/TR-20260209-160501Z-x"} {
		a := s.ask(t, "GET", path, nil)
		if a.status != 404 {
			t.Errorf("%s: %d", path, a.status)
		}
		check(t, "error", a.body)
	}
}

// Attempts to make the door do more than answer a reader: each is refused, and the record is as
// it was.
func TestAttempts(t *testing.T) {
	s := serveTest(t)
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, c := range []struct {
		name, method, path string
		change             func(*http.Request)
		status             int
	}{
		{"a run", "POST", "/v1/runs", nil, 405},
		{"a run without a key", "POST", "/v1/runs", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"a cancel", "POST", "/v1/runs/" + running + "/cancel", nil, 405},
		{"a put", "PUT", "/v1/tools/x", nil, 405},
		{"a patch", "PATCH", "/v1/runs/" + ran, nil, 405},
		{"a removal", "DELETE", "/v1/runs/" + ran, nil, 405},
		{"a head", "HEAD", "/v1/tools", nil, 405},
		{"options", "OPTIONS", "/v1/tools", nil, 405},
		{"a trace", "TRACE", "/v1/tools", nil, 405},
		{"a method of nobody", "APPROVE", "/v1/runs/" + ran, nil, 405},
		{"a method in a header", "GET", "/v1/runs/" + ran, header("X-HTTP-Method-Override", "POST"), 405},
		{"a method in another", "GET", "/v1/runs/" + ran, header("X-Method-Override", "DELETE"), 405},
		{"a method in the query", "GET", "/v1/runs/" + ran + "?_method=POST", nil, 400},
		{"an upgrade", "GET", "/v1/tools", func(r *http.Request) {
			r.Header.Set("Connection", "upgrade")
			r.Header.Set("Upgrade", "websocket")
		}, 405},
		{"a body", "GET", "/v1/tools", func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(`{"mode":"eval"}`)), 15
		}, 400},
		{"no key", "GET", "/v1/runs/" + ran, func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"no key for what is not there", "GET", "/v1/nothing", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"a key in the query", "GET", "/v1/tools?key=" + bearer, nil, 400},
		{"a way up", "GET", "/v1/tools/../../ledger", nil, 404},
		{"a way up, encoded", "GET", "/v1/tools/%2e%2e%2f%2e%2e%2fthreegate.yaml", nil, 404},
		{"a way up by a run", "GET", "/v1/runs/..%2f..%2fledger/events", nil, 404},
		{"a double slash", "GET", "//v1/tools", nil, 404},
		{"a path in other letters", "GET", "/V1/TOOLS", nil, 404},
		{"an encoded slash", "GET", "/v1%2ftools", nil, 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := s.ask(t, c.method, c.path, c.change)
			if a.status != c.status {
				t.Errorf("%d, want %d: %s", a.status, c.status, a.body)
			}
			if c.method != "HEAD" {
				check(t, "error", a.body)
			}
			if c.status == 405 && a.header.Get("Allow") != "GET" {
				t.Errorf("Allow is %q", a.header.Get("Allow"))
			}
		})
	}
	n := 0
	if err := ledger.Lines(s.door.ledger, func([]byte) error { n++; return nil }); err != nil || n != 5 {
		t.Errorf("the record has %d events: %v", n, err)
	}
}

// A request that is none, or too large, gets no answer but the server's own refusal.
func TestHugeAndMalformed(t *testing.T) {
	s := serveTest(t)
	for name, request := range map[string]string{
		"a huge header": "GET /v1/tools HTTP/1.1\r\nHost: " + s.base[7:] + "\r\nAuthorization: Bearer " + bearer +
			"\r\nX-Large: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
		"a huge path":    "GET /" + strings.Repeat("x", 64<<10) + " HTTP/1.1\r\nHost: " + s.base[7:] + "\r\n\r\n",
		"two lengths":    "GET /v1/tools HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"no host":        "GET /v1/tools HTTP/1.1\r\n\r\n",
		"another server": "GET http://evil.example/v1/tools HTTP/1.1\r\nHost: " + s.base[7:] + "\r\n\r\n",
		"a tunnel":       "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
		"no HTTP":        "hello\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", s.base[7:])
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(guard))
		_, _ = io.WriteString(conn, request) // it may be cut off
		if half, ok := conn.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
		answered, _ := io.ReadAll(conn)
		_ = conn.Close()
		if strings.Contains(string(answered), " 200 ") || strings.Contains(string(answered), "toolId") {
			t.Errorf("%s: %.300s", name, answered)
		}
	}
}

// Readers who hold on take no more than the seats there are, and no others' answers.
func TestReadersAreBounded(t *testing.T) {
	s := serveTest(t)
	for range maxReaders {
		s.door.readers <- struct{}{}
	}
	a := s.ask(t, "GET", "/v1/runs/"+ran+"/events", nil)
	check(t, "error", a.body)
	if a.status != 429 || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %v", a.status, a.header)
	}
	if a := s.ask(t, "GET", "/v1/tools", nil); a.status != 200 {
		t.Errorf("the catalog: %d", a.status)
	}
	<-s.door.readers
	if a := s.ask(t, "GET", "/v1/runs/"+ran, nil); a.status != 200 {
		t.Errorf("with a seat: %d", a.status)
	}
	for range maxReaders - 1 {
		<-s.door.readers
	}
}

// deadlines is a writer that notes what a handler bounds, and is gone once something is written.
type deadlines struct {
	http.ResponseWriter
	header  http.Header
	bounded bool
	writes  int
}

func (d *deadlines) Header() http.Header                { return d.header }
func (d *deadlines) WriteHeader(int)                    {}
func (d *deadlines) FlushError() error                  { return nil }
func (d *deadlines) SetReadDeadline(time.Time) error    { return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.bounded = !t.IsZero(); return nil }
func (d *deadlines) Write([]byte) (int, error) {
	d.writes++
	if !d.bounded {
		return 0, errors.New("nothing bounds this write")
	}
	return 0, os.ErrDeadlineExceeded
}

// A reader who reads nothing is given up at the first write that takes too long.
func TestASlowReaderIsGivenUp(t *testing.T) {
	s := serveTest(t)
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.base+"/v1/runs/"+running+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	w := &deadlines{header: http.Header{}}
	s.door.ServeHTTP(w, req) // returns, though the run goes on
	if !w.bounded || w.writes != 1 || ctx.Err() != nil {
		t.Errorf("%d writes, bounded %v, %v", w.writes, w.bounded, ctx.Err())
	}
	if len(s.door.readers) != 0 {
		t.Error("it holds its seat")
	}
}
