package record

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

func newQuarantine(a *app) *cobra.Command {
	show := &cobra.Command{
		Use:   "show ITEM",
		Short: "Show one refused request or result: every finding, with its line",
		Long: `show prints why an item was refused: each finding with its number, its message, and its
line in the document, a stream or an output file. Name the item by its
id, its request_id or its file name in the inbox. What is shown can't steer the terminal:
hidden characters are spelled out. It repeats no secret: if the item holds one, show prints
only the excerpts in which it is masked. The item is compared with its seal in the ledger
first: if anything was changed since it was refused, show says so, and what.`,
		Example: `  threegate quarantine show TR-20260209-160501Z-python-stats
  threegate quarantine show j01j8z3k4m5n6p7q8r9s0t1v2w3 --json | jq .findings`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeItems,
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.quarantine()
			if err != nil {
				return err
			}
			return a.showQuarantine(store, args[0])
		},
	}
	a.NodeFlag(show)
	return cli.Group("quarantine", "Review what was refused, and decide on it", newQuarantineList(a), show,
		newRelease(a), newReject(a))
}

func newReject(a *app) *cobra.Command {
	var f decideFlags
	cmd := &cobra.Command{
		Use:   "reject ITEM...",
		Short: "Refuse quarantined items for good",
		Long: `reject refuses quarantined items for good. They stay where they are, and the ledger
records who rejected each and when. Name an item by its id, its request_id or its file name
in the inbox; or choose all undecided ones of a rule, an approver or an inbox. Then --count
must say how many those are; without it the command names them, and rejects none.

The command gives the node an order for each, a file in its folder orders, and waits until
the node has carried them out. What came of each stays in orders/done. With --sign each
order is signed; for a key with a passphrase use ssh-agent, or it is asked for each.`,
		Example: `  threegate quarantine reject TR-20260209-160501Z-python-stats --as alice --reason "a host file"
  threegate quarantine reject j01j8z3k4m5n6p7q8r9s0t1v2w3 --as alice --reason no --sign KEY
  threegate quarantine reject --rule sec.paths --count 12 --as alice --reason "host files"`,
		ValidArgsFunction: a.completeItems,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.decide(cmd.Context(), f, args, func(it quarantine.Item) (orders.Order, error) {
				return orders.Order{Kind: orders.Reject, Subject: it.ID}, nil
			})
		},
	}
	f.add(a, cmd)
	return cmd
}

func (a *app) quarantine() (*quarantine.Store, error) {
	l, err := a.ReadNode()
	if err != nil {
		return nil, err
	}
	return quarantine.NewStore(filepath.Join(l.Dir, spool.DirQuarantine)), nil
}

// itemJSON is an item as programs get it: what reasons.json says, and what lies there.
type itemJSON struct {
	Item   string       `json:"item"`
	Kind   string       `json:"kind"`
	State  ledger.State `json:"state"`
	Dir    string       `json:"dir"`
	Damage string       `json:"damage,omitempty"`
	*quarantine.Reasons
	Files []fileJSON `json:"files,omitempty"`
	// Decided is by whom, when and why a person ended it for good.
	Decided *ledger.Decision `json:"decided,omitempty"`
	// Changed is what is not as it was refused; only show looks.
	Changed []changeJSON `json:"changed,omitempty"`
}

// stateOf is the state of a request that has the item.
func stateOf(it quarantine.Item) ledger.State {
	if it.Kind == schemas.KindResult {
		return ledger.StateResultQuarantined
	}
	return ledger.StateQuarantined
}

type fileJSON struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
	Size int64  `json:"size"`
}

func itemToJSON(it quarantine.Item) itemJSON {
	out := itemJSON{Item: it.ID, Kind: string(it.Kind), State: stateOf(it), Dir: it.Dir, Reasons: it.Reasons}
	if it.Damage != nil {
		out.Damage = it.Damage.Error()
	}
	for _, f := range it.Files {
		out.Files = append(out.Files, fileJSON{f.Path, f.Mode.String(), f.Size})
	}
	return out
}

func (a *app) showQuarantine(store *quarantine.Store, key string) error {
	it, err := findQuarantined(store, key)
	if err != nil {
		return err
	}
	node := filepath.Dir(filepath.Dir(filepath.Dir(it.Dir)))
	list, decided := changed(node, it), decidedOn(node, it)
	if a.JSON {
		out := itemToJSON(it)
		out.Changed, out.Decided = list, decided
		return a.PrintJSON(out)
	}
	a.tellChanged(list)
	if it.Damage != nil {
		return cli.Troublef(it.Damage, "the item lies in "+it.Dir, "item %s", it.ID)
	}
	r := it.Reasons
	fields := [][2]string{{"item", it.ID}, {"state", string(stateOf(it))}, {"request", r.RequestID},
		{"file", r.OriginalName}, {"inbox", r.Inbox},
		{"approved by", approver(r, list)}, {"refused", fmt.Sprintf("%s, at stage %s", r.RefusedAt.Format(time.RFC3339),
			r.Stage)},
		{"sha256", r.SHA256}, {"folder", it.Dir}}
	fields = slices.DeleteFunc(fields, func(f [2]string) bool { return f[1] == "" })
	if err := term.Fields(a.UI.Out, a.UI.OutStyle, fields); err != nil {
		return err
	}
	fmt.Fprintln(a.UI.Out)
	if err := a.showFindings(it); err != nil {
		return err
	}
	way := wayOut(it)
	if d := decided; d != nil {
		way = fmt.Sprintf("%s ended it for good on %s: %s", d.By, d.TimeUTC.Format(time.RFC3339),
			cmp.Or(d.Reason, "the reason can't be read"))
	}
	_, err = fmt.Fprintln(a.UI.Out, "\n"+term.Wrap(way, a.UI.Columns))
	return err
}

// decidedOn is the decision of a person that ended an item for good, with its reason as far as the caller may read
// orders; nil if there is none on record.
func decidedOn(node string, it quarantine.Item) *ledger.Decision {
	r, err := view.Item(node, it.ID)
	if err != nil {
		return nil
	}
	d := cmp.Or(r.Rejected, r.Cancelled)
	if d != nil {
		d.Reason, _ = orders.ReasonOf(node, d.Order)
	}
	return d
}

// findQuarantined finds the item by its id, or by what people know of it.
func findQuarantined(store *quarantine.Store, key string) (quarantine.Item, error) {
	it, err := store.Show(key)
	if !errors.Is(err, quarantine.ErrNotFound) {
		return it, unreadable(err)
	}
	items, err := store.Find(requestID(key))
	switch {
	case err != nil:
		return it, unreadable(err)
	case len(items) == 0:
		return it, cli.NotFoundf("threegate quarantine list shows what is", "%q is not in quarantine", key)
	case len(items) == 1:
		it, err = store.Show(items[0].ID)
		return it, unreadable(err)
	}
	var ids []string
	for _, it := range items {
		ids = append(ids, it.ID)
	}
	return it, cli.Usagef("name one of the items: "+strings.Join(ids, ", "), "%d items are of %q", len(items), key)
}

func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return cli.Troublef(err, "", "can't read the quarantine")
}
