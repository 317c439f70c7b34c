package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
)

// TestPromoteKnowsWhatWasTakenIn: a request that the node took in before is no success, one that was
// refused may come again.
func TestPromoteKnowsWhatWasTakenIn(t *testing.T) {
	dir := t.TempDir()
	call := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command("threegate", args...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Fatalf("%v: exit code %d, want %d: %s", args, got, want, out)
		}
		return string(out)
	}
	call(0, "init", "node", "--images", "no-images")
	if err := nameImages(filepath.Join(dir, "node")); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(filepath.Join(dir, "node", spool.DirLedger), ledger.Options{Now: time.Now},
		func(ledger.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	for id, outcome := range map[string]ledger.DeliveryOutcome{"TR-20260101-000000Z-old": ledger.OutcomeAdmitted,
		"TR-20260101-000000Z-refused": ledger.OutcomeRefused} {
		e := ledger.Event{Type: ledger.DeliveryAttempted, Outcome: outcome, RequestID: id, RunID: "j-" + string(outcome)}
		if err := l.Append(e); err != nil {
			t.Fatal(err)
		}
		call(0, "draft", "ERA", "-o", id+".md")
		call(0, "approve", id+".md", "--as", "alice", "--yes")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	out := call(cli.ExitBusy, "promote", "TR-20260101-000000Z-old.md", "--node", "node")
	if !strings.Contains(out, "request_id TR-20260101-000000Z-old was taken in before with other bytes") {
		t.Errorf("it says %s", out)
	}
	call(0, "promote", "TR-20260101-000000Z-refused.md", "--node", "node")
	// Nobody approves again what the node has run.
	for _, args := range [][]string{{"review", "--node", "node"}, {"approve", "--as", "bob", "--yes", "--config", "node/threegate.yaml"}} {
		if out := call(1, append(args, "TR-20260101-000000Z-old.md")...); !strings.Contains(out, "request.conflict") {
			t.Errorf("%s says %s", args[0], out)
		}
	}
}
