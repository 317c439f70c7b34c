package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// ExplainArgs makes every command name the arguments that it takes when it is given others.
// Cobra's own message names neither.
func ExplainArgs(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		ExplainArgs(c)
	}
	check := cmd.Args
	if check == nil || cmd.HasSubCommands() { // an unknown subcommand has its own words
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if _, ours := err.(*Fault); err == nil || ours {
			return err
		}
		return argsFault(cmd, args)
	}
}

func argsFault(cmd *cobra.Command, args []string) error {
	path := cmd.CommandPath()
	_, wants, _ := strings.Cut(strings.TrimSuffix(cmd.UseLine(), " [flags]"), path)
	wants = strings.TrimSpace(wants)
	hint := path + " --help says more"
	switch {
	case wants == "":
		return Usagef(hint, "%s takes no arguments, and was given %q", path, args)
	case len(args) == 0:
		return Usagef(hint, "%s needs %s", path, wants)
	}
	return Usagef(hint, "%s takes %s, and was given %s", path, wants, fmt.Sprintf("%q", args))
}
