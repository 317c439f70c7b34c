package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/desk"
	"github.com/threegate/tool-exec/cmd/threegate/internal/documents"
	"github.com/threegate/tool-exec/cmd/threegate/internal/mcpserver"
	"github.com/threegate/tool-exec/cmd/threegate/internal/node"
	"github.com/threegate/tool-exec/cmd/threegate/internal/openwop"
	"github.com/threegate/tool-exec/cmd/threegate/internal/record"
	"github.com/threegate/tool-exec/cmd/threegate/internal/reference"
)

// Groups of commands, in the order in which a request meets them.
const (
	groupDocuments = "documents"
	groupNode      = "node"
	groupRecord    = "record"
	groupReference = "reference"
)

// newRoot builds the whole command tree.
func newRoot(a *cli.App) *cobra.Command {
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
			if err := a.UI.SetColor(a.Color); err != nil {
				return cli.Usagef("", "%v", err)
			}
			return nil
		},
	}
	root.SetIn(a.In)
	root.SetOut(a.UI.Out)
	root.SetErr(a.UI.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Usagef(fmt.Sprintf("%s --help shows the flags", cmd.CommandPath()), "%v", err)
	})
	root.PersistentFlags().BoolVar(&a.JSON, "json", a.JSON, "print data and errors as JSON")
	root.PersistentFlags().StringVar(&a.Color, "color", "auto", "colour the output: auto, always or never")
	root.AddGroup(
		&cobra.Group{ID: groupDocuments, Title: "Requests and results:"},
		&cobra.Group{ID: groupNode, Title: "Running a node:"},
		&cobra.Group{ID: groupRecord, Title: "Looking at what happened:"},
		&cobra.Group{ID: groupReference, Title: "Reference:"},
	)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			cli.ExplainArgs(c)
			root.AddCommand(c)
		}
	}
	add(groupDocuments, documents.Commands(a)...)
	add(groupDocuments, mcpserver.Commands(a)...)
	add(groupNode, node.Commands(a)...)
	add(groupRecord, record.Commands(a)...)
	add(groupRecord, desk.Commands(a)...)
	add(groupRecord, openwop.Commands(a)...)
	add(groupReference, reference.Commands(a)...)
	root.SetCompletionCommandGroupID(groupReference)
	root.SetHelpCommandGroupID(groupReference)
	root.AddCommand(reference.Topics()...)
	root.AddCommand(append(documents.Hidden(a), cli.NewSign(a))...)
	root.AddCommand(node.Hidden(a)...)
	root.AddCommand(newDocs(a))
	return root
}
