// Package record holds the commands that look at a node and at what it decided: list,
// show, status, wait, events, results, logs, audit, fsck, quarantine, cancel and prune. None of them changes anything,
// but for fsck --repair, prune and what a person orders of the node.
package record

import (
	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
)

type app struct{ *cli.App }

// Commands are those of this package.
func Commands(c *cli.App) []*cobra.Command {
	a := &app{c}
	return []*cobra.Command{newList(a), newShow(a), newStatus(a), newWait(a), newEvents(a), newAudit(a), newFsck(a),
		newQuarantine(a), newCancel(a), newRecall(a), newReissue(a), newResults(a), newLogs(a), newPrune(a)}
}
