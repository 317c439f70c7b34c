// Package desk shows a node in a browser on this machine: what waits for whom, the quarantine, and each request's
// story.
//
// It only reads, and holds no key: what a person decides is a command to copy. Everything that it shows may come from
// somebody hostile. Each text is made visible and bounded before a template escapes it, no page has script, and the
// content policy forbids any.
package desk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/loopback"
	"github.com/threegate/tool-exec/spool/durable"
)

type app struct{ *cli.App }

// Commands are those of this package.
func Commands(c *cli.App) []*cobra.Command { return []*cobra.Command{newDesk(&app{c})} }

func newDesk(a *app) *cobra.Command {
	var listen, file string
	cmd := &cobra.Command{
		Use:   "desk",
		Short: "Show the node in a browser on this machine, read-only",
		Long: `desk serves web pages on an address of the loopback interface until it is told to stop:
what waits and runs, the quarantine, each request's story, and the node's state. It prints
the address to open, as one line; nobody can read the pages without it, and each start
makes another one. With --url-file the line goes to a file for the members of your group.

The pages show what you may read. They change nothing and hold no key: decisions are
commands to copy. They have no script, and load nothing from elsewhere. The process gives
up all rights but to read the node and to take connections.`,
		Example: `  threegate desk --node /var/lib/threegate
  threegate desk --listen 127.0.0.1:8484`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), listen, file) },
	}
	a.NodeFlag(cmd)
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0",
		"`address` and port of the loopback interface; port 0 takes a free one")
	cmd.Flags().StringVar(&file, "url-file", "", "write the address to this `file` of mode 0640, in place of stdout")
	_ = cmd.MarkFlagFilename("url-file")
	return cmd
}

func (a *app) serve(ctx context.Context, address, file string) error {
	l, err := a.LoadNode()
	if err != nil {
		return err
	}
	listener, err := loopback.Listen(address)
	if errors.Is(err, loopback.ErrNotLoopback) {
		return cli.Usagef("from elsewhere: ssh -L 8484:127.0.0.1:8484 HOST, with --listen 127.0.0.1:8484", "%v", err)
	}
	if err != nil {
		return cli.Troublef(err, "", "can't listen on %s", address)
	}
	defer listener.Close()
	token := rand.Text()
	url := fmt.Sprintf("http://%s/%s/\n", listener.Addr(), token)
	if file == "" {
		if _, err := fmt.Fprint(a.UI.Out, url); err != nil {
			return cli.Troublef(err, "", "can't write the output")
		}
	} else if err := durable.ReplaceFile(filepath.Dir(file), filepath.Base(file), []byte(url), 0o640); err != nil {
		return cli.Troublef(err, "", "can't write %s", file)
	}
	if err := a.DropPrivileges(confine.Needs{Read: cli.NodeFolders(l), Accept: true}); err != nil {
		return err
	}
	door := loopback.Door{Handler: newServer(l, token, a.Now), Refuse: refuse}
	if err := door.Serve(ctx, listener); err != nil {
		return cli.Troublef(err, "", "the server had to stop")
	}
	return nil
}
