package node

import (
	"fmt"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/threegate/tool-exec/gate/config"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
)

func newConfig(a *app) *cobra.Command {
	show := &cobra.Command{
		Use:   "show",
		Short: "Print the whole effective configuration, and where each value came from",
		Long: `show prints every key with its value: what threegate.yaml sets, with the line, and
the default for everything else. If the configuration has mistakes,
show lists them all, as the node does.`,
		Example: `  threegate config show --node /var/lib/threegate
  threegate config show --json | jq .config.limits`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			l, err := a.LoadNode()
			if err != nil {
				return err
			}
			text, err := l.YAML()
			if err != nil {
				return cli.Troublef(err, "", "can't print the configuration")
			}
			if a.JSON {
				return a.configJSON(l, text)
			}
			_, err = fmt.Fprintf(a.UI.Out, "# %s\n%s", l.File, text)
			return err
		},
	}
	a.NodeFlag(show)
	return cli.Group("config", "Look at a node's configuration", show)
}

func (a *app) configJSON(l *config.Node, text []byte) error {
	var values map[string]any
	if err := yaml.Load(text, &values); err != nil {
		return cli.Troublef(err, "", "can't print the configuration")
	}
	origins := map[string]string{}
	collectOrigins(l, "", values, origins)
	return a.PrintJSON(map[string]any{"file": l.File, "config": values, "origins": origins})
}

func collectOrigins(l *config.Node, prefix string, values map[string]any, origins map[string]string) {
	for k, v := range values {
		key := k
		if prefix != "" {
			key = prefix + "." + k
		}
		if below, ok := v.(map[string]any); ok && len(below) > 0 {
			collectOrigins(l, key, below, origins)
			continue
		}
		origins[key] = l.Origin(key)
	}
}
