package node

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/journal"
)

// A line keeps its text, and what a person looks for is a field of its own, too.
func TestJournald(t *testing.T) {
	var text string
	var priority journal.Priority
	var fields map[string]string
	var failure error
	var instead bytes.Buffer
	h := newJournald(slog.LevelInfo, slog.NewTextHandler(&instead, nil))
	h.send = func(s string, p journal.Priority, f map[string]string) error {
		text, priority, fields = s, p, f
		return failure
	}
	log := slog.New(h)
	for _, tt := range []struct {
		level    slog.Level
		log      *slog.Logger
		args     []any
		text     string
		priority journal.Priority
		fields   map[string]string
	}{
		{slog.LevelInfo, log, []any{"job", "J1", "request", "TR-1", "rules", []string{"a.b"}},
			"msg=done job=J1 request=TR-1 rules=[a.b]", journal.PriInfo,
			map[string]string{"THREEGATE_JOB": "J1", "THREEGATE_REQUEST": "TR-1"}},
		{slog.LevelWarn, log, []any{"inbox", "a\nMESSAGE=b", "request", ""}, `msg=done inbox="a\nMESSAGE=b" request=""`,
			journal.PriWarning, map[string]string{"THREEGATE_INBOX": "a\nMESSAGE=b"}},
		{slog.LevelError, log.With("result", "TS-1").WithGroup("g"), []any{"error", errors.New("no")},
			"msg=done result=TS-1 g.error=no", journal.PriErr, map[string]string{"THREEGATE_RESULT": "TS-1"}},
	} {
		text, priority, fields = "", 0, nil
		tt.log.Log(t.Context(), tt.level, "done", tt.args...)
		if text != tt.text || priority != tt.priority || !maps.Equal(fields, tt.fields) {
			t.Errorf("%q, %v, %v, want %q, %v, %v", text, priority, fields, tt.text, tt.priority, tt.fields)
		}
	}
	if text = ""; h.Enabled(context.Background(), slog.LevelDebug) || instead.Len() > 0 {
		t.Errorf("details are logged unasked, or twice: %s", instead.String())
	}
	failure = errors.New("no journal")
	log.Info("kept", "job", "J2")
	if got := instead.String(); !strings.Contains(got, "msg=kept job=J2") {
		t.Errorf("what the journal does not take is lost: %q", got)
	}
}
