package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/validate/secrets"
)

func judgeCommand() *cobra.Command {
	var file, branch string
	cmd := &cobra.Command{
		Use:   "judge PATCH",
		Short: "Hold a patch to the rules again, outside of the sandbox",
		Long: `judge reads a patch as git diff writes it, such as a result's changes.patch, and holds it to those rules of a
registry that need no toolchain, and to sec.paths.sandbox always. It runs nothing.

What ran in the sandbox has the rights of the tools there, and can lie about what they saw. Here it can't.
The line Tests-Not-Needed of a commit message is not known here: a patch has none.

Exit codes: 0 no rule that blocks is broken, 1 one is, 2 the patch can't be read or judged.`,
		Example: `  threegate-tools judge changes.patch --registry registry.yaml`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := settings{registry: file}
			r, err := s.readRegistry()
			if err != nil {
				return err
			}
			return judgePatch(cmd.OutOrStdout(), args[0], r.On(branch))
		},
	}
	cmd.Flags().StringVar(&file, "registry", "", "the `file` that lists the rules")
	cmd.Flags().StringVar(&branch, "branch", "", "the `name` of its branch (default one that is protected)")
	return cmd
}

func judgePatch(out io.Writer, file string, r *registry.Registry) error {
	patch, err := durable.ReadRegular(file, maxPlan)
	if err != nil {
		return err
	}
	changes, err := judge.Parse(patch)
	if err != nil {
		return fmt.Errorf("%s is not as git diff writes it: %w", file, err)
	}
	var checked, open []string
	blocked := false
	for _, rule := range registry.Rules {
		level := r.Level(rule.ID)
		if level == "" {
			continue
		}
		if !judge.Can(rule.ID) {
			if !strings.HasPrefix(rule.ID, "sec.") {
				open = append(open, rule.ID)
			}
			continue
		}
		checked = append(checked, rule.ID)
		found, err := judge.Judge(rule.ID, changes, "", secrets.Finder{})
		if err != nil {
			return err
		}
		for _, v := range found {
			blocked = blocked || level == registry.Blocking
			text := fmt.Sprintf("%s: %q, line %d: %s (%s)", level, v.Path, v.Line, v.Message, v.Rule)
			fmt.Fprintln(out, visible(text))
			fmt.Fprintf(out, "  hint: %s\n", v.Hint)
		}
	}
	fmt.Fprintf(out, "%d files, held to: %s\n", len(changes), strings.Join(checked, ", "))
	if len(open) > 0 {
		fmt.Fprintf(out, "not looked at: %s\n", strings.Join(open, ", "))
	}
	if blocked {
		return errRejected
	}
	return nil
}
