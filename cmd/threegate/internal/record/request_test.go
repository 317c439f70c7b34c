package record

import (
	"errors"
	"testing"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
)

// TestExit: each end of a request has its exit code; one that is no plain success is never 0.
func TestExit(t *testing.T) {
	for _, state := range ledger.States {
		for _, cause := range schemas.Causes {
			for _, code := range []int{0, 3} {
				want := cli.ExitReject
				if state.Answered() && code == 0 {
					want = cli.ExitIncomplete
					if cause == schemas.CauseNone {
						want = cli.ExitOK
					}
				}
				got := cli.ExitOK
				if v, ok := errors.AsType[cli.Verdict](Exit(&view.RequestStatus{Request: ledger.Request{State: state,
					Cause: cause, ExitCode: &code}})); ok {
					got = int(v)
				}
				if got != want {
					t.Errorf("%s, cause %s, exit code %d: %d, want %d", state, cause, code, got, want)
				}
			}
		}
	}
}
