package openwop

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/loopback"
	projection "github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/spool"
)

func newServe(a *app) *cobra.Command {
	var listen, keyFile string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer readers of OpenWOP on this machine: GET only, with a key",
		Long: `serve answers GET on an address of the loopback interface until it is told to stop:
the discovery document, the tool catalog, and runs with their events. It is off unless
somebody starts it. It prints its address to stdout, as one line.

Each read but discovery and /v1/openapi.json needs "Authorization: Bearer KEY". The key
is the one line of a file that only its owner can read. The process gives up all rights
but to read the node and to take connections.

It answers 405 to every method but GET, and 404 to all that it does not serve.`,
		Example: `  (umask 077; openssl rand -hex 32 > openwop.key)
  threegate openwop serve --listen 127.0.0.1:8443 --key-file openwop.key --node /var/lib/threegate
  curl -H "Authorization: Bearer $(cat openwop.key)" http://127.0.0.1:8443/v1/tools`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if listen == "" || keyFile == "" {
				return cli.Usagef("threegate openwop serve --help shows how to make a key",
					"name an address with --listen and a key with --key-file")
			}
			return a.serve(cmd.Context(), listen, keyFile)
		},
	}
	a.NodeFlag(cmd)
	cmd.Flags().StringVar(&listen, "listen", "", "`address` and port of the loopback interface; port 0 takes a free one")
	cmd.Flags().StringVar(&keyFile, "key-file", "", "a `file` with the bearer key, of mode 0600")
	return cmd
}

func (a *app) serve(ctx context.Context, address, keyFile string) error {
	key, err := loopback.ReadToken(keyFile)
	if err != nil {
		return cli.Troublef(err, "(umask 077; openssl rand -hex 32 > "+keyFile+") makes one",
			"can't use the key %s", keyFile)
	}
	l, err := a.LoadNode()
	if err != nil {
		return err
	}
	listener, err := loopback.Listen(address)
	if errors.Is(err, loopback.ErrNotLoopback) {
		return cli.Usagef("for readers elsewhere: openwop export, or a tunnel that you trust", "%v", err)
	}
	if err != nil {
		return cli.Troublef(err, "", "can't listen on %s", address)
	}
	defer listener.Close()
	if err := a.DropPrivileges(confine.Needs{Read: cli.NodeFolders(l), Accept: true}); err != nil {
		return err
	}
	d, err := newDoor(filepath.Join(l.Dir, spool.DirLedger), projection.Discover(l), projection.Descriptors(l))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.UI.Out, "http://%s\n", listener.Addr()); err != nil {
		return cli.Troublef(err, "", "can't write the output")
	}
	if err := d.behind(key).Serve(ctx, listener); err != nil {
		return cli.Troublef(err, "", "the server had to stop")
	}
	return nil
}
