package record

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/backend"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/spool"
)

func newStatus(a *app) *cobra.Command {
	var since cli.Since
	var watch bool
	cmd := &cobra.Command{
		Use:   "status [REQUEST]",
		Short: "Show the state of the node, or of one request",
		Long: `status shows what waits, what runs, what was decided so far, what holds the node up, and
the registry's digest and the image of each profile of tools. With the id of a
request it says where that request is. It only reads, and works whether or not the node
is served.

--since counts only what was decided from then on. --watch goes on until Ctrl-C: it
redraws a terminal, and writes each change to a file or pipe.`,
		Example: `  threegate status
  threegate status --since 24h
  threegate status --watch
  threegate status TR-20260209-160501Z-python-stats
  threegate status --json | jq .jobs`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeRequests,
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := since.Time(a.Now())
			if err != nil {
				return err
			}
			l, err := a.LoadNode()
			if err != nil {
				return err
			}
			missing, profiles := backend.Lacks(l), backend.Profiles(l)
			if err := a.DropToNode(l); err != nil {
				return err
			}
			draw := func() error { return a.showStatus(l, from, missing, profiles) }
			if len(args) == 1 {
				draw = func() error { return a.showRequest(l, args[0]) }
			}
			if !watch {
				return draw()
			}
			out := a.UI.Out
			tick := time.NewTicker(watchEvery)
			defer tick.Stop()
			return redraw(cmd.Context(), out, a.UI.OutTTY, tick.C, func(w io.Writer) error {
				a.UI.Out = w
				defer func() { a.UI.Out = out }()
				return draw()
			})
		},
	}
	a.NodeFlag(cmd)
	since.Flag(cmd, "what was decided")
	cmd.Flags().BoolVar(&watch, "watch", false, "go on, and show each change")
	return cmd
}

// showRequest says where a request is.
func (a *app) showRequest(l *config.Node, arg string) error {
	f, err := a.find(l, arg)
	if err != nil {
		return err
	}
	tellReason(l, f)
	return a.printRequest(f)
}

// showStatus says how the node is.
func (a *app) showStatus(l *config.Node, since time.Time, missing []backend.Lack,
	profiles []backend.Profile) error {
	s, err := view.Inspect(l, since)
	if err != nil {
		return cli.Troublef(err, cli.RecordHint(err, l.Dir), "can't look at the node in %s", l.Dir)
	}
	if a.JSON {
		return a.PrintJSON(struct {
			*view.NodeStatus
			Missing  []backend.Lack    `json:"missing"`
			Profiles []backend.Profile `json:"profiles"`
		}{s, missing, profiles})
	}
	return a.printStatus(s, missing, profiles)
}

// maxTroubles are printed: one cause can hold up hundreds of jobs.
const maxTroubles = 10

