package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
)

// TestShowTellsWhatWasChanged: what was changed in an item is said before anything of it is shown, and its approver is
// no longer named.
func TestShowTellsWhatWasChanged(t *testing.T) {
	node, item := newNode(t), jobID("a")
	dir := refused(t, node, item, quarantine.Reasons{Kind: schemas.KindRequest, ApprovedBy: "alice",
		Findings: []schemas.Finding{finding("", "sec.shell.pipe", 0)}})
	list, digest, err := seal.Make(dir, true)
	must(t, err)
	put(t, filepath.Join(dir, seal.File), string(list))
	record(t, node, ledger.Event{Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeRefused, RunID: item, Seal: digest})
	if got := say(t, node, "quarantine", "show", item); strings.Contains(got, "not as it was") || !strings.Contains(got, "alice") {
		t.Errorf("unchanged:\n%s", got)
	}
	reasons, err := os.ReadFile(filepath.Join(dir, quarantine.FileJSON))
	must(t, err)
	put(t, filepath.Join(dir, quarantine.FileJSON), strings.Replace(string(reasons), "alice", "mallo", 1))
	put(t, filepath.Join(dir, "more\x1b[2J"), "")
	got := say(t, node, "quarantine", "show", item)
	if !strings.HasPrefix(got, "This item is not as it was when it was refused. Do not trust") ||
		!strings.Contains(got, "reasons.json: its sha256 was ") || !strings.Contains(got, "a file that was not there") ||
		strings.Contains(got, "mallo") || strings.Contains(got, "\x1b") {
		t.Errorf("changed:\n%s", got)
	}
}
