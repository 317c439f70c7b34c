package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

const (
	pollEvery = 100 * time.Millisecond
	// unknownGrace is how long a request may leave no trace: between leaving the
	// inbox and its verdict it is on no record.
	unknownGrace = 10 * time.Second
)

func newWait(a *app) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait REQUEST",
		Short: "Wait for the result of a request",
		Long: `wait returns when a request has its result or is quarantined, and shows the outcome.
It ends with exit code 0 if a result was delivered and the program succeeded, 7 if it
succeeded and the result is incomplete, 1 if the program failed, something was
quarantined or the result was recalled, 5 when --timeout is over, and 3 if the node knows no
such request.`,
		Example: `  threegate wait TR-20260209-160501Z-python-stats
  threegate wait TR-20260209-160501Z-python-stats --timeout 5m --json | jq -r .result_path`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRequests,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := a.ReadNode()
			if err != nil {
				return err
			}
			f, err := a.wait(cmd.Context(), l, requestID(args[0]), timeout)
			if err != nil {
				return err
			}
			tellReason(l, f)
			if err := a.printRequest(f); err != nil {
				return err
			}
			return Exit(f)
		},
	}
	a.NodeFlag(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this `duration`, like 30s or 5m (default: never)")
	return cmd
}

// Follow looks at a request until it has come to its end. It shows each look to each, whose
// error ends it; when ctx ends, it returns the cause.
func Follow(ctx context.Context, w *view.Watch, each func(*view.RequestStatus) error) (*view.RequestStatus, error) {
	for {
		f, err := w.Look()
		if err != nil || f.State.Ended() {
			return f, err
		}
		if err := each(f); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
}

func (a *app) wait(ctx context.Context, l *config.Node, id string, timeout time.Duration) (*view.RequestStatus, error) {
	late := &cli.Fault{Exit: cli.ExitTimeout, Code: schemas.CodeTimeout,
		Message: fmt.Sprintf("%s has not come to its end within %s", id, timeout),
		Hint:    "threegate status " + id + a.NodeArg() + " says where it is"}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, late)
		defer cancel()
	}
	known, warned := time.Now(), false
	f, err := Follow(ctx, view.Follow(l, id), func(f *view.RequestStatus) error {
		if f.State != ledger.StateUnknown {
			known = time.Now()
		} else if time.Since(known) > unknownGrace {
			return a.unknownRequest(id)
		}
		if served, err := spool.Locked(l.Dir); err == nil && !served && !warned {
			warned = true
			a.UI.Warn("nobody serves the node in "+l.Dir+"; waiting all the same", "threegate serve --node "+l.Dir)
		}
		return nil
	})
	if _, ours := errors.AsType[*cli.Fault](err); err == nil || ours || ctx.Err() != nil {
		return f, err
	}
	return nil, cli.Troublef(err, cli.RecordHint(err, l.Dir), "can't look for %s", id)
}
