package record

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/prune"
)

func newPrune(a *app) *cobra.Command {
	var older, keep, by, reason string
	var dry bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove delivered jobs from the archive, by age or size",
		Long: `prune removes the folders of jobs from the archive: those delivered longer ago than
--older-than, and the oldest ones until no more than --keep is left. It first
records what it will remove, so that fsck and audit verify tell it from what is lost. If it is
cut off, the next prune goes on. Orders of people go once nothing is kept that they decided;
those that are about no job, by age.

It removes only jobs that were delivered and that fsck finds whole. Requests that wait or
run, the quarantine, and CORE's folder stay as they are. A job is as old as the record
says; a clock that was set back makes none older than what came before it. The node must
not be served meanwhile: its runs go on, and the next serve takes them up.

The record has who removed what and why. --as is needed where neither $USER nor $LOGNAME
is set, as in a unit of systemd: name the unit.`,
		Example: `  threegate prune --older-than 90d --dry-run
  threegate prune --older-than 90d --keep 20G --as alice --reason "the disk is full"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rule, err := pruneRule(older, keep)
			if err != nil {
				return err
			}
			l, err := a.LoadNode()
			if err != nil {
				return err
			}
			n := confine.Needs{Read: cli.NodeFolders(l)}
			act := prune.Look
			if !dry {
				n.Write, act = []string{l.Dir}, prune.Run
			}
			if err := a.DropPrivileges(n); err != nil {
				return err
			}
			o := prune.Options{Now: a.Now, By: cmp.Or(by, a.Getenv("USER"), a.Getenv("LOGNAME")),
				Reason: cmp.Or(reason, rule.String())}
			p, err := act(cmd.Context(), l, rule, o)
			if errors.Is(err, prune.ErrUnsaid) {
				return cli.Usagef("threegate prune --as NAME --reason TEXT", "%v", err)
			}
			if err != nil {
				return checkFault(err, l.Dir)
			}
			return a.printPrune(p, dry)
		},
	}
	a.NodeFlag(cmd)
	fl := cmd.Flags()
	fl.StringVar(&older, "older-than", "", "remove what was delivered longer ago than this `age`, like 90d or 36h")
	fl.StringVar(&keep, "keep", "", "remove the oldest until the archive has at most this `size`, like 500M or 20G")
	fl.StringVar(&by, "as", "", "your `name`, for the record (default: $USER or $LOGNAME)")
	fl.StringVar(&reason, "reason", "", "why, in one line of `text` (default: the rule)")
	fl.BoolVar(&dry, "dry-run", false, "say what would go, and change nothing")
	return cmd
}

func pruneRule(older, keep string) (prune.Rule, error) {
	r := prune.Rule{Keep: -1}
	if older == "" && keep == "" {
		return r, cli.Usagef("threegate prune --older-than 90d --dry-run says what would go",
			"prune needs --older-than AGE, --keep SIZE or both")
	}
	if older != "" {
		age, ok := cli.Age(older)
		if !ok || age <= 0 {
			return r, cli.Usagef("write 90d or 36h", "--older-than %q is not an age", older)
		}
		r.OlderThan = age
	}
	if keep != "" {
		size, ok := bytesOf(keep)
		if !ok {
			return r, cli.Usagef("write 500M or 20G", "--keep %q is not a size", keep)
		}
		r.Keep = size
	}
	return r, nil
}

// bytesOf reads a size: a number, with K, M, G or T for powers of 1024.
func bytesOf(text string) (int64, bool) {
	unit := int64(1)
	if i := strings.IndexAny(text, "KMGT"); i >= 0 && i == len(text)-1 {
		unit <<= 10 * (strings.IndexByte("KMGT", text[i]) + 1)
		text = text[:i]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n * unit, err == nil && n >= 0 && n <= math.MaxInt64/unit
}

func (a *app) printPrune(p *prune.Plan, dry bool) error {
	if a.JSON {
		return a.PrintJSON(struct {
			*prune.Plan
			DryRun bool `json:"dry_run"`
		}{p, dry})
	}
	var rows [][]string
	for _, it := range p.Items {
		rows = append(rows, []string{it.DeliveredUTC.UTC().Format(time.DateOnly), term.Bytes(it.Bytes), it.RequestID})
	}
	if len(rows) > 0 {
		err := term.List(a.UI.Out, a.UI.OutStyle, a.UI.Columns, []string{"DELIVERED", "SIZE", "REQUEST"}, rows)
		if err != nil {
			return err
		}
	}
	did := "removed"
	if dry {
		did = "would be removed"
	}
	fmt.Fprintf(a.UI.Out, "%s, %s, %s; %s kept\n", term.Plural(len(rows), "job", "jobs"), term.Bytes(p.Bytes), did,
		term.Plural(p.Kept, "is", "are"))
	if n := len(p.Orders); n > 0 {
		fmt.Fprintf(a.UI.Out, "%s that decided nothing that is kept %s\n", term.Plural(n, "order", "orders"), did)
	}
	if n := len(p.Unfinished); n > 0 {
		fmt.Fprintf(a.UI.Out, "%s of an earlier prune that was cut off %s\n", term.Plural(n, "job", "jobs"), did)
	}
	if p.Passed > 0 {
		a.UI.Warn(term.Plural(p.Passed, "archived job was", "archived jobs were")+
			" passed over: something is wrong with them", "threegate fsck"+a.NodeArg()+" says what")
	}
	return nil
}
