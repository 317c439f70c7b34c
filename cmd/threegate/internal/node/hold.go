package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/hold"
)

func newHold(a *app) *cobra.Command {
	var by, reason string
	cmd := &cobra.Command{
		Use:   "hold [INBOX]",
		Short: "Stop taking in requests, from one inbox or from all, until resume",
		Long: `hold stops the node from taking in requests, from the inbox that is named or from all.
They wait where they are. What was admitted before goes on to its result. The hold is
in force when the command ends, and survives restarts, until threegate resume. status
and doctor show what is held, by whom and why.`,
		Example: `  threegate hold --reason "images are replaced"
  threegate hold team-a --as alice --reason "keys of team a are exchanged"`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeInboxes,
		RunE: func(_ *cobra.Command, args []string) error {
			l, inbox, err := a.heldNode(args)
			if err != nil {
				return err
			}
			h := hold.Hold{Inbox: inbox, By: cmp.Or(by, a.Getenv("USER")), Reason: reason, SinceUTC: a.Now().UTC()}
			err = hold.Set(l, h)
			if errors.Is(err, fs.ErrExist) {
				return a.held(l, inbox, "was held already")
			}
			if err != nil {
				return cli.Troublef(err, "say who and why: --as NAME --reason TEXT", "can't hold %s", h.What())
			}
			return a.held(l, inbox, "is held")
		},
	}
	a.NodeFlag(cmd)
	cmd.Flags().StringVar(&by, "as", "", "your `name` (default: $USER)")
	cmd.Flags().StringVar(&reason, "reason", "", "why, in one line of `text`")
	_ = cmd.MarkFlagRequired("reason")
	return cmd
}

func newResume(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume [INBOX]",
		Short: "Take requests in again",
		Long: `resume ends the hold of the inbox that is named, or without a name that of the whole
node. A served node takes in what waited at its next sweep (node.sweep).`,
		Example: `  threegate resume
  threegate resume team-a`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeInboxes,
		RunE: func(_ *cobra.Command, args []string) error {
			l, inbox, err := a.heldNode(args)
			if err != nil {
				return err
			}
			h := hold.Hold{Inbox: inbox}
			err = hold.Release(l, inbox)
			if errors.Is(err, fs.ErrNotExist) {
				return cli.NotFoundf("threegate status"+a.NodeArg()+" says what is held", "%s is not held", h.What())
			}
			if err != nil {
				return cli.Troublef(err, "", "can't resume %s", h.What())
			}
			return a.held(l, inbox, "is resumed")
		},
	}
	a.NodeFlag(cmd)
	return cmd
}

// heldNode loads the node of a command that holds or resumes, and finds the inbox that it names.
func (a *app) heldNode(args []string) (l *config.Node, inbox string, err error) {
	if l, err = a.LoadNode(); err != nil {
		return nil, "", err
	}
	if len(args) == 1 {
		inbox = args[0]
		if names := inboxNames(l); !slices.Contains(names, inbox) {
			return nil, "", cli.NotFoundf("its inboxes: "+strings.Join(names, ", "), "the node has no inbox %q", inbox)
		}
	}
	return l, inbox, a.DropPrivileges(confine.Needs{Read: []string{l.Dir}, Write: []string{l.Dir}})
}

// held says what is so now, and what else is held.
func (a *app) held(l *config.Node, inbox, what string) error {
	holds, err := hold.List(l)
	if err != nil {
		return cli.Troublef(err, "", "can't read the holds of the node")
	}
	if a.JSON {
		return a.PrintJSON(holds)
	}
	h := hold.Hold{Inbox: inbox}
	fmt.Fprintf(a.UI.Out, "%s %s\n", h.What(), what)
	for _, x := range holds {
		fmt.Fprintf(a.UI.Out, "held: %s\n", term.Visible(x.String()))
	}
	return nil
}

func inboxNames(l *config.Node) []string {
	var names []string
	for _, in := range l.Inboxes {
		names = append(names, in.Name)
	}
	return names
}

// completeInboxes offers the names of the node's inboxes to shells.
func (a *app) completeInboxes(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	l, err := a.LoadNode()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return inboxNames(l), cobra.ShellCompDirectiveNoFileComp
}
