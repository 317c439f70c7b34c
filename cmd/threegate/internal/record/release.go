package record

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
)

func newRelease(a *app) *cobra.Command {
	var f decideFlags
	var numbers []int
	cmd := &cobra.Command{
		Use:   "release ITEM...",
		Short: "Mark findings as false alarms, and have the items judged again",
		Long: `release marks findings as false alarms. Each item then goes through the whole gate again.
A request runs if no other rule refuses it; a result is delivered, and its safety notes
name who released it.

--finding names a finding by its number in quarantine show, and can be repeated; without it
every finding that can be released is. Only judgements about text can be: secrets, what the
text of a result says, what a request says to people; threegate explain RULE tells. A missing
approval, a hash, the form of a document and what binds the sandbox can't.

A release covers a rule and the digest of exactly the bytes that it named, in this item alone.
It is on record with your name before anything happens. A new finding quarantines the item
again.`,
		Example: `  threegate quarantine show TR-20260209-160501Z-python-stats
  threegate quarantine release TR-20260209-160501Z-python-stats --as alice --reason "a checksum"
  threegate quarantine release ITEM --finding 2 --as alice --reason "a checksum" --sign KEY
  threegate quarantine release --rule result.instruction --count 3 --as alice --reason manuals`,
		ValidArgsFunction: a.completeItems,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(numbers) > 0 && len(args) != 1 {
				return cli.Usagef("", "--finding goes with one item")
			}
			return a.decide(cmd.Context(), f, args, func(it quarantine.Item) (orders.Order, error) {
				if it.Damage != nil {
					return orders.Order{}, cli.Troublef(it.Damage, "the item lies in "+it.Dir, "item %s", it.ID)
				}
				released, err := choose(it.Reasons, numbers)
				return orders.Order{Kind: orders.Release, Subject: it.ID, Released: released}, err
			})
		},
	}
	f.add(a, cmd)
	cmd.Flags().IntSliceVar(&numbers, "finding", nil, "release only the finding of this `number`")
	return cmd
}

// choose returns what is to be released of an item.
func choose(r *quarantine.Reasons, numbers []int) (chosen []schemas.Release, err error) {
	if n := r.Unreleasable(); n > 0 {
		rule := r.Findings[n-1].Rule
		hint := "mend it"
		if mend := r.Findings[n-1].Hint; mend != "" {
			hint = "to mend it: " + strings.TrimSuffix(mend, ".")
		}
		return nil, cli.Rejectf(rule, hint+". Then promote it again; threegate explain "+rule+" says why",
			"finding %d, %s, is none that a person can release", n, rule)
	}
	may := map[int][]schemas.Release{}
	for _, x := range r.Releasable {
		may[x.Finding] = append(may[x.Finding], x.Release)
	}
	all := slices.Sorted(maps.Keys(may))
	if len(numbers) == 0 {
		numbers = all
	}
	for _, n := range numbers {
		if may[n] == nil {
			return nil, cli.Usagef("those that can be are "+joined(all), "finding %d can't be released", n)
		}
		for _, x := range may[n] {
			if !slices.Contains(chosen, x) {
				chosen = append(chosen, x)
			}
		}
	}
	if len(chosen) > orders.MaxReleased {
		return nil, cli.Usagef(fmt.Sprintf("name at most %d with --finding", orders.MaxReleased),
			"%d findings are too many for one order", len(chosen))
	}
	return chosen, nil
}

// wayOut says what a person can do about an item.
func wayOut(it quarantine.Item) string {
	if n := it.Reasons.Unreleasable(); n > 0 {
		return fmt.Sprintf("Nobody can release it: finding %d, %s, is no judgement about text. Mend it, and "+
			"promote it again.", n, it.Reasons.Findings[n-1].Rule)
	}
	var can []string
	for _, x := range it.Reasons.Releasable {
		can = append(can, fmt.Sprintf("%d (%s)", x.Finding, x.Rule))
	}
	can = slices.Compact(can)
	return "If these findings are false alarms, threegate quarantine release " + it.ID + " takes them back: " +
		strings.Join(can, ", ") + "."
}

// joined lists numbers.
func joined(ns []int) string {
	var s []string
	for _, n := range ns {
		s = append(s, strconv.Itoa(n))
	}
	return strings.Join(s, ", ")
}
