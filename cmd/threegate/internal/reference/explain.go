package reference

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/schemas"
)

func newExplain(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [RULE]",
		Short: "Explain a rule: what it wants, why, and how to satisfy it",
		Long: `explain prints one rule of the catalogue: what it wants, why, a bad and a good
example, how to mend a document, and which text or decision it comes from.
Without a rule it lists all of them; with the beginning of an id, a group.`,
		Example: `  threegate explain sec.shell.chaining
  threegate explain approval
  threegate explain --json | jq -r '.[].rule'`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, r := range schemas.Rules() {
				ids = append(ids, r.ID+"\t"+r.Title)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.DropPrivileges(confine.Needs{}); err != nil {
				return err
			}
			if len(args) == 0 {
				return a.listRules(schemas.Rules())
			}
			if r, ok := schemas.RuleByID(args[0]); ok {
				return a.explain(r)
			}
			if group := schemas.RulesBelow(strings.TrimSuffix(args[0], "*")); len(group) > 0 {
				return a.listRules(group)
			}
			return &cli.Fault{Exit: cli.ExitNotFound, Code: schemas.CodeValidation, Rule: args[0],
				Message: fmt.Sprintf("there is no rule %q", args[0]), Hint: "`threegate explain` lists all rules"}
		},
	}
}

// ruleJSON is the catalogue entry as programs get it.
type ruleJSON struct {
	schemas.Rule
	// Measured is absent for rules that no real text measures.
	Measured *schemas.Measured `json:"measured,omitempty"`
}

func toJSON(r schemas.Rule) ruleJSON { return ruleJSON{r, schemas.MeasuredOf(r.ID)} }

func (a *app) listRules(rules []schemas.Rule) error {
	if a.JSON {
		out := []ruleJSON{}
		for _, r := range rules {
			out = append(out, toJSON(r))
		}
		return a.PrintJSON(out)
	}
	var rows [][]string
	for _, r := range rules {
		rows = append(rows, []string{r.ID, string(r.Level), kinds(r.Applies), r.Title})
	}
	return term.Table(a.UI.Out, a.UI.OutStyle, []string{"RULE", "LEVEL", "APPLIES TO", "WHAT"}, rows)
}

// becomes says what becomes of a result with text that breaks a rule of a tier.
var becomes = map[string]string{
	schemas.TierRefuse:   "the whole result is refused",
	schemas.TierMask:     "it is masked wherever it stands, and the rest of the result is delivered",
	schemas.TierWithhold: "the place is withheld, and the rest of the result is delivered",
	schemas.TierNote:     "it is delivered, and noted",
}

// releases says whether a person may release a finding of a rule.
var releases = map[string]string{
	"":                   "no",
	schemas.ReleaseText:  "by a person, if it is a false alarm: threegate quarantine release",
	schemas.ReleaseProse: "in text for people, by a person, if it is a false alarm; never in a command, code or inputs",
}

// ofDelivered says whether a person may release what was left out of a delivered result.
func ofDelivered(r schemas.Rule) string {
	switch {
	case r.Release == "" || r.Tier == "" || r.Tier == schemas.TierRefuse:
		return ""
	case r.Tier == schemas.TierMask:
		return "; what is masked in a delivered result stays masked"
	}
	return "; of a delivered result: threegate reissue"
}

func (a *app) explain(r schemas.Rule) error {
	if a.JSON {
		return a.PrintJSON(toJSON(r))
	}
	s := a.UI.OutStyle
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", s.Bold(r.ID), r.Title)
	level := string(r.Level)
	if r.Must {
		level += ", and no configuration can lower it"
	}
	fmt.Fprintf(&b, "%s%s; applies to: %s\n", s.Dim("level: "), level, kinds(r.Applies))
	if what := becomes[r.Tier]; what != "" {
		fmt.Fprintf(&b, "%s%s\n", s.Dim("what becomes of it: "), what)
	}
	if r.Level == schemas.SeverityBlocking {
		fmt.Fprintf(&b, "%s%s\n", s.Dim("can be released: "), releases[r.Release]+ofDelivered(r))
	}
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n%s\n%s\n", s.Bold(title), term.Indent(term.Wrap(text, a.UI.Columns-4), "  "))
		}
	}
	verbatim := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n%s\n%s\n", s.Bold(title), term.Indent(term.Block(strings.TrimRight(text, "\n")), "    "))
		}
	}
	section("Why", r.Why)
	verbatim("Bad", r.Bad)
	verbatim("Good", r.Good)
	section("How to mend it", r.Hint)
	section("Where it comes from", r.Source)
	section("How accurate it is", accuracyText(r.ID))
	_, err := fmt.Fprint(a.UI.Out, b.String())
	return err
}

// accuracyText says how a rule did on real text, or "" if that does not measure it.
func accuracyText(id string) string {
	m := schemas.MeasuredOf(id)
	if m == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("Of harmless texts that nobody wrote for it, it names something in ")
	list(&b, m.Harmless)
	if len(m.Injections) > 0 {
		b.WriteString(". Of the texts of public sets of injections, it names something in ")
		list(&b, m.Injections)
	}
	b.WriteString(". Measured by make accuracy-real, on the sources that are only counted.")
	return b.String()
}

// list writes the counts, "1 of 20 (README), 3 of 30 (help)".
func list(b *strings.Builder, counts []schemas.Count) {
	for i, c := range counts {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%d of %d (%s)", c.Found, c.Of, c.What)
	}
}

func kinds(ks []schemas.Kind) string {
	var names []string
	for _, k := range ks {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}
