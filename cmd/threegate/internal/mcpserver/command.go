package mcpserver

import (
	"errors"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/loopback"
)

// Commands are those of this package.
func Commands(a *cli.App) []*cobra.Command { return []*cobra.Command{newMCP(a)} }

type flags struct{ drafts, http, token string }

func newMCP(a *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let a program draft requests and read results over the Model Context Protocol",
		Long: `mcp serves the Model Context Protocol: on stdin and stdout, or with --http at an
address of this machine. A client drafts requests into the folder --drafts and reads the
answers in CORE's folders. A person reads the drafts, approves and promotes them. The
client can't approve, promote or run anything, and sees nothing else of the node.

--drafts must be a folder of its own: no inbox, and no folder of the node or CORE's.
--http needs --token-file, a file with mode 0600 that holds the bearer token; the
server then answers at http://ADDRESS/mcp.`,
		Example: `  threegate mcp --node /var/lib/threegate --drafts ~/drafts
  (umask 077; openssl rand -hex 32 > ~/mcp.token)
  threegate mcp --drafts ~/drafts --http 127.0.0.1:8765 --token-file ~/mcp.token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, a, f) },
	}
	a.NodeFlag(cmd)
	cmd.Flags().StringVar(&f.drafts, "drafts", "", "`folder` in which drafts are written (needed)")
	cmd.Flags().StringVar(&f.http, "http", "", "serve HTTP at this loopback `address`, like 127.0.0.1:8765")
	cmd.Flags().StringVar(&f.token, "token-file", "", "`file` with the bearer token that --http asks for")
	_ = cmd.MarkFlagDirname("drafts")
	return cmd
}

func serve(cmd *cobra.Command, a *cli.App, f flags) error {
	if f.drafts == "" {
		return cli.Usagef("make a folder that people look at, and name it: --drafts ~/drafts", "mcp needs --drafts")
	}
	if (f.http == "") != (f.token == "") {
		return cli.Usagef("threegate mcp --help says more", "--http and --token-file go together")
	}
	l, err := a.LoadNode()
	if err != nil {
		return err
	}
	if err := CheckDrafts(f.drafts, cli.NodeFolders(l)); err != nil {
		return cli.Troublef(err, "name a folder that is neither an inbox nor a folder of the node",
			"can't write drafts into %s", f.drafts)
	}
	var listener net.Listener
	token := ""
	if f.http != "" {
		if token, err = loopback.ReadToken(f.token); err != nil {
			return cli.Troublef(err, "", "can't use the token in %s", f.token)
		}
		if listener, err = loopback.Listen(f.http); err != nil {
			return cli.Troublef(err, "", "can't listen at %s", f.http)
		}
		defer listener.Close()
		a.UI.Say("serving http://%s%s", listener.Addr(), Path)
	}
	d := deskOf(a, l, f.drafts)
	read := []string{d.Drafts, d.Inbound}
	if d.Notices != "" {
		read = append(read, d.Notices)
	}
	needs := confine.Needs{Read: read, Write: []string{d.Drafts}, Accept: listener != nil}
	if err := a.DropPrivileges(needs); err != nil {
		return err
	}
	if listener != nil {
		err = d.ServeHTTP(cmd.Context(), listener, token)
	} else {
		err = d.ServeStdio(cmd.Context(), a.In, a.UI.Out)
	}
	if err != nil && !errors.Is(err, cmd.Context().Err()) {
		return cli.Troublef(err, "", "the server broke off")
	}
	return err
}

// deskOf is what a client may know of the node: names of people and keys are left out.
func deskOf(a *cli.App, l *config.Node, drafts string) Desk {
	d := Desk{Policy: l.Policy(a.Now()), Monty: l.Backends.Monty.Image != "", Inbound: l.CoreInbound.Path,
		Drafts: drafts, Now: a.Now, Version: cli.Version,
		Config: l,
		Log:    slog.New(slog.NewTextHandler(a.UI.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	if l.CoreNotices.Enabled {
		d.Notices = l.CoreNotices.Path
	}
	p := &d.Policy
	p.Approvers, p.AllowedSigners = nil, nil
	return d
}
