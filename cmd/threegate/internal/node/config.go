package node

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/config"
)

func newConfig(a *app) *cobra.Command {
	show := &cobra.Command{
		Use:   "show",
		Short: "Print the whole effective configuration, and where each value came from",
		Long: `show prints every key with its value: what threegate.yaml sets, with the line, and
the default for everything else. If the configuration has mistakes,
show lists them all, as the node does. The sha256 is that of config as --json prints it, in
canonical JSON (RFC 8785): the events node.started and node.reloaded have it.`,
		Example: `  threegate config show --node /var/lib/threegate
  threegate config show --json | jq .config.limits`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			l, err := a.LoadNode()
			if err != nil {
				return err
			}
			digest, err := l.Digest()
			if err == nil && a.JSON {
				return a.configJSON(l, digest)
			}
			var text []byte
			if err == nil {
				text, err = l.YAML()
			}
			if err != nil {
				return cli.Troublef(err, "", "can't print the configuration")
			}
			_, err = fmt.Fprintf(a.UI.Out, "# %s\n# sha256 %s\n%s", l.File, digest, text)
			return err
		},
	}
	a.NodeFlag(show)
	return cli.Group("config", "Show a node's configuration", show)
}

func (a *app) configJSON(l *config.Node, digest string) error {
	values, err := l.Values()
	if err != nil {
		return cli.Troublef(err, "", "can't print the configuration")
	}
	origins := map[string]string{}
	collectOrigins(l, "", values, origins)
	return a.PrintJSON(map[string]any{"file": l.File, "config": values, "origins": origins, "sha256": digest})
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
