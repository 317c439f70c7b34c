package record

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// What was changed in an item is said before anything of it is shown, and its approver is no longer
// named.
func TestShowTellsWhatWasChanged(t *testing.T) {
	const item = "j01m7y2bdpdcrsgyvat4hpvd7tk"
	node := filepath.Join(t.TempDir(), "node")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(spool.Init(node))
	dir := filepath.Join(node, spool.DirQuarantineRequests, item)
	must(os.Mkdir(dir, 0o700))
	put := func(name string, data []byte) { must(os.WriteFile(filepath.Join(dir, name), data, 0o600)) }
	reasons, people, err := quarantine.Reasons{Item: item, Kind: schemas.KindRequest, ApprovedBy: "alice",
		Findings: []schemas.Finding{{Rule: "sec.shell.pipe", Severity: schemas.SeverityBlocking, Message: "a pipe"}}}.Encode()
	must(err)
	put(quarantine.FileJSON, reasons)
	put(quarantine.FileMarkdown, people)
	list, digest, err := seal.Make(dir, true)
	must(err)
	put(seal.File, list)
	l, err := ledger.Open(filepath.Join(node, spool.DirLedger), ledger.Options{}, func(ledger.Event) {})
	must(err)
	must(l.Append(ledger.Event{Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeRefused, RunID: item, Seal: digest}))
	must(l.Close())

	show := func() string {
		t.Helper()
		var out bytes.Buffer
		a := &app{App: &cli.App{UI: &term.UI{Out: &out, Err: &out, Columns: 100}}}
		must(a.showQuarantine(quarantine.NewStore(filepath.Join(node, spool.DirQuarantine)), item))
		return out.String()
	}
	if got := show(); strings.Contains(got, "not as it was") || !strings.Contains(got, "alice") {
		t.Errorf("unchanged:\n%s", got)
	}
	put(quarantine.FileJSON, bytes.Replace(reasons, []byte("alice"), []byte("mallo"), 1))
	put("more\x1b[2J", nil)
	got := show()
	if !strings.HasPrefix(got, "This item is not as it was when it was refused. Do not trust") ||
		!strings.Contains(got, "reasons.json: its sha256 was ") || !strings.Contains(got, "a file that was not there") ||
		strings.Contains(got, "mallo") || strings.Contains(got, "\x1b") {
		t.Errorf("changed:\n%s", got)
	}
}
