package reference

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/schemas"
)

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
