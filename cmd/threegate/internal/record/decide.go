package record

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/spool"
)

// decideFlags say on which items of the quarantine a person decides, and what every order says.
type decideFlags struct {
	orderFlags
	which listFlags
	count int
}

func (f *decideFlags) add(a *app, cmd *cobra.Command) {
	f.orderFlags.add(a, cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.which.rule, "rule", "", "all undecided items that this `rule`, or group of rules, refused")
	fl.StringVar(&f.which.approver, "approver", "", "all undecided items that this `name` approved")
	fl.StringVar(&f.which.inbox, "inbox", "", "all undecided items that came through the inbox of this `name`")
	f.which.since.Flag(cmd, "with these: what was refused")
	fl.IntVar(&f.count, "count", 0, "how many items that are: another `number` decides on none")
}

// decide gives an order for each item that is named, or that the flags choose. Nothing is ordered if one of them can't
// be.
func (a *app) decide(ctx context.Context, f decideFlags, args []string,
	orderOf func(quarantine.Item) (orders.Order, error)) error {
	chosen := f.which.rule+f.which.approver+f.which.inbox != ""
	switch {
	case chosen == (len(args) > 0):
		return cli.Usagef("threegate quarantine list shows the items",
			"name items, or choose them with --rule, --approver or --inbox")
	case !chosen && f.count != 0:
		return cli.Usagef("", "--count goes with --rule, --approver or --inbox")
	}
	if err := f.which.check(a.Now()); err != nil {
		return err
	}
	if chosen && f.count == 0 {
		return a.countFirst(f)
	}
	o, err := a.startOrder(ctx, f.orderFlags, max(len(args), f.count))
	if err != nil {
		return err
	}
	items, err := a.itemsOf(o.node, f, args)
	if err != nil {
		return err
	}
	if chosen && len(items) != f.count {
		return wrongCount(len(items))
	}
	var list []orders.Order
	for _, it := range items {
		order, err := orderOf(it)
		if err != nil {
			return err
		}
		list = append(list, order)
	}
	return o.give(ctx, list...)
}

// countFirst says how many items the flags choose, before anybody decides on them.
func (a *app) countFirst(f decideFlags) error {
	l, err := a.ReadNode()
	if err != nil {
		return err
	}
	items, err := a.itemsOf(l, f, nil)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return wrongCount(0)
	}
	for _, it := range items {
		a.UI.Say("%s", it.ID+"  "+it.Reasons.RequestID)
	}
	return wrongCount(len(items))
}

func wrongCount(n int) error {
	if n == 0 {
		return cli.NotFoundf("threegate quarantine list shows what is there", "no undecided item is chosen")
	}
	return cli.Usagef("if you decide on all of them, add --count "+strconv.Itoa(n), "%s chosen",
		term.Plural(n, "item is", "items are"))
}

// itemsOf are the items that are named, or all undecided ones that the flags choose.
func (a *app) itemsOf(l *config.Node, f decideFlags, names []string) (items []quarantine.Item, err error) {
	store := quarantine.NewStore(filepath.Join(l.Dir, spool.DirQuarantine))
	for _, name := range names {
		it, err := findQuarantined(store, name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(items, func(x quarantine.Item) bool { return x.ID == it.ID }) {
			return nil, cli.Usagef("", "%s is named twice", strings.TrimSpace(name))
		}
		items = append(items, it)
	}
	if len(names) > 0 {
		return items, nil
	}
	if items, err = store.List(""); err != nil {
		return nil, unreadable(err)
	}
	decided, err := decisions(l)
	return slices.DeleteFunc(items, func(it quarantine.Item) bool {
		return it.Reasons == nil || !f.which.wants(it) || decided[it.ID] != nil
	}), err
}

// decisions are those of persons that ended items for good, by the item: its rejection, or the cancellation of its
// request.
func decisions(l *config.Node) (map[string]*ledger.Decision, error) {
	h := ledger.History{Whole: func(r *ledger.Request) bool { return !r.State.Answered() }}
	_, _, err := ledger.Read(filepath.Join(l.Dir, spool.DirLedger), func(e ledger.Event) error {
		h.Note(e)
		return nil
	})
	if err != nil {
		return nil, cli.Troublef(err, cli.RecordHint(err, l.Dir), "can't tell what was decided")
	}
	by := map[string]*ledger.Decision{}
	for _, r := range h.Requests() {
		if d := cmp.Or(r.Rejected, r.Cancelled); d != nil {
			by[r.Job] = d
		}
	}
	return by, nil
}
