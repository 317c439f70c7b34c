package record

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// orderFlags are the flags of every command that gives an order.
type orderFlags struct {
	as, reason, key string
	timeout         time.Duration
}

func (f *orderFlags) add(a *app, cmd *cobra.Command) {
	a.NodeFlag(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.as, "as", "", "your `name`, as the node's approvers are named")
	fl.StringVar(&f.reason, "reason", "", "why, in one line of `text`: it is kept with the order")
	fl.StringVar(&f.key, "sign", "", "sign the order with this OpenSSH `key`")
	fl.DurationVar(&f.timeout, "timeout", 0, "give up waiting for the node after this `duration`")
	_ = cmd.MarkFlagFilename("sign")
	_ = cmd.MarkFlagRequired("as")
	_ = cmd.MarkFlagRequired("reason")
}

func newCancel(a *app) *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use:   "cancel REQUEST",
		Short: "Cancel a request: if it waits it never starts, if it runs it is stopped",
		Long: `cancel ends a request for good. One that waits never starts: it goes to quarantine, and
CORE gets a notice of the stage cancelled. One that runs is stopped at once: CORE gets its
result, with the cause cancelled and what the program wrote until then. A run that comes to its
own end first keeps its result. The id is used up either way.

The command gives the node an order, a file in its folder orders, and waits until the node
has carried it out. What came of it stays in orders/done. If the request is over, the
order is refused, with exit code 1; exit code 5 says that the order waits for a node that
is not served.`,
		Example: `  threegate cancel TR-20260209-160501Z-python-stats --as alice --reason "the wrong file"
  threegate cancel TR-20260209-160501Z-python-stats --as alice --reason late --sign KEY`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRequests,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := a.startOrder(cmd.Context(), f, 1)
			if err != nil {
				return err
			}
			id := requestID(args[0])
			request, err := view.Of(o.node, id)
			if err != nil {
				return cli.Troublef(err, cli.RecordHint(err, o.node.Dir), "can't look for %s", id)
			}
			if request.State == ledger.StateUnknown {
				return a.unknownRequest(id)
			}
			return o.give(cmd.Context(), orders.Order{Kind: orders.Cancel, Subject: id})
		},
	}
	f.add(a, cmd)
	return cmd
}

// ordering is a command that is about to give an order. It has given up all rights but to read the
// node, to write into its folder of orders, and to hand bytes to the process that signs.
type ordering struct {
	*app
	orderFlags
	node *config.Node
	sign func([]byte) ([]byte, error)
}

// startOrder begins to give as many orders as most.
func (a *app) startOrder(ctx context.Context, f orderFlags, most int) (*ordering, error) {
	l, err := a.LoadNode()
	if err != nil {
		return nil, err
	}
	o := &ordering{app: a, orderFlags: f, node: l}
	if f.key != "" {
		s, err := cli.StartSigner(ctx, f.key, orders.Namespace, most)
		if err != nil {
			return nil, err
		}
		o.sign = s.Sign
	}
	return o, a.DropPrivileges(confine.Needs{Read: cli.NodeFolders(l),
		Write: []string{filepath.Join(l.Dir, spool.DirOrders)}})
}

// give gives orders and waits until the node has carried each out or refused it.
func (o *ordering) give(ctx context.Context, list ...orders.Order) error {
	var inboxes []string
	for _, in := range o.node.Inboxes {
		inboxes = append(inboxes, in.Path)
	}
	var given []orders.Receipt
	for _, order := range list {
		order.By, order.Reason = o.as, o.reason
		receipt, err := orders.Give(o.node.Dir, order, o.Now(), o.sign, inboxes...)
		if f, ours := errors.AsType[*cli.Fault](err); ours {
			return f
		}
		if err != nil {
			return cli.Troublef(err, "", "can't give the order")
		}
		given = append(given, receipt)
	}
	if o.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, o.timeout)
		defer stop()
	}
	var answers []*orders.Answer
	for i, order := range list {
		answer, err := o.await(ctx, given[i])
		if err != nil {
			return err
		}
		if answers = append(answers, answer); answer.Refused == "" && !o.JSON {
			if _, err := fmt.Fprintln(o.UI.Out, term.Visible(answer.Order+": done: "+order.Subject)); err != nil {
				return err
			}
		}
	}
	return o.answered(list, answers)
}

// await waits for what comes of an order.
func (o *ordering) await(ctx context.Context, given orders.Receipt) (*orders.Answer, error) {
	for {
		answer, err := orders.AnswerOf(o.node.Dir, given.SHA256)
		switch {
		case err != nil:
			return nil, cli.Troublef(err, "", "can't read what came of the order")
		case answer != nil:
			return answer, nil
		}
		served, err := spool.Locked(o.node.Dir)
		if err == nil && !served {
			return nil, o.waits(given.Name, "nobody serves the node in "+o.node.Dir,
				"threegate serve --node "+o.node.Dir)
		}
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				return nil, o.waits(given.Name, fmt.Sprintf("the node did not answer within %s", o.timeout),
					"threegate status"+o.NodeArg()+" says what holds it up")
			}
			return nil, context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
}

// waits says that an order is given and not carried out yet.
func (o *ordering) waits(name, why, hint string) error {
	return &cli.Fault{Exit: cli.ExitTimeout, Code: schemas.CodeTimeout,
		Message: fmt.Sprintf("%s; the order %s waits, and is carried out as soon as it can be", why, name), Hint: hint}
}

// answered prints the answers for programs, one alone as it is, and is a fault if one of them is a refusal.
func (o *ordering) answered(list []orders.Order, answers []*orders.Answer) error {
	var refused []*cli.Fault
	for i, answer := range answers {
		if answer.Refused == "" {
			continue
		}
		about := ""
		if len(list) > 1 {
			about = " of " + list[i].Subject
		}
		stays := filepath.Join(o.node.Dir, spool.DirOrdersDone, answer.SHA256+".answer")
		refused = append(refused, cli.Rejectf("", "the answer stays in "+stays, "the order%s was refused: %s", about,
			answer.Refused))
	}
	switch {
	case o.JSON && len(answers) == 1 && len(refused) == 0:
		return o.PrintJSON(answers[0])
	case o.JSON && len(answers) > 1:
		if err := o.PrintJSON(answers); err != nil {
			return err
		}
	}
	for i, err := range refused {
		if i == len(refused)-1 {
			return err
		}
		o.Report(err)
	}
	return nil
}
