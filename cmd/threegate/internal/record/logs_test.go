package record

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/ledger"
)

// TestLogsOnATerminal: whole lines, with what could steer the terminal made visible; elsewhere the bytes as they are.
func TestLogsOnATerminal(t *testing.T) {
	node, id, code := newNode(t), "TR-20260209-160501Z-logs", 0
	job := jobID("a")
	record(t, node, ledger.Event{Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeAdmitted, RequestID: id, RunID: job},
		ledger.Event{Type: ledger.RunStarted, RequestID: id, RunID: job},
		ledger.Event{Type: ledger.RunCompleted, RequestID: id, RunID: job, ExitCode: &code, Cause: "none"},
		ledger.Event{Type: ledger.ResultDelivered, RequestID: id, RunID: job, ResultID: "TS-logs"})
	stdout := filepath.Join(node, "archive/2026/02", job, "stdout")
	chunk := strings.Repeat("x", 64<<10-5) + "\n" // what comes next lies across the end of a read, and is longer than a line can be
	for _, c := range []struct {
		terminal     bool
		args         string
		stdout, want string
	}{
		{true, "", "a\x1b[2Jb\ncé\nend", "a⟦1B⟧[2Jb\ncé\nend\n"},
		{true, "", chunk + "abcé\n", chunk + "abcé\n"},
		{true, "", strings.Repeat("x", 64<<10) + "y", strings.Repeat("x", 64<<10) + "\ny\n"},
		{false, "", "a\x1b[2Jend", "a\x1b[2Jend"},
		{false, "--json", "a\x1b[2J\nend",
			"{\"stream\":\"stdout\",\"text\":\"a\\u001b[2J\"}\n{\"stream\":\"stdout\",\"text\":\"end\"}\n"},
	} {
		put(t, stdout, c.stdout)
		got, err := runOn(node, c.terminal, strings.Fields("logs "+id+" "+c.args)...)
		if err != nil || got != c.want {
			t.Errorf("%.20q on a terminal (%v) %s: %v, %.50q", c.stdout, c.terminal, c.args, err, got)
		}
	}
}
