package reference

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/schemas"
)

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
