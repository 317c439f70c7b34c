package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/internal/mcpstdio"
	"github.com/threegate/tool-exec/toolruntime"
	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/git"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// front is what serve's flags say.
type front struct {
	settings
	jsonl, mcp, checkout     bool
	timeline, bundle, pushes string
}

func serveCommand() *cobra.Command {
	var f front
	cmd := &cobra.Command{
		Use:   "serve {--jsonl | --mcp} --workspace DIR",
		Short: "Answer requests that come in over stdin",
		Long: `serve answers requests on stdin until it ends, on stdout. One process is one session: the registry, the
budgets and the timeline are its, and no request changes them. The git tools work in a session with --bundle: the
workspace, an empty folder,
	then begins as the branch of the bundle's HEAD; or with --checkout, on a repository of yours.

--jsonl reads envelopes, one JSON object a line: a ToolRequest is answered with EventMessages and a ToolResponse, a
Heartbeat with a Heartbeat, and anything else with an ErrorMessage. Calls run one after the other; meanwhile a Heartbeat
is answered, and a ToolCancel ends the call of its request_id, which may also wait for its turn. When stdout has no
reader any more, running calls end; the end of stdin is only the end of what is asked.

--mcp speaks the Model Context Protocol. Each tool is listed with its schemas. A call that fails has isError and the
structured content {code, rule, message, hint}; events are progress; a cancelled call ends with E_TIMEOUT.`,
		Example: `  threegate-tools serve --jsonl --workspace . --timeline timeline.jsonl
  threegate-tools serve --jsonl --workspace new/ --bundle repository.bundle
  threegate-tools serve --mcp --workspace . --registry registry.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if f.jsonl == f.mcp || f.workspace == "" {
				return errors.New("serve needs --workspace, and --jsonl or --mcp\nhint: threegate-tools serve --help")
			}
			var record io.Writer = io.Discard
			if f.timeline != "" {
				file, openErr := os.OpenFile(f.timeline, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
				if openErr != nil {
					return openErr
				}
				defer func() { err = errors.Join(err, file.Close()) }()
				record = file
			}
			return f.serve(cmd.Context(), record, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&f.jsonl, "jsonl", false, "envelopes as lines of JSON")
	cmd.Flags().BoolVar(&f.mcp, "mcp", false, "the Model Context Protocol")
	cmd.Flags().StringVar(&f.bundle, "bundle", "", "a git bundle `file`: the repository to work on")
	cmd.Flags().BoolVar(&f.checkout, "checkout", false, "the workspace is a checkout: the git tools work on its .git")
	cmd.Flags().StringVar(&f.pushes, "pushes", "", "a `folder` for push.bundle (default git_push is refused)")
	cmd.Flags().StringVar(&f.timeline, "timeline", "", "a new `file` for the timeline (default none is kept)")
	return cmd
}

func (f *front) serve(ctx context.Context, timeline io.Writer, in io.Reader, out, errs io.Writer) error {
	w, err := workspace.Open(f.workspace)
	var repo *git.Repo
	switch {
	case err != nil:
	case f.checkout:
		repo, err = git.Open(ctx, w)
	case f.bundle != "":
		w, repo, err = begin(ctx, f.workspace, f.bundle)
	}
	if err != nil {
		return err
	}
	if repo != nil {
		repo.Out = f.pushes
		defer func() { _ = repo.Remove() }()
	}
	session := func(emit func(contract.EventMessage)) (*toolruntime.Session, error) {
		return f.open(w, repo, timeline, errs, toolruntime.Options{Emit: emit})
	}
	signal.Ignore(syscall.SIGPIPE) // a client that is gone is an error of writing
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go watch(ctx, out, stop)
	if !f.mcp {
		return serveLines(ctx, session, in, out)
	}
	var d door
	s, err := session(d.emit)
	if err != nil {
		return err
	}
	defer s.Close()
	err = mcpstdio.Serve(ctx, d.server(s, toolruntime.Contracts()), in, out, contract.MaxLine)
	return errors.Join(err, s.Err())
}
