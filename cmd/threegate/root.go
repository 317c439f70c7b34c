package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// Groups of commands, in the order in which a request meets them.
const (
	groupDocuments = "documents"
	groupNode      = "node"
	groupRecord    = "record"
	groupReference = "reference"
)

// newRoot builds the whole command tree.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "threegate",
		Short: "The gate of a TOOL-EXEC node",
		Long: `threegate runs tool requests that a person approved, in containers, and delivers
validated results: nothing else gets in or out.

A request is drafted, reviewed and approved, promoted into an inbox, run by the
node, and answered by a result in CORE's inbound folder. What is refused lies in
quarantine with reasons.`,
		Example: `  threegate draft ERA --input data.csv --output stats.json -o TR.md
  threegate lint TR.md
  threegate approve TR.md --as alice
  threegate promote TR.md --node /var/lib/threegate`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.ui.SetColor(a.color); err != nil {
				return usagef("", "%v", err)
			}
			return nil
		},
	}
	root.SetIn(a.in)
	root.SetOut(a.ui.Out)
	root.SetErr(a.ui.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef(fmt.Sprintf("%s --help shows the flags", cmd.CommandPath()), "%v", err)
	})
	root.PersistentFlags().BoolVar(&a.json, "json", a.json, "print data and errors as JSON")
	root.PersistentFlags().StringVar(&a.color, "color", "auto", "colour the output: auto, always or never")
	root.AddGroup(
		&cobra.Group{ID: groupDocuments, Title: "Requests and results:"},
		&cobra.Group{ID: groupNode, Title: "Running a node:"},
		&cobra.Group{ID: groupRecord, Title: "Looking at what happened:"},
		&cobra.Group{ID: groupReference, Title: "Reference:"},
	)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			teachArgs(c)
			root.AddCommand(c)
		}
	}
	add(groupDocuments, newDraft(a), newLint(a), newApprove(a), newPromote(a))
	add(groupNode, newInit(a), newConfig(a), newImage(a), newDoctor(a), newPosture(a), newServe(a), newRun(a))
	add(groupRecord, newStatus(a), newWait(a), newEvents(a), newAudit(a), newFsck(a), newQuarantine(a))
	add(groupReference, newSchema(a), newExplain(a), newVersion(a))
	root.SetCompletionCommandGroupID(groupReference)
	root.SetHelpCommandGroupID(groupReference)
	root.AddCommand(newTopics()...)
	root.AddCommand(newDocs(a), newSign(a))
	return root
}
