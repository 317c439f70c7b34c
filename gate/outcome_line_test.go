package gate

import (
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/schemas"
)

// TestInterruptedSaysWhy: not every interrupted run was the node's going down.
func TestInterruptedSaysWhy(t *testing.T) {
	line := func(detail string) string {
		return outcomeLine(&admission{}, &executors.Outcome{ExitCode: -1, Cause: schemas.CauseInterrupted, Detail: detail})
	}
	if got := line("the sandbox was killed from outside"); !strings.HasPrefix(got, "Interrupted: the sandbox was killed from outside; ") || strings.Contains(got, "node") {
		t.Error(got)
	}
	if got := line(""); !strings.HasPrefix(got, "Interrupted: the node went down while it ran; ") {
		t.Error(got)
	}
}
