package record

import (
	"errors"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
)

// What can't be released is told with its mend.
func TestUnreleasableIsToldWithItsMend(t *testing.T) {
	_, err := choose(&quarantine.Reasons{Findings: []schemas.Finding{{Rule: "approval.missing",
		Severity: schemas.SeverityBlocking, Message: "nobody approved it", Hint: "Have it approved."}}}, nil)
	fault, ok := errors.AsType[*cli.Fault](err)
	if !ok || !strings.HasPrefix(fault.Hint, "to mend it: Have it approved. Then promote it again; threegate explain approval.missing") {
		t.Errorf("%+v", err)
	}
}
