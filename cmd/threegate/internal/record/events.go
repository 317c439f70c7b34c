package record

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate/approval"
)

type eventsFlags struct {
	request, run string
	types        []string
	last         int
	follow       bool
	since        cli.Since
	from         time.Time
}

func newEvents(a *app) *cobra.Command {
	var f eventsFlags
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Print the record of decisions",
		Long: `events prints what was decided, one event a line, in order. With --json each line is
the event as it is recorded. Events hold ids, hashes, numbers, rule ids and the names
of those who decided, never content. The chain is checked on the way; audit verify checks more.`,
		Example: `  threegate events --last 20
  threegate events --request TR-20260209-160501Z-python-stats
  threegate events --follow --json | jq 'select(.type=="run.failed")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.last < 0 {
				return cli.Usagef("", "--last is a number of events, not %d", f.last)
			}
			var err error
			if f.from, err = f.since.Time(a.Now()); err != nil {
				return err
			}
			l, err := a.ReadNode()
			if err != nil {
				return err
			}
			return a.events(cmd.Context(), l, f)
		},
	}
	a.NodeFlag(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.request, "request", "", "only events of this request `id`")
	_ = cmd.RegisterFlagCompletionFunc("request", a.completeRequests)
	fl.StringVar(&f.run, "run", "", "only events of this job `id`")
	fl.StringSliceVar(&f.types, "type", nil, "only events of these `types`, like run.failed")
	fl.IntVar(&f.last, "last", 0, "only the last `n` events")
	f.since.Flag(cmd, "events")
	fl.BoolVar(&f.follow, "follow", false, "go on and print events as they are recorded")
	return cmd
}

func (f *eventsFlags) wants(e ledger.Event) bool {
	return (f.request == "" || e.RequestID == requestID(f.request)) &&
		(f.run == "" || e.RunID == f.run) && !e.Time.Before(f.from) &&
		(len(f.types) == 0 || slices.Contains(f.types, string(e.Type)))
}

func (a *app) events(ctx context.Context, l *config.Node, f eventsFlags) error {
	dir := filepath.Join(l.Dir, spool.DirLedger)
	record := ledger.Follow(dir)
	var seen int64
	var kept []ledger.Event // the last f.last, until the record was read once
	take := func(e ledger.Event) error {
		switch {
		case e.Seq <= seen || !f.wants(e):
			return ctx.Err()
		case f.last == 0:
			seen = e.Seq
			return a.printEvent(e)
		}
		seen = e.Seq
		if kept = append(kept, e); len(kept) > 2*f.last {
			kept = slices.Delete(kept, 0, len(kept)-f.last)
		}
		return ctx.Err()
	}
	for {
		err := record.Read(take)
		if errors.Is(err, ledger.ErrChanged) { // a gate may have taken back what it could not write
			record = ledger.Follow(dir)
			err = record.Read(take)
		}
		if err != nil {
			return recordFault(err, dir)
		}
		for _, e := range kept[max(0, len(kept)-f.last):] {
			if err := a.printEvent(e); err != nil {
				return err
			}
		}
		kept, f.last = nil, 0
		if !f.follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

func recordFault(err error, dir string) error {
	if _, ours := errors.AsType[*cli.Fault](err); ours {
		return err
	}
	hint := "threegate audit verify says more"
	if errors.Is(err, fs.ErrPermission) {
		hint = "run it as a user who may read the node"
	}
	return cli.Troublef(err, hint, "can't read the record in %s", dir)
}

func (a *app) printEvent(e ledger.Event) error {
	var line string
	if a.JSON {
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		line = string(b)
	} else {
		s := a.UI.OutStyle
		detail := term.Visible(eventDetail(e))
		at, typ := e.Time.Format(time.RFC3339), fmt.Sprintf("%-26s", e.Type)
		if term.Width(at+typ+detail)+2 > a.UI.Wide() {
			typ, detail = strings.TrimRight(typ, " "), "\n    "+term.Hang(detail, 4, 4, a.UI.Columns)
		} else {
			detail = " " + detail
		}
		line = fmt.Sprintf("%s %s%s", s.Dim(at), s.Bold(typ), detail)
	}
	if _, err := fmt.Fprintln(a.UI.Out, strings.TrimRight(line, " ")); err != nil {
		return cli.Troublef(err, "", "can't write the output")
	}
	return nil
}

// rulesOf names the rules of releases, once each.
func rulesOf(list []schemas.Release) string {
	var rules []string
	for _, r := range list {
		rules = append(rules, r.Rule)
	}
	slices.Sort(rules)
	return strings.Join(slices.Compact(rules), " ")
}

// aboutEvent names what an event is about.
func aboutEvent(e ledger.Event) string {
	if id := cmp.Or(e.RequestID, e.RunID); id != "" || e.Order == "" {
		return id
	}
	return fmt.Sprintf("order %.12s", e.Order)
}

// ofAnswers says what an event carries about answers that persons took back.
func ofAnswers(e ledger.Event) (parts []string) {
	if len(e.Released) > 0 {
		parts = append(parts, "released "+rulesOf(e.Released))
	}
	if e.Replaces != "" {
		parts = append(parts, "replaces "+e.Replaces)
	}
	if e.Took != nil {
		parts = append(parts, "taken as input by "+tookBy(e.Took))
	}
	return parts
}

// eventDetail says in words what an event carries.
func eventDetail(e ledger.Event) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if about := aboutEvent(e); about != "" {
		add("%s", about)
	}
	if e.Outcome == ledger.OutcomeRefused {
		add("quarantined")
	} else if e.Outcome == ledger.OutcomeAdmitted {
		add("admitted")
	}
	if e.Backend != "" {
		add("%s", e.Backend)
	}
	if e.ExitCode != nil {
		add("exit code %d", *e.ExitCode)
	}
	if e.Cause != "" && e.Cause != schemas.CauseNone {
		add("cause %s", e.Cause)
	}
	if e.WallMS > 0 {
		add("%s", time.Duration(e.WallMS)*time.Millisecond)
	}
	if e.Destination != "" {
		add("%s %s", e.Decision, e.Destination)
	}
	if e.Tools != nil {
		add("tool calls: %s", callsOf(e.Tools))
	}
	if e.Artifacts > 0 {
		add("%s", term.Plural(e.Artifacts, "artifact", "artifacts"))
	}
	if e.Withheld > 0 {
		add("%d withheld", e.Withheld)
	}
	if e.Requester != "" {
		add("requested by %s, approved by %s", e.Requester, approval.Listed(e.Approvers))
	}
	if n := e.Node; n != nil {
		add("version %s, configuration %.12s", n.Version, n.Config)
	}
	switch {
	case e.By != "" && e.Reason != "":
		add("by %s: %s", e.By, e.Reason)
	case e.By != "":
		add("by %s", e.By)
	}
	if e.ByUser != "" {
		add("given by the user %s", e.ByUser)
	}
	if len(e.Rules) > 0 {
		add("[%s]", strings.Join(e.Rules, " "))
	}
	parts = append(parts, ofAnswers(e)...)
	if len(e.Jobs) > 0 {
		add("%s", term.Plural(len(e.Jobs), "job", "jobs"))
	}
	if e.Dropped > 0 {
		add("%d bytes cut off", e.Dropped)
	}
	return strings.Join(parts, ", ")
}
