// Package openwop holds the commands that show a node to readers of OpenWOP: export, discovery,
// descriptors, schema and serve. They only read, and nothing that they answer to can approve,
// promote, start or stop anything.
package openwop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	projection "github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/schemas/openwop"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

type app struct{ *cli.App }

// Commands are those of this package.
func Commands(c *cli.App) []*cobra.Command {
	a := &app{c}
	cmd := cli.Group("openwop", "Show the node's tools and runs to readers of OpenWOP, read-only",
		newExport(a), newDescriptors(a), newDiscovery(a), newSchema(a), newServe(a))
	cmd.Long = `openwop is a read-only projection of a node to OpenWOP 1.11.0: discovery, tool catalog
and run events. It is no implementation of that protocol: a node runs what a person
approved, so nothing here starts, stops or changes a run. docs/openwop.md has the
mapping, and what is not served and why.

Events hold ids, times, numbers and constant words. No text of a request, a result or
a person gets into one.`
	return []*cobra.Command{cmd}
}

func newExport(a *app) *cobra.Command {
	var discovery string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print the events of all runs that have ended as RunEventDocs",
		Long: `export prints one RunEventDoc a line. The events of a run come next to each other,
numbered from 0 without a gap, the last of them its only terminal one. A run that has
not ended is left out, and counted on stderr.

An event is printed only if the discovery document licenses its type: the current one, or
the one that --discovery names, which the reader got earlier.`,
		Example: `  threegate openwop export --node /var/lib/threegate > events.jsonl
  threegate openwop discovery > discovery.json
  threegate openwop export --discovery discovery.json > events.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := a.LoadNode()
			if err != nil {
				return err
			}
			caps := projection.Discover(l)
			if discovery != "" {
				if caps, err = readCapabilities(discovery); err != nil {
					return err
				}
			}
			if err := a.DropToNode(l); err != nil {
				return err
			}
			return a.export(cmd.Context(), l, caps)
		},
	}
	a.NodeFlag(cmd)
	cmd.Flags().StringVar(&discovery, "discovery", "", "the discovery document that licenses events: a `file`")
	return cmd
}

func (a *app) export(ctx context.Context, l *config.Node, caps *openwop.Capabilities) error {
	dir := filepath.Join(l.Dir, spool.DirLedger)
	out := bufio.NewWriterSize(a.UI.Out, 64<<10)
	n, err := projection.Export(ctx, dir, caps, out)
	if ferr := out.Flush(); ferr != nil && err == nil {
		return cli.Troublef(ferr, "", "can't write the output")
	}
	switch {
	case errors.Is(err, projection.ErrUnlicensed):
		return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodePolicy, Cause: err,
			Message: "the export was stopped: " + err.Error(),
			Hint:    "events of that type may not be emitted under this document; what was printed is not all"}
	case errors.Is(err, context.Canceled):
		return err
	case err != nil:
		return cli.Troublef(err, cli.RecordHint(err, l.Dir), "can't export the record in %s", dir)
	}
	if a.JSON {
		line, err := json.Marshal(n)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.UI.Err, "%s\n", line)
		return err
	}
	_, err = fmt.Fprintf(a.UI.Err, "%s of %s; %s left out, as they have not ended\n",
		term.Plural(int(n.Events), "event", "events"), term.Plural(int(n.Runs), "run", "runs"),
		term.Plural(n.Unfinished, "run", "runs"))
	return err
}

// maxDiscoveryBytes bounds a discovery document.
const maxDiscoveryBytes = 1 << 20

// readCapabilities reads a discovery document that may have more than this build knows.
func readCapabilities(file string) (*openwop.Capabilities, error) {
	raw, err := durable.ReadRegular(file, maxDiscoveryBytes)
	if err != nil {
		return nil, cli.Troublef(err, "", "can't read the discovery document %s", file)
	}
	var c openwop.Capabilities
	if err := schemas.DecodeOpen(raw, &c); err != nil {
		return nil, cli.Rejectf("", "threegate openwop discovery prints one", "%s is not a discovery document: %v",
			file, err)
	}
	if !strings.HasPrefix(c.ProtocolVersion, "1.") {
		return nil, cli.Rejectf("", "threegate openwop discovery prints one",
			"%s is not a discovery document of OpenWOP 1: protocolVersion is %q", file, c.ProtocolVersion)
	}
	return &c, nil
}

func newDescriptors(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "descriptors",
		Short:   "Print the node's tools as ToolDescriptors",
		Long:    "descriptors prints what GET /v1/tools of threegate openwop serve answers: a JSON array.",
		Example: "  threegate openwop descriptors --node /var/lib/threegate | jq .[].toolId",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			l, err := a.ReadNode()
			if err != nil {
				return err
			}
			return a.PrintJSON(projection.Descriptors(l))
		},
	}
	a.NodeFlag(cmd)
	return cmd
}

func newDiscovery(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "discovery",
		Short: "Print the node's discovery document",
		Long: `discovery prints what GET /.well-known/openwop of threegate openwop serve answers. It
names the few capabilities that this node has; it has no others.`,
		Example: "  threegate openwop discovery --node /var/lib/threegate > discovery.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			l, err := a.ReadNode()
			if err != nil {
				return err
			}
			return a.PrintJSON(projection.Discover(l))
		},
	}
	a.NodeFlag(cmd)
	return cmd
}

func newSchema(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema NAME",
		Short: "Print a JSON Schema of OpenWOP 1.11.0",
		Long: "schema prints one of the JSON Schemas that describe what this node emits:\n" +
			strings.Join(openwop.SchemaNames(), ",\n") +
			".\nThey were written from the text of OpenWOP 1.11.0, and have ids of their own.",
		Example:   "  threegate openwop schema run-event",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: openwop.SchemaNames(),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := openwop.Schema(args[0])
			if err != nil {
				return err
			}
			if _, err := a.UI.Out.Write(text); err != nil {
				return cli.Troublef(err, "", "can't write the output")
			}
			return nil
		},
	}
}
