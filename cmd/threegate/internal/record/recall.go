package record

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/view"
)

func newRecall(a *app) *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use:   "recall REQUEST",
		Short: "Take back a result that proved bad after its delivery",
		Long: `recall ends the answer to a request whose result CORE got: CORE gets a notice of the stage
recalled, with the result's id and digest. The file stays where CORE has it, and the job stays in
the archive. The id is used up. Nothing undoes a recall.

The command lists the requests that took the result, or a file that its run made, as input: by the
digests on record. threegate status shows the list again. A file that was changed before it became
an input can't be found so.

The command gives the node an order, a file in its folder orders, and waits until the node
has carried it out. The order names the digest of the result: if another answer is in force by
then, it is refused, with exit code 1.`,
		Example: `  threegate recall TR-20260209-160501Z-python-stats --as alice --reason "the input was wrong"
  threegate recall TR-20260209-160501Z-python-stats --as alice --reason wrong --sign KEY --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRequests,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := a.startOrder(cmd.Context(), f, 1)
			if err != nil {
				return err
			}
			r, err := o.inForce(requestID(args[0]))
			if err != nil {
				return err
			}
			order := orders.Order{Kind: orders.Recall, Subject: r.RequestID, ResultSHA256: r.ResultSHA256}
			if err := o.give(cmd.Context(), order); err != nil || a.JSON {
				return err
			}
			if r, err = view.Of(o.node, r.RequestID); err != nil {
				return cli.Troublef(err, cli.RecordHint(err, o.node.Dir), "can't look for %s",
					order.Subject)
			}
			_, err = fmt.Fprintln(a.UI.Out, term.Wrap("Taken as input by: "+tookBy(r.Took), a.UI.Columns))
			return err
		},
	}
	f.add(a, cmd)
	return cmd
}

// tookBy names the requests that took a recalled result as input; "" if it was not recalled.
func tookBy(t *ledger.Took) string {
	if t == nil {
		return ""
	}
	s := cmp.Or(strings.Join(t.IDs, ", "), "no request on record")
	if more := t.Requests - len(t.IDs); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	if t.Unlisted {
		s += " (its files were not known any longer)"
	}
	return s
}
