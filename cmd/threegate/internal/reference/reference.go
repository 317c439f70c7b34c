// Package reference holds the commands and pages that explain: schema, explain, version,
// the help topics, and the rule pages of the documents.
package reference

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/schemas"
)

type app struct{ *cli.App }

// Commands are those of this package.
func Commands(c *cli.App) []*cobra.Command {
	a := &app{c}
	return []*cobra.Command{newSchema(a), newExplain(a), newVersion(a)}
}

// Topics are help pages that belong to no command.
func Topics() []*cobra.Command {
	return []*cobra.Command{
		{
			Use:   "exit-codes",
			Short: "What the exit codes mean",
			Long: "The exit codes of every command. A code that is not listed counts as trouble.\n\n" +
				cli.ExitCodeTable(),
		},
		{
			Use:   "environment",
			Short: "Environment variables and files that commands read",
			Long: `THREEGATE_NODE  the node's folder, where --node is not given
NO_COLOR        if set and not empty, output is not coloured (--color overrides it)
TERM            "dumb" means no colour either
USER            the approver's name, where approve --as is not given

Without --node and THREEGATE_NODE the node is the nearest folder, from the
current one upwards, that holds a threegate.yaml, and then ` + cli.DefaultNode + `.`,
		},
		{
			Use:   "output",
			Short: "Streams, --json and colour",
			Long: `Data goes to stdout, and messages for people go to stderr: a pipe gets data only.
With --json, data is JSON, and an error is one line on stderr:

  {"error":{"code":"E_FILE_IO","rule":"","message":"...","hint":"..."}}

code is one of the SDK's error codes (E_FILE_IO, E_VALIDATION_FAIL, E_POLICY,
E_TIMEOUT, E_SHELL, E_HTTP, E_INTERNAL), rule the id of the rule that was broken
or empty, hint how to mend it.

Colour appears on terminals only. Characters that a terminal would
hide or obey are written as their code, like ⟦202E⟧, wherever they come from.`,
		},
	}
}

// notice names the one document that is no request and no result.
const notice = "notice"

func newSchema(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema request|result|notice",
		Short: "Print the normative text, or the JSON Schema, of a kind of document",
		Long: `schema prints what a request, a result or a notice to CORE must look like: the
normative text in Markdown, or with --json a JSON Schema. For a request or a result the
JSON Schema covers the front matter only; lint checks everything.`,
		Example: `  threegate schema request | less
  threegate schema result --json > tool-result.schema.json`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{string(schemas.KindRequest), string(schemas.KindResult), notice},
		RunE: func(_ *cobra.Command, args []string) error {
			doc, schema := schemas.RequestDoc, schemas.RequestJSONSchema
			switch args[0] {
			case string(schemas.KindResult):
				doc, schema = schemas.ResultDoc, schemas.ResultJSONSchema
			case notice:
				doc, schema = schemas.NoticeDoc, schemas.NoticeJSONSchema
			}
			text := doc()
			if a.JSON {
				text = schema()
			}
			if _, err := a.UI.Out.Write(text); err != nil {
				return cli.Troublef(err, "", "can't write the output")
			}
			if len(text) > 0 && text[len(text)-1] != '\n' {
				fmt.Fprintln(a.UI.Out)
			}
			return nil
		},
	}
}

// buildInfo says what this binary is.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"`
	Built    string `json:"commit_time"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// The schema versions that this build reads; any other is refused by name.
	RequestVersions []string `json:"request_schema_versions"`
	ResultVersions  []string `json:"result_schema_versions"`
}

// buildVersion reads what the Go toolchain has put into the binary.
func buildVersion() buildInfo {
	b := buildInfo{
		Version: cli.Version, Commit: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		RequestVersions: schemas.RequestVersions, ResultVersions: schemas.ResultVersions,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Built = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the schema versions that it knows",
		Example: `  threegate version
  threegate version --json | jq -r .commit`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := buildVersion()
			if a.JSON {
				return a.PrintJSON(b)
			}
			commit := b.Commit
			if b.Modified {
				commit += " (with local changes)"
			}
			return term.Fields(a.UI.Out, a.UI.OutStyle, [][2]string{
				{"threegate", b.Version},
				{"commit", strings.TrimSpace(commit + " " + b.Built)},
				{"go", b.Go + " " + b.Platform},
				{"request schema", strings.Join(b.RequestVersions, ", ")},
				{"result schema", strings.Join(b.ResultVersions, ", ")},
			})
		},
	}
}
