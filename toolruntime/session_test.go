package toolruntime

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

type args struct {
	Path string `json:"path,omitempty"`
}

func (a args) Writes() string { return a.Path }

type result struct {
	Done bool `json:"done"`
}

func toolOf(name string, run func(context.Context, args) (result, error)) contract.Tool {
	return contract.NewTool(name, "test", time.Minute, args{}, run)
}

func done(context.Context, args) (result, error) { return result{true}, nil }

func request(id, name, args string) *contract.ToolRequest {
	return &contract.ToolRequest{Type: "ToolRequest", Tool: name, Args: jsontext.Value(args), RequestID: id, SessionID: "s"}
}

func session(o Options, tools ...contract.Tool) *Session {
	return New(tools, o)
}

func want(t *testing.T, name string, r contract.ToolResponse, code contract.Code) {
	t.Helper()
	got := contract.Code("")
	if len(r.Errors) > 0 {
		got = r.Errors[0].Code
	}
	if got != code || r.OK != (code == "") {
		t.Errorf("%s: got %q (%v), want %q", name, got, r.Errors, code)
	}
}

func TestTimeline(t *testing.T) {
	var record bytes.Buffer
	now := time.Unix(1730822400, 500e6)
	var events []contract.EventMessage
	s := session(Options{Timeline: &record, Now: func() time.Time { return now },
		Emit: func(e contract.EventMessage) { events = append(events, e) }}, toolOf("write", done))
	ctx := t.Context()
	want(t, "good", s.Do(ctx, request("1", "write", `{ "path": "secret-name"}`)), "")
	want(t, "unknown tool", s.Do(ctx, request("2", "none", `{}`)), contract.Validation)
	want(t, "bad arguments", s.Do(ctx, request("3", "write", `{"x":1}`)), contract.Validation)
	want(t, "outside", s.Do(ctx, request("4", "write", `{"path":"../x"}`)), contract.Policy)
	if bytes.Contains(record.Bytes(), []byte("secret-name")) {
		t.Error("the timeline holds arguments")
	}
	var codes []string
	entries, err := contract.ParseTimeline(record.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		codes = append(codes, e.Code)
		if e.StartTS != 1730822400.5 {
			t.Errorf("start_ts is %v", e.StartTS)
		}
		if hash, _ := contract.ArgsHash(jsontext.Value(`{"path":"secret-name"}`)); len(codes) == 1 && e.ArgsHash != hash {
			t.Errorf("args_hash is %s", e.ArgsHash)
		}
	}
	if fmt.Sprint(codes) != "[OK E_VALIDATION_FAIL E_VALIDATION_FAIL E_POLICY]" {
		t.Errorf("codes are %v", codes)
	}
	last := events[len(events)-1]
	if len(events) != 5 || events[0].Progress.Pct != 0 || events[0].RequestID != "1" || last.Metrics["requests"] != 4 || last.Metrics["errors"] != 3 || last.Metrics["files_touched"] != 1 {
		t.Errorf("the last of %d events is %+v", len(events), last)
	}
}

func TestBudgets(t *testing.T) {
	ctx := t.Context()
	s := session(Options{Budget: Budget{Calls: 1}}, toolOf("write", done))
	want(t, "first", s.Do(ctx, request("1", "write", `{}`)), "")
	want(t, "calls", s.Do(ctx, request("2", "write", `{}`)), contract.Policy)

	s = session(Options{Budget: Budget{Bytes: 20}}, toolOf("write", done))
	want(t, "first", s.Do(ctx, request("1", "write", `{}`)), "")
	want(t, "bytes", s.Do(ctx, request("2", "write", `{"path":"a"}`)), contract.Policy)

	now := time.Unix(0, 0)
	s = session(Options{Budget: Budget{Time: time.Minute}, Now: func() time.Time { return now }}, toolOf("write", done))
	want(t, "first", s.Do(ctx, request("1", "write", `{}`)), "")
	now = now.Add(time.Minute)
	want(t, "time", s.Do(ctx, request("2", "write", `{}`)), contract.Policy)
}

