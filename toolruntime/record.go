package toolruntime

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

// emit tells how a call goes on.
func (s *Session) emit(r *contract.ToolRequest, p contract.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Emit != nil {
		s.o.Emit(contract.EventMessage{Type: "EventMessage", Event: "TaskProgress", RequestID: r.RequestID,
			Progress: p})
	}
}

// note writes a call to the timeline, counts it, and tells of it.
func (s *Session) note(r *contract.ToolRequest, start, end time.Time, code string, bytes int64) error {
	hash, err := contract.ArgsHash(r.Args)
	if err != nil { // they are no JSON, and were refused
		hash = fmt.Sprintf("%x", sha256.Sum256(r.Args))
	}
	entry := contract.Entry{Tool: r.Tool, ArgsHash: hash, StartTS: seconds(start), EndTS: seconds(end), Code: code,
		Bytes: bytes}
	line, err := entry.Encode()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += bytes - int64(len(r.Args))
	s.record = append(s.record, recorded{r.Tool, code, start, end.Sub(start), bytes})
	if s.o.Emit != nil {
		s.o.Emit(contract.EventMessage{Type: "EventMessage", Event: "TaskProgress", RequestID: r.RequestID,
			Progress: contract.Progress{Pct: 100, Message: r.Tool + " " + code}, Metrics: s.metrics(time.Time{})})
	}
	_, err = s.o.Timeline.Write(line)
	return err
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// metrics sums up the calls that ended since a time. The caller holds mu.
func (s *Session) metrics(since time.Time) map[string]float64 {
	m := map[string]float64{"requests": 0, "errors": 0, "duration_ms": 0, "bytes": 0,
		"files_touched": float64(len(s.touched))}
	for _, c := range s.record {
		if c.Start.Add(c.Duration).Before(since) {
			continue
		}
		m["requests"]++
		if c.Code != contract.CodeOK {
			m["errors"]++
		}
		m["duration_ms"] += float64(c.Duration.Milliseconds())
		m["bytes"] += float64(c.Bytes)
	}
	return m
}

type metricsArgs struct {
	Interval  int    `json:"interval,omitempty" jsonschema:"seconds to look back; 0 is the whole session"`
	SessionID string `json:"session_id,omitempty" jsonschema:"this session, if given"`
}

type metricsResult struct {
	Status  string             `json:"status"`
	Metrics map[string]float64 `json:"metrics"`
}

// EmitMetrics is the tool emit_metrics of a session. Each call emits an event on its own; this
// one sums up.
func EmitMetrics(s *Session) contract.Tool {
	run := func(_ context.Context, a metricsArgs) (metricsResult, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if a.SessionID != "" && a.SessionID != s.id {
			return metricsResult{}, contract.Errorf(contract.Policy, "the session_id is not that of this session").
				WithHint("leave session_id out")
		}
		var since time.Time
		if a.Interval > 0 {
			since = s.o.Now().Add(-time.Duration(a.Interval) * time.Second)
		}
		return metricsResult{"ok", s.metrics(since)}, nil
	}
	return contract.NewTool("emit_metrics", "sums up the calls of the session", time.Second, metricsArgs{}, run,
		contract.Between("interval", 0, 24*60*60)).Reads()
}
