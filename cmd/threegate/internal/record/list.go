package record

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/admission"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/approval"
)

// The states of a request that no node has.
const (
	stateDraft    ledger.State = "draft"    // it wants an approval, or is refused by rules
	stateApproved ledger.State = "approved" // it wants to be promoted
	stateRefused  ledger.State = "refused"  // a person refused it
)

// listed are the states that list shows, in its order.
var listed = []ledger.State{stateDraft, stateRefused, stateApproved, ledger.StateWaiting, ledger.StateAdmitted,
	ledger.StateRunning, ledger.StateFinished, ledger.StateQuarantined, ledger.StateResultQuarantined,
	ledger.StateDelivered, ledger.StateTaken, ledger.StateRecalled}

// entry is a row of the list.
type entry struct {
	view.Entry
	// File is where a request lies that no node has.
	File string `json:"file,omitempty"`
}

type agendaFlags struct {
	states   []string
	approver string
	results  int
	watch    bool
}

func newList(a *app) *cobra.Command {
	var f agendaFlags
	cmd := &cobra.Command{
		Use:     "list [FOLDER...]",
		Aliases: []string{"ls", "ps"},
		Short:   "List what waits, what runs, what is undecided, and the last results",
		Long: `list shows on one page what somebody may have to do, in the order of a request's way:

  draft, refused, approved       it lies in one of the FOLDERs, and no node has it
  waiting                        it was promoted, and has no verdict yet
  admitted                       it is in the queue, at this place
  running, finished              it runs, since when and how long it may; its result is judged
  quarantined, result-quarantined
                                 it or its result was refused, and no person has decided on it
  delivered, taken, recalled     the last results that CORE got

With FOLDERs it also shows the requests that lie there and wait for approval or to be promoted.
threegate show REQUEST tells the whole story of one.`,
		Example: `  threegate list
  threegate list ~/drafts --watch
  threegate list --state running,quarantined
  threegate list --json | jq -r '.[] | select(.state=="waiting").request_id'`,
		RunE: func(cmd *cobra.Command, folders []string) error {
			for _, s := range f.states {
				if !slices.Contains(listed, ledger.State(s)) {
					return cli.Usagef("one of "+words(listed), "--state %q is no state that list shows", s)
				}
			}
			if f.results < 0 {
				return cli.Usagef("", "--results is a number of results, not %d", f.results)
			}
			l, err := a.LoadNode()
			if err != nil {
				return err
			}
			for _, dir := range folders {
				if info, err := os.Stat(dir); err != nil || !info.IsDir() {
					return cli.Usagef("name folders that hold requests", "%s is no folder that can be read", dir)
				}
			}
			if err := a.DropPrivileges(confine.Needs{Read: append(cli.NodeFolders(l), folders...)}); err != nil {
				return err
			}
			agenda := view.NewAgenda(l, f.results)
			draw := func(out io.Writer) error { return a.list(cmd.Context(), out, l, agenda, folders, f) }
			if !f.watch {
				return draw(a.UI.Out)
			}
			tick := time.NewTicker(watchEvery)
			defer tick.Stop()
			return redraw(cmd.Context(), a.UI.Out, a.UI.OutTTY, tick.C, draw)
		},
	}
	a.NodeFlag(cmd)
	fl := cmd.Flags()
	fl.StringSliceVar(&f.states, "state", nil, "only what is in one of these `states`")
	fl.StringVar(&f.approver, "approver", "", "only what this `name` approved")
	fl.IntVar(&f.results, "results", 10, "at most the last `n` results")
	fl.BoolVar(&f.watch, "watch", false, "go on, and show each change")
	cli.Complete(cmd, "state", strings.Split(words(listed), ", ")...)
	return cmd
}

func (f *agendaFlags) wants(e entry) bool {
	approved := func(p approval.Approver) bool { return p.Name == f.approver }
	return (len(f.states) == 0 || slices.Contains(f.states, string(e.State))) &&
		(f.approver == "" || slices.ContainsFunc(e.Approvers, approved))
}

func words(states []ledger.State) string {
	var list []string
	for _, s := range states {
		list = append(list, string(s))
	}
	return strings.Join(list, ", ")
}

