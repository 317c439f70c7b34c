package record

import (
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/validate/approval"
)

// TestCommandsNameTheApprovers: each command that tells of an admitted request names who asked and who approved, also
// when the job was removed from the archive; of an older record it says that this is not on record.
func TestCommandsNameTheApprovers(t *testing.T) {
	node := newNode(t)
	code := 0
	for _, id := range []string{"new", "old"} {
		request, job := "TR-20260209-160501Z-"+id, "j01j8z3k4m5n6p7q8r9s0t1v2w"+id[:1]
		admitted := ledger.Event{Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeAdmitted, RequestID: request, RunID: job}
		if id == "new" {
			admitted.Requester = "CORE"
			admitted.Approvers = []approval.Approver{{Name: "alice", How: approval.Signed, Fingerprint: "SHA256:abc"},
				{Name: "bob", How: approval.Signed, Fingerprint: "SHA256:def"}}
		}
		record(t, node, admitted, ledger.Event{Type: ledger.RunStarted, RequestID: request, RunID: job},
			ledger.Event{Type: ledger.RunCompleted, RequestID: request, RunID: job, ExitCode: &code, Cause: "none"},
			ledger.Event{Type: ledger.ResultDelivered, RequestID: request, RunID: job, ResultID: "TS-" + id},
			ledger.Event{Type: ledger.ArchivePruned, Jobs: []string{job}, By: "carol", Reason: "older than a quarter"})
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
		if got := say(t, node, strings.Fields(c.args)...); !strings.Contains(got, c.want) {
			t.Errorf("%s does not say %q:\n%s", c.args, c.want, got)
		}
	}
	if got := say(t, node, "wait", "TR-20260209-160501Z-old", "--json"); strings.Contains(got, "approvers") {
		t.Errorf("an older record has approvers:\n%s", got)
	}
}