// An ended session keeps nothing of what is asked of it, however often.
func TestEndedSession(t *testing.T) {
	s := session(Options{Timeline: brokenWriter{}}, toolOf("write", done))
	s.Do(t.Context(), request("first", "write", `{}`))
	why := s.Err().Error()
	for i := range 100 {
		want(t, "after the end", s.Do(t.Context(), request(fmt.Sprint("r", i), "write", `{}`)), contract.Internal)
	}
	if got := s.Err().Error(); got != why || len(s.record) > 1 {
		t.Errorf("%d calls are kept, and %q", len(s.record), got)
	}
}

// No call runs for which the record has no room.
func TestTheRecordIsFull(t *testing.T) {
	var lines bytes.Buffer
	ran := 0
	s := session(Options{Budget: Budget{Calls: 2 * contract.MaxCalls}, Timeline: &lines},
		toolOf("write", func(context.Context, args) (result, error) { ran++; return result{true}, nil }))
	for i := range contract.MaxCalls {
		want(t, "with room", s.Do(t.Context(), request(fmt.Sprint("r", i), "write", `{}`)), "")
	}
	want(t, "without", s.Do(t.Context(), request("last", "write", `{}`)), contract.Internal)
	if got := bytes.Count(lines.Bytes(), []byte("\n")); ran != contract.MaxCalls || got != ran || s.Err() == nil {
		t.Errorf("%d calls ran, %d are on record, %v", ran, got, s.Err())
	}
}

func TestIds(t *testing.T) {
	s := session(Options{}, toolOf("write", done))
	want(t, "first", s.Do(t.Context(), request("1", "write", `{}`)), "")
	want(t, "again", s.Do(t.Context(), request("1", "write", `{}`)), contract.Validation)
	other := request("2", "write", `{}`)
	other.SessionID = "t"
	want(t, "another session", s.Do(t.Context(), other), contract.Policy)
}

func TestToolsThatFail(t *testing.T) {
	s := session(Options{},
		toolOf("panics", func(context.Context, args) (result, error) { panic("x") }),
		contract.NewTool("hangs", "test", time.Nanosecond, args{}, func(ctx context.Context, _ args) (result, error) {
			<-ctx.Done()
			return result{}, ctx.Err()
		}))
	want(t, "panic", s.Do(t.Context(), request("1", "panics", `{}`)), contract.Internal)
	want(t, "time-out", s.Do(t.Context(), request("2", "hangs", `{}`)), contract.Timeout)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestNoCallWithoutARecord(t *testing.T) {
	s := session(Options{Timeline: brokenWriter{}}, toolOf("write", done))
	s.Do(t.Context(), request("1", "write", `{}`))
	if s.Err() == nil {
		t.Error("the session goes on")
	}
	want(t, "next", s.Do(t.Context(), request("2", "write", `{}`)), contract.Internal)
}

// TestLocks lets calls meet: two files at once, one file one after the other, and what may
// write anything alone.
func TestLocks(t *testing.T) {
	var inFile, inTree atomic.Int32
	both := make(chan bool)
	s := session(Options{},
		toolOf("file", func(_ context.Context, a args) (result, error) {
			if inFile.Add(1) > 1 || inTree.Load() > 0 {
				t.Error("a file is written twice at once")
			}
			defer inFile.Add(-1)
			return result{true}, nil
		}),
		contract.NewTool("tree", "test", time.Minute, struct{}{}, func(context.Context, struct{}) (result, error) {
			if inTree.Add(1) > 1 || inFile.Load() > 0 {
				t.Error("what writes anything is not alone")
			}
			defer inTree.Add(-1)
			return result{true}, nil
		}),
		toolOf("meet", func(_ context.Context, a args) (result, error) {
			select { // ends only when the other file's call is here too
			case both <- true:
			case <-both:
			}
			return result{true}, nil
		}))
	var all sync.WaitGroup
	do := func(id, name, args string) {
		all.Go(func() { want(t, name, s.Do(t.Context(), request(id, name, args)), "") })
	}
	for i := range 50 {
		do(fmt.Sprint("f", i), "file", `{"path":"./same"}`)
		do(fmt.Sprint("g", i), "file", `{"path":"same"}`)
		do(fmt.Sprint("t", i), "tree", `{}`)
	}
	all.Wait()
	do("a", "meet", `{"path":"a"}`)
	do("b", "meet", `{"path":"b"}`)
	all.Wait()
}
