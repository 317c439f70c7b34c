package record

import (
	"errors"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
)

// TestUnreleasable: release says how to mend what nobody can release.
func TestUnreleasable(t *testing.T) {
	node := newNode(t)
	f := finding("", "approval.missing", 0)
	f.Hint = "Have it approved."
	refused(t, node, jobID("a"), quarantine.Reasons{Kind: schemas.KindRequest, Findings: []schemas.Finding{f}})
	_, err := run(node, "quarantine", "release", jobID("a"), "--as", "alice", "--reason", "none")
	fault, ok := errors.AsType[*cli.Fault](err)
	if !ok || !strings.HasPrefix(fault.Hint, "to mend it: Have it approved. Then promote it again; threegate explain approval.missing") {
		t.Errorf("%+v", err)
	}
}
