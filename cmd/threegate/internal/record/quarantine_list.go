package record

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/diag"
	"github.com/threegate/tool-exec/cmd/threegate/internal/draft"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// listFlags say what of the quarantine is listed.
type listFlags struct {
	kind, rule, approver, inbox string
	withheld, group, all        bool
	page, limit                 int
	since                       cli.Since
	from                        time.Time
}

// pageSize is how many items a page has, if nobody says.
const pageSize = 50

func newQuarantineList(a *app) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List refused requests and results, oldest first",
		Long: `list names the requests and results that were refused and that no person has decided on: all
of them, or those of a rule (or of a group of rules, like sec.shell), an approver, an inbox, a
time. --group puts together those that were refused by the same rules and whose request ids end
in the same words. --all also lists what was rejected, or cancelled, for good.

With --withheld it lists the text that was left out of delivered results: the request, the number
of the place, where it stood, the rule, whether a person may release it, and how it begins. The
job's folder in the archive has the whole text. threegate reissue releases places.`,
		Example: `  threegate quarantine list
  threegate quarantine list --rule secrets --since 7d --group
  threegate quarantine list --limit 20 --page 2
  threegate quarantine list --all --since 30d
  threegate quarantine list --withheld
  threegate quarantine list --kind result --json | jq -r '.[].item'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.withheld {
				var other []string
				for _, name := range []string{"kind", "approver", "inbox", "group", "all"} {
					if cmd.Flags().Changed(name) {
						other = append(other, "--"+name)
					}
				}
				if len(other) > 0 {
					return cli.Usagef("", "%s and --withheld can't be used together", strings.Join(other, ", "))
				}
			}
			if err := f.check(a.Now()); err != nil {
				return err
			}
			if f.withheld {
				return a.listWithheld(f)
			}
			l, err := a.ReadNode()
			if err != nil {
				return err
			}
			items, err := quarantine.NewStore(filepath.Join(l.Dir, spool.DirQuarantine)).List(schemas.Kind(f.kind))
			if err != nil {
				return cli.Troublef(err, "", "can't list the quarantine")
			}
			decided, err := decisions(l)
			if err != nil {
				return err
			}
			items = slices.DeleteFunc(items, func(it quarantine.Item) bool {
				return !f.wants(it) || !f.all && decided[it.ID] != nil
			})
			if f.group {
				return a.listGroups(f, groupsOf(items))
			}
			return a.listQuarantine(f, items, decided)
		},
	}
	a.NodeFlag(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.kind, "kind", "", "only requests, or only results")
	fl.StringVar(&f.rule, "rule", "", "only what this `rule` refused, or a group of rules, like secrets")
	fl.StringVar(&f.approver, "approver", "", "only what this `name` approved")
	fl.StringVar(&f.inbox, "inbox", "", "only what came through the inbox of this `name`")
	fl.BoolVar(&f.group, "group", false, "group similar items, and count them")
	fl.IntVar(&f.limit, "limit", 0, "at most `n` of them (default all)")
	fl.IntVar(&f.page, "page", 0, "the page of this `number`; a page has --limit items, 50 if that is not given")
	fl.BoolVar(&f.all, "all", false, "also what a person rejected or cancelled")
	fl.BoolVar(&f.withheld, "withheld", false, "what was left out of results, instead")
	f.since.Flag(cmd, "what was refused")
	cli.Complete(cmd, "kind", "request", "result")
	return cmd
}

func (f *listFlags) check(now time.Time) (err error) {
	switch {
	case f.kind != "" && f.kind != string(schemas.KindRequest) && f.kind != string(schemas.KindResult):
		return cli.Usagef("", "--kind is request or result, not %q", f.kind)
	case f.limit < 0 || f.page < 0:
		return cli.Usagef("pages count from 1", "--limit and --page can't be negative")
	}
	if f.page > 0 && f.limit == 0 {
		f.limit = pageSize
	}
	f.from, err = f.since.Time(now)
	return err
}

// wants says whether an item is to be listed. One whose reasons can't be read is, unless something is
// asked of them.
func (f *listFlags) wants(it quarantine.Item) bool {
	r := it.Reasons
	if r == nil {
		return f.rule == "" && f.approver == "" && f.inbox == "" && f.from.IsZero()
	}
	rule := f.rule == "" || slices.ContainsFunc(refusedBy(r), func(id string) bool {
		return below(id, f.rule)
	})
	return rule && (f.approver == "" || r.ApprovedBy == f.approver) && (f.inbox == "" || r.Inbox == f.inbox) &&
		!r.RefusedAt.Before(f.from)
}

// below says whether a rule is the one that is asked for, or of that group.
func below(id, rule string) bool {
	return id == rule || strings.HasPrefix(id, strings.TrimSuffix(rule, ".")+".")
}

// paged is the page of list that is asked for, and what to say of the others.
func paged[T any](f listFlags, list []T) (page []T, rest string) {
	if f.limit == 0 {
		return list, ""
	}
	from := min(len(list), (max(1, f.page)-1)*f.limit)
	to := min(len(list), from+f.limit)
	if to-from < len(list) {
		rest = strconv.Itoa(from+1) + " to " + strconv.Itoa(to) + " of " + strconv.Itoa(len(list))
		if to < len(list) {
			rest += "; --page " + strconv.Itoa(max(1, f.page)+1) + " shows more"
		}
	}
	return list[from:to], rest
}

// refusedBy are the rules that refused an item, once each, in the order of its findings.
func refusedBy(r *quarantine.Reasons) (rules []string) {
	for _, f := range r.Findings {
		if f.Severity == schemas.SeverityBlocking && !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
	}
	return rules
}

func (a *app) listQuarantine(f listFlags, items []quarantine.Item, decided map[string]*ledger.Decision) error {
	page, rest := paged(f, items)
	if a.JSON {
		out := []itemJSON{}
		for _, it := range page {
			x := itemToJSON(it)
			x.Decided = decided[it.ID]
			out = append(out, x)
		}
		return a.PrintJSON(out)
	}
	var rows [][]string
	for _, it := range page {
		row := []string{it.ID, string(stateOf(it)), "", "", "the reasons can't be read"}
		if r := it.Reasons; r != nil {
			copy(row[2:], []string{r.RefusedAt.Format(time.RFC3339), cmp.Or(r.RequestID, r.OriginalName),
				strings.Join(refusedBy(r), " ")})
		}
		if d := decided[it.ID]; d != nil {
			row[4] += "; ended by " + d.By
		}
		rows = append(rows, row)
	}
	return a.printPage(f, []string{"ITEM", "STATE", "REFUSED", "REQUEST", "RULES"}, rows, rest)
}

func (a *app) printPage(f listFlags, head []string, rows [][]string, rest string) error {
	if len(rows) == 0 && rest == "" {
		rest = "nothing in quarantine is undecided"
		if f.all {
			rest = "nothing is in quarantine"
		}
	} else if err := term.ListBelow(a.UI.Out, a.UI.OutStyle, a.UI.Wide(), 2, head, rows); err != nil {
		return err
	}
	if rest != "" {
		a.UI.Say("%s", rest)
	}
	return nil
}

// group is items that are alike.
type group struct {
	Count int      `json:"count"`
	Kind  string   `json:"kind"`
	Slug  string   `json:"slug"`
	Rules []string `json:"rules"`
	// First and Last are when the oldest and the newest was refused.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Items []string  `json:"items"`
}

// groupsOf puts items together, the largest group first.
func groupsOf(items []quarantine.Item) (all []*group) {
	by := map[string]*group{}
	for _, it := range items {
		x := group{Kind: string(it.Kind), Rules: []string{}}
		r := it.Reasons
		if r != nil {
			x.First, x.Last, x.Rules = r.RefusedAt, r.RefusedAt, append(x.Rules, refusedBy(r)...)
			slices.Sort(x.Rules)
			name := cmp.Or(r.RequestID, strings.TrimSuffix(r.OriginalName, ".md"))
			x.Slug = cmp.Or(draft.SlugOf(name), name)
		}
		key := strings.Join(append([]string{x.Kind, x.Slug}, x.Rules...), "\x00")
		if by[key] == nil {
			by[key] = &x
			all = append(all, &x)
		}
		g := by[key]
		g.Count++
		g.Items = append(g.Items, it.ID)
		if r != nil && r.RefusedAt.After(g.Last) {
			g.Last = r.RefusedAt
		}
	}
	slices.SortStableFunc(all, func(a, b *group) int { return b.Count - a.Count })
	return all
}

func (a *app) listGroups(f listFlags, groups []*group) error {
	page, rest := paged(f, groups)
	if a.JSON {
		return a.PrintJSON(append([]*group{}, page...))
	}
	var rows [][]string
	for _, g := range page {
		rules := strings.Join(g.Rules, " ")
		if len(g.Rules) == 0 {
			rules = "the reasons can't be read"
		}
		rows = append(rows, []string{strconv.Itoa(g.Count), g.Kind, g.Last.Format(time.RFC3339),
			g.Items[len(g.Items)-1], g.Slug, rules})
	}
	return a.printPage(f, []string{"COUNT", "KIND", "NEWEST", "ITEM", "SLUG", "RULES"}, rows, rest)
}

// maxShownDocument bounds a file whose lines are shown.
const maxShownDocument = 16 << 20

// showFindings prints the findings, each with its number and the line that it is about, as far as the
// file still is the one that was judged.
func (a *app) showFindings(it quarantine.Item) error {
	document, label := spool.FileRequest, cmp.Or(it.Reasons.OriginalName, spool.FileRequest)
	if it.Kind == schemas.KindResult {
		document, label = "result.md", "result.md"
	}
	findings := slices.Clone(it.Reasons.Findings)
	secret := diag.Report{Findings: findings}.HasSecret()
	for i := range findings {
		findings[i].Message = "finding " + strconv.Itoa(i+1) + ": " + findings[i].Message
	}
	w := &diag.Text{W: a.UI.Out, Style: a.UI.OutStyle, Columns: a.UI.Columns, Wrap: a.UI.OutTTY}
	for len(findings) > 0 {
		name, shown := cmp.Or(findings[0].File, document), cmp.Or(findings[0].File, label)
		n := slices.IndexFunc(findings, func(f schemas.Finding) bool { return f.File != findings[0].File })
		if n < 0 {
			n = len(findings)
		}
		var raw []byte
		if !secret && filepath.IsLocal(name) {
			dir, err := bundle.OpenPlace(it.Dir)
			if err == nil {
				raw, err = dir.ReadBelow(name, maxShownDocument)
				dir.Close()
			}
			if err != nil || len(raw) > maxShownDocument {
				raw = nil
			}
		}
		if err := w.Report(diag.New(shown, it.Kind, raw, findings[:n])); err != nil {
			return err
		}
		findings = findings[n:]
	}
	return nil
}
