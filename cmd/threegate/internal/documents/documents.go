// Package documents holds the commands for requests and results before a node has them:
// draft, lint, review, approve and promote.
//
// They read documents and inputs that somebody else wrote, so each gives up all rights
// that it does not need before it reads one.
package documents

import (
	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
)

type app struct{ *cli.App }

// Commands are those of this package, in the order in which a request meets them.
func Commands(c *cli.App) []*cobra.Command {
	a := &app{c}
	return []*cobra.Command{newDraft(a), newLint(a), newReview(a), newApprove(a), newPromote(a)}
}

// Hidden are commands that others of this package call.
func Hidden(c *cli.App) []*cobra.Command { return []*cobra.Command{newNote(&app{c})} }
