package record

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
)

func newShow(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show REQUEST",
		Short: "Tell the whole story of one request on one page",
		Long: `show tells all about a request, from its promotion to its answer: who asked for it and who
approved it, the words or the code that ran, inputs, limits beside what was used, outputs,
network, findings, what was withheld, the decisions of persons, where its answer lies, and how
to prove it. Name it by its id, or by the beginning of its id.

It prints what the caller may read. What was pruned is told from the record, which keeps
every decision; show says what is gone. Control characters are spelled out.`,
		Example: `  threegate show TR-20260209-160501Z-python-stats
  threegate show TR-20260209-1605
  threegate show TR-20260209-160501Z-python-stats --json | jq .events`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRequests,
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := a.ReadNode()
			if err != nil {
				return err
			}
			r, err := a.find(l, args[0])
			if err != nil {
				return err
			}
			s, err := StoryOf(l, r)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(s)
			}
			return a.tell(s)
		},
	}
	a.NodeFlag(cmd)
	return cmd
}

// tell prints a story.
func (a *app) tell(s *Story) error {
	var b strings.Builder
	style, columns := a.UI.OutStyle, a.UI.Wide()
	for i, x := range s.Sections(a.NodeArg()) {
		if i > 0 {
			fmt.Fprintf(&b, "\n%s\n", style.Bold(x.Title))
		}
		if err := term.Fields(&b, style, x.Fields); err != nil {
			return err
		}
		for _, l := range x.Lines {
			b.WriteString(term.Hang(term.Visible(l), 0, 4, columns) + "\n")
		}
	}
	if _, err := io.WriteString(a.UI.Out, b.String()); err != nil || s.Reasons == nil {
		return err
	}
	fmt.Fprintf(a.UI.Out, "\n%s\n", style.Bold("Findings"))
	if err := a.showFindings(s.item); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.UI.Out, "\n"+term.Wrap(wayOut(s.item), a.UI.Columns))
	return err
}
