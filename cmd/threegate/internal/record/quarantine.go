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
	"github.com/threegate/tool-exec/cmd/threegate/internal/diag"
	"github.com/threegate/tool-exec/cmd/threegate/internal/source"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

func newQuarantine(a *app) *cobra.Command {
	var kind string
	var withheld bool
	list := &cobra.Command{
		Use:   "list",
		Short: "List refused requests and results, oldest first",
		Long: `list names the requests and results that were refused. With --withheld it lists what
results do not hold that were delivered without it: where it stood, the rule, and how it
begins. The whole lies in the folder of the job, in the archive.`,
		Example: `  threegate quarantine list
  threegate quarantine list --withheld
  threegate quarantine list --kind result --json | jq -r '.[].item'`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if withheld {
				if kind != "" {
					return cli.Usagef("", "--kind and --withheld can't be used together")
				}
				return a.listWithheld()
			}
			if kind != "" && kind != string(schemas.KindRequest) && kind != string(schemas.KindResult) {
				return cli.Usagef("", "--kind is request or result, not %q", kind)
			}
			store, err := a.quarantine()
			if err != nil {
				return err
			}
			items, err := store.List(schemas.Kind(kind))
			if err != nil {
				return cli.Troublef(err, "", "can't list the quarantine")
			}
			return a.listQuarantine(items)
		},
	}
	a.NodeFlag(list)
	list.Flags().StringVar(&kind, "kind", "", "only requests, or only results")
	list.Flags().BoolVar(&withheld, "withheld", false, "what was left out of results, instead")
	cli.Complete(list, "kind", "request", "result")
	show := &cobra.Command{
		Use:   "show ITEM",
		Short: "Show one refused request or result: every finding, with its line",
		Long: `show prints why an item was refused, with the lines of the document. Name the item
by its id, its request_id or its file name in the inbox. What is shown of a document
can't steer the terminal and repeats no secret. The item is compared with its seal in the
ledger first: if anything was changed since it was refused, show says so, and what.`,
		Example: `  threegate quarantine show TR-20260209-160501Z-python-stats
  threegate quarantine show j01j8z3k4m5n6p7q8r9s0t1v2w3 --json | jq .findings`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.quarantine()
			if err != nil {
				return err
			}
			return a.showQuarantine(store, args[0])
		},
	}
	a.NodeFlag(show)
	return cli.Group("quarantine", "Look at what was refused, and decide on it", list, show, newRelease(a), newReject(a))
}

func newReject(a *app) *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use:   "reject ITEM",
		Short: "Refuse a quarantined item for good",
		Long: `reject says that a person looked at a quarantined item and that it stays refused. The
item stays where it is, and the ledger has who said so and when. Name the item by its id,
its request_id or its file name in the inbox.

The command gives the node an order, a file in its folder orders, and waits until the node
has carried it out. What came of it stays in orders/done.`,
		Example: `  threegate quarantine reject TR-20260209-160501Z-python-stats --as alice --reason "a host file"
  threegate quarantine reject j01j8z3k4m5n6p7q8r9s0t1v2w3 --as alice --reason no --sign KEY`,
		Args: cobra.ExactArgs(1),
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
	Item   string `json:"item"`
	Kind   string `json:"kind"`
	Dir    string `json:"dir"`
	Damage string `json:"damage,omitempty"`
	*quarantine.Reasons
	Files []fileJSON `json:"files,omitempty"`
	// Changed is what is not as it was refused; only show looks.
	Changed []changeJSON `json:"changed,omitempty"`
}

type fileJSON struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
	Size int64  `json:"size"`
}

func itemToJSON(it quarantine.Item) itemJSON {
	out := itemJSON{Item: it.ID, Kind: string(it.Kind), Dir: it.Dir, Reasons: it.Reasons}
	if it.Damage != nil {
		out.Damage = it.Damage.Error()
	}
	for _, f := range it.Files {
		out.Files = append(out.Files, fileJSON{f.Path, f.Mode.String(), f.Size})
	}
	return out
}

func (a *app) listQuarantine(items []quarantine.Item) error {
	if a.JSON {
		out := []itemJSON{}
		for _, it := range items {
			out = append(out, itemToJSON(it))
		}
		return a.PrintJSON(out)
	}
	if len(items) == 0 {
		a.UI.Say("nothing is in quarantine")
		return nil
	}
	var rows [][]string
	for _, it := range items {
		row := []string{it.ID, string(it.Kind), "", "", "the reasons can't be read"}
		if r := it.Reasons; r != nil {
			var rules []string
			for _, f := range r.Findings {
				if f.Severity == schemas.SeverityBlocking && !slices.Contains(rules, f.Rule) {
					rules = append(rules, f.Rule)
				}
			}
			copy(row[2:], []string{r.RefusedAt.Format(time.RFC3339), cmp.Or(r.RequestID, r.OriginalName),
				strings.Join(rules, " ")})
		}
		rows = append(rows, row)
	}
	return term.Table(a.UI.Out, a.UI.OutStyle, []string{"ITEM", "KIND", "REFUSED", "REQUEST", "RULES"}, rows)
}

func (a *app) showQuarantine(store *quarantine.Store, key string) error {
	it, err := findQuarantined(store, key)
	if err != nil {
		return err
	}
	list := changed(filepath.Dir(filepath.Dir(filepath.Dir(it.Dir))), it)
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
	fields := [][2]string{{"item", it.ID}, {"kind", string(it.Kind)}, {"request", r.RequestID},
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
	_, err = fmt.Fprintln(a.UI.Out, "\n"+term.Wrap(wayOut(it), a.UI.Columns))
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

// maxShownDocument bounds the document whose lines are shown.
const maxShownDocument = 16 << 20

// showFindings prints the findings with the lines that they are about, as far as
// the document still is the one that was judged.
func (a *app) showFindings(it quarantine.Item) error {
	name, label := spool.FileRequest, cmp.Or(it.Reasons.OriginalName, spool.FileRequest)
	if it.Kind == schemas.KindResult {
		name, label = "result.md", "result.md"
	}
	raw, err := source.Read(filepath.Join(it.Dir, name), false, maxShownDocument)
	if err != nil || len(raw) > maxShownDocument {
		raw = nil
	}
	w := &diag.Text{W: a.UI.Out, Style: a.UI.OutStyle, Columns: a.UI.Columns}
	return w.Report(diag.New(label, it.Kind, raw, it.Reasons.Findings))
}