func (a *app) printStatus(s *view.NodeStatus, missing []backend.Lack, profiles []backend.Profile) error {
	style := a.UI.OutStyle
	state := style.Green("served")
	switch {
	case !s.Serving:
		state = style.Yellow("not served: nothing is taken in")
	case s.Live != nil:
		state += fmt.Sprintf(" by process %d", s.Live.PID)
	}
	fmt.Fprintf(a.UI.Out, "%s in %s: %s\n\n", style.Bold("node "+term.Visible(s.Name)), term.Visible(s.Dir), state)
	var fields [][2]string
	for _, in := range s.Inboxes {
		what := term.Plural(in.Waiting, "request waits", "requests wait")
		if in.Error != "" {
			what = in.Error
		}
		fields = append(fields, [2]string{"inbox " + in.Name, what})
	}
	var jobs []string
	for _, st := range spool.States {
		if n, seen := s.Jobs[st]; seen {
			jobs = append(jobs, fmt.Sprintf("%d %s", n, st))
		}
	}
	if len(jobs) == 0 {
		jobs = []string{"you may not look at them"}
	}
	t := s.Totals
	fields = append(fields,
		[2]string{"jobs", strings.Join(jobs, ", ")},
		[2]string{"requests", fmt.Sprintf("%d admitted, %d quarantined", t.Admitted, t.RequestsRefused)},
		[2]string{"runs", fmt.Sprintf("%d completed, %d failed", t.RunsCompleted, t.RunsFailed)},
		[2]string{"results", fmt.Sprintf("%d delivered, %d quarantined", t.ResultsDelivered, t.ResultsQuarantined)},
		[2]string{"record", lastEvent(t)})
	for _, p := range profiles {
		fields = append(fields, [2]string{"profile " + p.Name, fmt.Sprintf("image %s, %s; registry sha256 %s", p.Image,
			p.Tools(), p.Registry)})
	}
	if err := term.Fields(a.UI.Out, style, fields); err != nil {
		return err
	}
	if s.Disk != "" {
		fmt.Fprintf(a.UI.Out, "\n%s nothing new is taken in: %s\n", style.Red("disk:"), term.Block(s.Disk))
	}
	for _, h := range s.Holds {
		fmt.Fprintf(a.UI.Out, "\n%s %s\n  %s threegate resume%s%s\n", style.Yellow("held:"), term.Visible(h.String()),
			style.Cyan("mend:"), orBefore(" ", h.Inbox), a.NodeArg())
	}
	for _, x := range missing {
		fmt.Fprintf(a.UI.Out, "\n%s %s\n  %s\n  %s %s\n", style.Red("missing:"), term.Visible(x.What),
			term.Block(x.Detail), style.Cyan("mend:"), term.Block(x.Hint))
	}
	if s.Live == nil {
		return nil
	}
	for _, x := range s.Live.Troubles[:min(len(s.Live.Troubles), maxTroubles)] {
		what := x.What
		if x.Request != "" {
			what = x.Request + " (job " + x.What + ")"
		}
		fmt.Fprintf(a.UI.Out, "\n%s %s: %s\n  %s\n  %s %s\n  tried %s since %s, and again by itself\n",
			style.Red("held up:"), term.Visible(what), x.Doing,
			term.Block(x.Error), style.Cyan("mend:"), term.Block(x.Hint), term.Plural(x.Tries, "time", "times"),
			x.Since.Format(time.RFC3339))
	}
	for _, x := range s.Live.Stuck[:min(len(s.Live.Stuck), maxTroubles)] {
		fmt.Fprintf(a.UI.Out, "\n%s inbox %s%s can't be taken in: %s\n  tried %s since %s, and again by itself\n",
			style.Red("stuck:"), term.Visible(x.Inbox),
			stuckName(x), term.Block(x.Reason), term.Plural(x.Attempts, "time", "times"), x.Since.Format(time.RFC3339))
	}
	if n := max(len(s.Live.Troubles)-maxTroubles, 0) + max(len(s.Live.Stuck)-maxTroubles, 0); n > 0 {
		fmt.Fprintf(a.UI.Out, "\n%d more: see --json\n", n)
	}
	return nil
}

// orBefore is text behind before, or nothing.
func orBefore(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// stuckName is what of an inbox can't be taken in, if not all of it.
func stuckName(x spool.Stuck) string {
	if x.Name == "" {
		return ""
	}
	return ": request " + term.Visible(x.Name)
}

func lastEvent(t ledger.Totals) string {
	if t.Events == 0 {
		return "no events yet"
	}
	last := t.LastEvent.Format(time.RFC3339)
	return fmt.Sprintf("%s, the last at %s", term.Plural(int(t.Events), "event", "events"), last)
}

// watchEvery is how often a watched view is drawn anew.
const watchEvery = time.Second

// redraw shows what draw writes, again at each tick, until ctx ends. A terminal shows the last view
// only; anything else gets a view each time that it changed.
func redraw(ctx context.Context, out io.Writer, terminal bool, tick <-chan time.Time,
	draw func(io.Writer) error) error {
	last := ""
	for {
		var b strings.Builder
		if err := draw(&b); err != nil {
			return err
		}
		if b.String() != last {
			clear := ""
			if terminal {
				clear = "\x1b[H\x1b[2J"
			} else if last != "" && !strings.HasPrefix(b.String(), "{") {
				clear = "\n"
			}
			if _, err := fmt.Fprint(out, clear, b.String()); err != nil {
				return err
			}
			last = b.String()
		}
		select {
		case <-ctx.Done():
			return nil // the person has seen enough
		case _, more := <-tick:
			if !more {
				return nil
			}
		}
	}
}
