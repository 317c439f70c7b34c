package record

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

func newFsck(a *app) *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:   "fsck",
		Short: "Check a whole node: nothing lost, run twice or half written",
		Long: `fsck reads the whole node, served or not, and prints a balance: every request that
was ever taken in was delivered, is in quarantine, or is in progress. It checks that
every job lies in one place and that the ledger says the same, that files are what
was claimed and recorded, that each file of an ended job is as it was sealed then, that
the tool calls of a run are those of its plan, by the hash of their arguments,
that what CORE sees is valid and whole, and that every refused item has its reasons.
CORE may have taken results away: that is no fault.

It changes nothing. With --repair, and only while the node is not served, it removes
temporaries that nothing needs; everything else is for a person to mend. It ends with
exit code 1 if something is wrong. A warning is no fault of the node's: it may be CORE's
own file in its folder, or a step that the next start does.`,
		Example: `  threegate fsck --node /var/lib/threegate
  threegate fsck --json | jq '.findings[] | {check, where, mend}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := a.LoadNode()
			if err != nil {
				return err
			}
			n := confine.Needs{Read: cli.NodeFolders(l)}
			if repair {
				n.Write = n.Read
			}
			if err := a.DropPrivileges(n); err != nil {
				return err
			}
			return a.fsck(cmd.Context(), l, fsck.Options{Repair: repair, Now: a.Now})
		},
	}
	a.NodeFlag(cmd)
	cmd.Flags().BoolVar(&repair, "repair", false, "remove stale temporaries; the node must not be served")
	return cmd
}

func (a *app) fsck(ctx context.Context, l *config.Node, o fsck.Options) error {
	r, err := fsck.Run(ctx, l, o)
	if err != nil {
		return checkFault(err, l.Dir)
	}
	if a.JSON {
		err = a.PrintJSON(struct {
			*fsck.Report
			Missing int  `json:"missing"`
			Whole   bool `json:"whole"`
		}{r, r.Balance.Missing(), r.Whole()})
	} else {
		err = a.printFsck(r)
	}
	if err == nil && !r.Whole() {
		err = cli.Verdict(cli.ExitReject)
	}
	return err
}

// checkFault is the error of a node that could not be checked.
func checkFault(err error, dir string) error {
	if errors.Is(err, spool.ErrLocked) {
		return &cli.Fault{Exit: cli.ExitBusy, Code: schemas.CodePolicy, Message: err.Error(), Cause: err,
			Hint: "stop serving the node first, or check it without --repair"}
	}
	return cli.Troublef(err, "", "can't check the node in %s", dir)
}

func (a *app) printFsck(r *fsck.Report) error {
	style := a.UI.OutStyle
	state := "not served"
	if r.Served {
		state = "served"
	}
	fmt.Fprintf(a.UI.Out, "%s (%s)\n\n", style.Bold("node "+term.Visible(r.Dir)), state)
	b := r.Balance
	progress := fmt.Sprint(b.InProgress)
	var parts []string
	for _, st := range slices.Sorted(maps.Keys(b.Progress)) {
		parts = append(parts, fmt.Sprintf("%d %s", b.Progress[st], st))
	}
	if len(parts) > 0 {
		progress += " (" + strings.Join(parts, ", ") + ")"
	}
	fields := [][2]string{
		{"taken in", fmt.Sprint(b.TakenIn)},
		{"= delivered", fmt.Sprint(b.Delivered)},
		{"+ results quarantined", fmt.Sprint(b.ResultsQuarantined)},
		{"+ requests quarantined", fmt.Sprint(b.RequestsQuarantined)},
		{"+ in progress", progress},
		{"+ pruned", fmt.Sprint(b.Pruned)},
		{"+ missing", fmt.Sprint(b.Missing())},
		{"waiting in inboxes", fmt.Sprint(b.Waiting)},
		{"visible to CORE", term.Plural(r.Visible, "result", "results")},
		{"ledger", term.Plural(int(r.Events), "event", "events")},
	}
	if r.Unsealed > 0 {
		fields = append(fields, [2]string{"not sealed", term.Plural(r.Unsealed, "job", "jobs") +
			" ended before this node sealed any"})
	}
	if n := len(r.Pending); n > 0 {
		fields = append(fields, [2]string{"temporaries", term.Plural(n, "is", "are") + " removed by the next start"})
	}
	if err := term.Fields(a.UI.Out, style, fields); err != nil {
		return err
	}
	fmt.Fprintln(a.UI.Out)
	for _, dir := range r.Unseen {
		fmt.Fprintf(a.UI.Out, "%s %s: you may not read it\n\n", style.Yellow("not looked at:"), term.Visible(dir))
	}
	a.printFindings(r.Found, style.Red)
	a.printFindings(r.Warnings, func(s string) string { return style.Yellow("warning: " + s) })
	last := style.Green("The node is whole.")
	if !r.Whole() {
		last = style.Red(term.Plural(len(r.Found), "thing is wrong.", "things are wrong."))
	}
	_, err := fmt.Fprintln(a.UI.Out, last)
	return err
}

func (a *app) printFindings(found []fsck.Finding, mark func(string) string) {
	style := a.UI.OutStyle
	for _, f := range found {
		fmt.Fprintf(a.UI.Out, "%s %s\n  %s\n", mark(string(f.Check)+":"), term.Visible(f.Where),
			term.Block(f.What))
		if f.Job != "" {
			fmt.Fprintf(a.UI.Out, "  job %s\n", f.Job)
		}
		if f.Repaired {
			fmt.Fprintf(a.UI.Out, "  %s\n\n", style.Green("repaired"))
		} else {
			fmt.Fprintf(a.UI.Out, "  %s %s\n\n", style.Cyan("mend:"), term.Visible(f.Hint))
		}
	}
}
