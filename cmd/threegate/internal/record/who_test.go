package record

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/create"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate/approval"
)

// TestCommandsNameTheApprovers: each command that tells of an admitted request names who asked and who approved, also
// when the job was removed from the archive; of an older record it says that this is not on record.
func TestCommandsNameTheApprovers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	if _, err := create.Node(dir, create.New{Name: "lab"}); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(filepath.Join(dir, spool.DirLedger), ledger.Options{}, func(ledger.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	code := 0
	for _, id := range []string{"new", "old"} {
		request, job := "TR-20260209-160501Z-"+id, "j01j8z3k4m5n6p7q8r9s0t1v2w"+id[:1]
		admitted := ledger.Event{Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeAdmitted, RequestID: request, RunID: job}
		if id == "new" {
			admitted.Requester = "CORE"
			admitted.Approvers = []approval.Approver{{Name: "alice", How: approval.Signed, Fingerprint: "SHA256:abc"},
				{Name: "bob", How: approval.Signed, Fingerprint: "SHA256:def"}}
		}
		if err := l.Append(admitted, ledger.Event{Type: ledger.RunStarted, RequestID: request, RunID: job},
			ledger.Event{Type: ledger.RunCompleted, RequestID: request, RunID: job, ExitCode: &code, Cause: "none"},
			ledger.Event{Type: ledger.ResultDelivered, RequestID: request, RunID: job, ResultID: "TS-" + id},
			ledger.Event{Type: ledger.ArchivePruned, Jobs: []string{job}, By: "carol", Reason: "older than a quarter"},
		); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	say := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		a := cli.New(nil, &out, &bytes.Buffer{})
		a.Confine = func(confine.Needs) error { return nil }
		a.JSON = args[len(args)-1] == "--json"
		for _, cmd := range Commands(a) {
			if cmd.Name() != args[0] {
				continue
			}
			cmd.SetArgs(append(strings.Fields(strings.TrimSuffix(strings.Join(args[1:], " "), "--json")), "--node", dir))
			if err := cmd.Execute(); err != nil {
				t.Fatalf("%v: %v", args, err)
			}
		}
		return out.String()
	}
	const both = "alice (signature, SHA256:abc), bob (signature, SHA256:def)"
	for _, c := range []struct{ args, want string }{
		{"status TR-20260209-160501Z-new", both},
		{"wait TR-20260209-160501Z-new", both},
		{"results show TR-20260209-160501Z-new", both},
		{"results show TR-20260209-160501Z-new", "CORE"},
		{"events", "requested by CORE, approved by " + both},
		{"events", "by carol: older than a quarter"},
		{"wait TR-20260209-160501Z-new --json", `"fingerprint": "SHA256:abc"`},
		{"status TR-20260209-160501Z-new --json", `"requester": "CORE"`},
		{"results show TR-20260209-160501Z-new --json", `"name": "bob"`},
		{"status TR-20260209-160501Z-old", "not on record"},
		{"results show TR-20260209-160501Z-old", "not on record"},
	} {
		if got := say(strings.Fields(c.args)...); !strings.Contains(got, c.want) {
			t.Errorf("%s does not say %q:\n%s", c.args, c.want, got)
		}
	}
	if got := say("wait", "TR-20260209-160501Z-old", "--json"); strings.Contains(got, "approvers") {
		t.Errorf("an older record has approvers:\n%s", got)
	}
}
