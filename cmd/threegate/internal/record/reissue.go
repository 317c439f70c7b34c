package record

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
)

func newReissue(a *app) *cobra.Command {
	var f orderFlags
	var places []int
	cmd := &cobra.Command{
		Use:   "reissue REQUEST",
		Short: "Deliver a result again, with places that were withheld by mistake",
		Long: `reissue releases places or files that a delivered result does not hold. The result is rendered
again from the archive, by the rules of today without these judgements, and delivered as TS-...-2;
its Provenance names the result that it replaces. It passes every other rule, or the order is
refused and the result stays as it is.

--place names a place by its number in quarantine list --withheld or results show, and can be
repeated; without it each place that can be released is. Only judgements on what a text says can
be: no masked secret, no file of a type that is not delivered, no name. What the archive no longer
has can't be reissued, nor what was recalled.

The command gives the node an order, a file in its folder orders, and waits until the node has
carried it out; CORE gets the result at once then, or when its folder is there again.`,
		Example: `  threegate quarantine list --withheld
  threegate reissue TR-20260209-160501Z-python-stats --place 1 --as alice --reason "a manual"`,
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
			list, err := withheldOf(o.node, r)
			if err != nil {
				return cli.Troublef(err, "", "can't list what the result of %s does not hold", r.RequestID)
			}
			released, err := choosePlaces(list, places)
			if err != nil {
				return err
			}
			return o.give(cmd.Context(), orders.Order{Kind: orders.Reissue, Subject: r.RequestID,
				ResultSHA256: r.ResultSHA256, Released: released})
		},
	}
	f.add(a, cmd)
	cmd.Flags().IntSliceVar(&places, "place", nil, "release only the place of this `number`")
	return cmd
}

// inForce is a request whose result CORE got, and that is its answer.
func (o *ordering) inForce(id string) (*view.RequestStatus, error) {
	r, err := view.Of(o.node, id)
	switch {
	case err != nil:
		return nil, cli.Troublef(err, cli.RecordHint(err, o.node.Dir), "can't look for %s", id)
	case r.State == ledger.StateUnknown:
		return nil, o.unknownRequest(id)
	case !r.State.Answered():
		return nil, cli.Rejectf("", "threegate status "+id+o.NodeArg()+" says more",
			"CORE has no result of %s that is in force: it is %s", id, r.State)
	}
	return r, nil
}

// choosePlaces returns what is to be released of a result: that of the places of these numbers, or of all that can be.
func choosePlaces(list []withheldJSON, numbers []int) (chosen []schemas.Release, err error) {
	var all []int
	for _, w := range list {
		if len(w.Releases) > 0 {
			all = append(all, w.Place)
		}
	}
	if len(all) == 0 {
		return nil, cli.Rejectf("", "threegate quarantine list --withheld says what is withheld; what is masked, "+
			"is no text, or was delivered by an older node can't be released",
			"the result holds all that can be released")
	}
	if len(numbers) == 0 {
		numbers = all
	}
	for _, n := range numbers {
		if !slices.Contains(all, n) {
			return nil, cli.Usagef("those that can be are "+joined(all), "place %d can't be released", n)
		}
		for _, x := range list[n-1].Releases {
			if !slices.Contains(chosen, x) {
				chosen = append(chosen, x)
			}
		}
	}
	if len(chosen) > orders.MaxReleased {
		return nil, cli.Usagef(fmt.Sprintf("name fewer with --place: an order releases at most %d findings",
			orders.MaxReleased), "%d findings are too many for one order", len(chosen))
	}
	return chosen, nil
}
