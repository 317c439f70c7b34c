package record

import (
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
	var f orderFlags
	cmd := &cobra.Command{
		Use:   "reject ITEM",
		Short: "Refuse a quarantined item for good",
		Long: `reject refuses a quarantined item for good. The item stays where it is, and the ledger
records who rejected it and when. Name the item by its id,
its request_id or its file name in the inbox.

The command gives the node an order, a file in its folder orders, and waits until the node
has carried it out. What came of it stays in orders/done.`,
		Example: `  threegate quarantine reject TR-20260209-160501Z-python-stats --as alice --reason "a host file"
  threegate quarantine reject j01j8z3k4m5n6p7q8r9s0t1v2w3 --as alice --reason no --sign KEY`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeItems,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := a.startOrder(cmd.Context(), f)
			if err != nil {
				return err
			}
			it, err := findQuarantined(quarantine.NewStore(filepath.Join(o.node.Dir, spool.DirQuarantine)), args[0])
			if err != nil {
				return err
			}
			return o.give(cmd.Context(), orders.Order{Kind: orders.Reject, Subject: it.ID})
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
	list := changed(node, it)
	if a.JSON {
		out := itemToJSON(it)
		out.Changed = list
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
	if on, err := view.Item(node, it.ID); err == nil && on.Rejected != nil {
		way = term.Visible(on.Rejected.By) + " rejected it, for good."
	}
	_, err = fmt.Fprintln(a.UI.Out, "\n"+term.Wrap(way, a.UI.Columns))
	return err
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