func (a *app) list(ctx context.Context, out io.Writer, l *config.Node, agenda *view.Agenda, folders []string,
	f agendaFlags) error {
	onNode, err := agenda.Look()
	if err != nil {
		return cli.Troublef(err, cli.RecordHint(err, l.Dir), "can't look at the node in %s", l.Dir)
	}
	list, err := a.unpromoted(ctx, l, agenda, folders)
	if err != nil {
		return err
	}
	for _, e := range onNode {
		list = append(list, entry{Entry: e})
	}
	list = slices.DeleteFunc(list, func(e entry) bool { return !f.wants(e) })
	slices.SortStableFunc(list, func(x, y entry) int {
		return cmp.Compare(slices.Index(listed, x.State), slices.Index(listed, y.State))
	})
	ui := *a.UI
	ui.Out = out
	if a.JSON {
		return (&cli.App{UI: &ui}).PrintJSON(append([]entry{}, list...))
	}
	if len(list) == 0 {
		ui.Say("nothing waits, runs or is undecided, and CORE has no result")
		return nil
	}
	var rows [][]string
	for _, e := range list {
		rows = append(rows, []string{string(e.State), Ago(a.Now(), e.SinceUTC), cmp.Or(e.RequestID, e.Job, e.File),
			e.about(a.Now())})
	}
	return term.List(out, ui.OutStyle, ui.Wide(), []string{"STATE", "SINCE", "REQUEST", "ABOUT"}, rows)
}

// unpromoted lists the requests in folders that the node has not seen.
func (a *app) unpromoted(ctx context.Context, l *config.Node, agenda *view.Agenda, folders []string) ([]entry, error) {
	policy := l.Policy(a.Now())
	var list []entry
	err := bundle.Walk(ctx, folders, func(it bundle.Item) bool {
		if it.Err != nil || bundle.NameKind(it.Path) == schemas.KindResult {
			return true // list is no lint
		}
		raw, err := bundle.ReadDocument(it.Path, it.Follow, policy.MaxRequestBytes)
		if err != nil {
			return true
		}
		v, err := admission.Judge(ctx, admission.Case{Raw: raw, Policy: policy, Config: l, Unsigned: true})
		e := entry{File: it.Path}
		e.RequestID, e.State = strings.TrimSuffix(filepath.Base(it.Path), ".md"), stateDraft
		if info, err := os.Stat(it.Path); err == nil {
			e.SinceUTC = info.ModTime().UTC()
		}
		if q := v.Request; q != nil {
			e.RequestID, e.Requester, e.Backend = q.RequestID, q.RequestedBy, q.Backend
		}
		if err != nil || agenda.Knows(e.RequestID) {
			return err == nil
		}
		switch _, refused := os.Lstat(it.Path + ".refused"); {
		case refused == nil:
			e.State = stateRefused
		case !v.Refused():
			e.State, e.Approvers = stateApproved, v.Approvers
		case !v.LacksApproval():
			for _, x := range v.Findings {
				if x.Severity == schemas.SeverityBlocking && !slices.Contains(e.Rules, x.Rule) {
					e.Rules = append(e.Rules, x.Rule)
				}
			}
		}
		list = append(list, e)
		return true
	})
	if err != nil {
		return nil, cli.Troublef(err, "", "can't look for drafts")
	}
	return list, nil
}

// about says in a few words what is to be known of it.
func (e *entry) about(now time.Time) string {
	switch e.State {
	case stateDraft:
		if len(e.Rules) > 0 {
			return "rules refuse it: " + strings.Join(e.Rules, " ")
		}
		return "wants an approval: threegate review " + e.File
	case stateApproved:
		return "approved by " + approval.Listed(e.Approvers) + ", wants to be promoted"
	case stateRefused:
		return "a person refused it: " + e.File + ".refused"
	}
	return About(e.Entry, now)
}

// About says in a few words what is to be known of a request that a node has.
func About(e view.Entry, now time.Time) string {
	switch e.State {
	case ledger.StateWaiting:
		if e.Held {
			return "in inbox " + e.Inbox + ", which is held"
		}
		return "in inbox " + e.Inbox
	case ledger.StateAdmitted:
		return fmt.Sprintf("place %d in the queue", e.Queued)
	case ledger.StateRunning:
		if e.LimitSec > 0 && e.StartedUTC != nil {
			limit := time.Duration(e.LimitSec) * time.Second
			return fmt.Sprintf("%s of %s", now.Sub(*e.StartedUTC).Round(time.Second), limit)
		}
		return ""
	case ledger.StateFinished:
		return "its result is judged"
	case ledger.StateQuarantined, ledger.StateResultQuarantined:
		return strings.Join(e.Rules, " ")
	}
	parts := []string{endOf(&view.RequestStatus{Request: e.Request}), term.Plural(e.Artifacts, "file", "files")}
	if e.Withheld > 0 {
		parts = append(parts, fmt.Sprintf("%d withheld", e.Withheld))
	}
	return strings.Join(parts, ", ")
}

// Ago is how long ago something was, in the largest unit of time that says enough.
func Ago(now, then time.Time) string {
	switch d := now.Sub(then); {
	case then.IsZero():
		return "-"
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}
