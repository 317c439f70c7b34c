package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/toolruntime/contract"
)

func verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify PLAN.jsonl TIMELINE.jsonl",
		Short: "Compare a timeline with the plan that it tells of",
		Long: `verify computes the hash of each call's arguments from the plan, and compares it, and the tool, with the
timeline. It reads both files, and runs nothing: an auditor uses it on what is in the archive.

A timeline may be shorter than its plan if its last call failed.

Exit codes: 0 they fit, 1 they do not, 2 one can't be read.`,
		Example: `  threegate-tools verify plan.jsonl timeline.jsonl`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return verify(cmd.OutOrStdout(), args[0], args[1])
		},
	}
}

func verify(out io.Writer, planFile, timelineFile string) error {
	raw, err := durable.ReadRegular(planFile, maxPlan)
	if err != nil {
		return err
	}
	plan, err := contract.ReadPlan(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", planFile, err)
	}
	if raw, err = durable.ReadRegular(timelineFile, contract.MaxTimeline); err != nil {
		return err
	}
	entries, err := contract.ParseTimeline(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", timelineFile, err)
	}
	differ := contract.CompareTimeline(plan, entries, true)
	for _, d := range differ {
		fmt.Fprintln(out, visible(d))
	}
	if len(differ) > 0 {
		return errRejected
	}
	fmt.Fprintf(out, "%d of %d calls were made, as the plan has them\n", len(entries), len(plan))
	return nil
}
