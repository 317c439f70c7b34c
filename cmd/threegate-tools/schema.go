package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/toolruntime"
	"github.com/threegate/tool-exec/toolruntime/contract"
)

func schemaCommand() *cobra.Command {
	var asMarkdown bool
	cmd := &cobra.Command{
		Use:   "schema [TOOL|ENVELOPE]",
		Short: "Print the JSON Schemas of a tool or an envelope, or list the tools, envelopes and error codes",
		Example: `  threegate-tools schema
  threegate-tools schema file_patch
  threegate-tools schema ToolRequest`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asMarkdown {
				return markdown(cmd.OutOrStdout())
			}
			if len(args) == 0 {
				return listContracts(cmd)
			}
			return printSchema(cmd, args[0])
		},
	}
	cmd.Flags().BoolVar(&asMarkdown, "markdown", false, "print all contracts as a document")
	return cmd
}

func listContracts(cmd *cobra.Command) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "Tools:")
	for _, t := range toolruntime.Contracts() {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", t.Name, t.Purpose, t.Timeout)
	}
	fmt.Fprintln(w, "\nEnvelopes:")
	for _, name := range slices.Sorted(maps.Keys(contract.Schemas)) {
		fmt.Fprintf(w, "  %s\n", name)
	}
	fmt.Fprintln(w, "\nError codes:")
	for _, c := range contract.Codes {
		fmt.Fprintf(w, "  %s\t%s\n\t-> %s\n", c.Code, c.Cause, c.Hint)
	}
	return w.Flush()
}

func printSchema(cmd *cobra.Command, name string) error {
	var doc any
	for _, t := range toolruntime.Contracts() {
		if t.Name == name {
			doc = struct {
				Tool    string             `json:"tool"`
				Purpose string             `json:"purpose"`
				Args    *jsonschema.Schema `json:"args"`
				Result  *jsonschema.Schema `json:"result"`
			}{t.Name, t.Purpose, t.Args.Doc, t.Result.Doc}
		}
	}
	if s, ok := contract.Schemas[name]; ok {
		doc = s.Doc
	}
	if doc == nil {
		return fmt.Errorf("there is no tool or envelope %q\nhint: threegate-tools schema lists them", name)
	}
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetIndent("", "  ")
	return e.Encode(doc)
}
