package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

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
	jsonl, mcp       bool
	timeline, bundle string
}

func serveCommand() *cobra.Command {
	var f front
	cmd := &cobra.Command{
		Use:   "serve {--jsonl | --mcp} --workspace DIR",
		Short: "Answer requests that come in over stdin",
		Long: `serve answers requests on stdin until it ends, on stdout. One process is one session: the registry, the
budgets and the timeline are its, and no request changes them. The git tools work in a session with --bundle: the
workspace, an empty folder, then begins as the branch of the bundle's HEAD.

--jsonl reads envelopes, one JSON object a line: a ToolRequest is answered with EventMessages and a ToolResponse, a
Heartbeat with a Heartbeat, and anything else with an ErrorMessage.

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
	cmd.Flags().StringVar(&f.timeline, "timeline", "", "a new `file` for the timeline (default none is kept)")
	return cmd
}

func (f *front) serve(ctx context.Context, timeline io.Writer, in io.Reader, out, errs io.Writer) error {
	w, err := workspace.Open(f.workspace)
	var repo *git.Repo
	if err == nil && f.bundle != "" {
		w, repo, err = begin(ctx, f.workspace, f.bundle)
	}
	if err != nil {
		return err
	}
	session := func(emit func(contract.EventMessage)) (*toolruntime.Session, error) {
		return f.open(w, repo, timeline, errs, toolruntime.Options{Emit: emit})
	}
	if !f.mcp {
		return serveLines(ctx, session, in, out)
	}
	var d door
	s, err := session(d.emit)
	if err != nil {
		return err
	}
	err = mcpstdio.Serve(ctx, d.server(s, toolruntime.Contracts()), in, out, contract.MaxLine)
	return errors.Join(err, s.Err())
}

func serveLines(ctx context.Context, session func(func(contract.EventMessage)) (*toolruntime.Session, error),
	in io.Reader, out io.Writer) error {
	var broken error
	send := func(v any) {
		line, err := contract.Encode(v)
		if err == nil {
			_, err = out.Write(line)
		}
		broken = errors.Join(broken, err)
	}
	s, err := session(func(e contract.EventMessage) { send(e) })
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, contract.MaxLine)
	for lines.Scan() && ctx.Err() == nil {
		if len(bytes.TrimSpace(lines.Bytes())) > 0 {
			send(answer(ctx, s, lines.Bytes()))
		}
		if err := errors.Join(broken, s.Err()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		send(contract.ErrorMessage{Type: "ErrorMessage", Code: contract.Validation,
			Message: fmt.Sprintf("the input can't be read on: %v", err)})
		return errors.Join(err, broken)
	}
	return ctx.Err()
}

func answer(ctx context.Context, s *toolruntime.Session, line []byte) any {
	v, err := contract.Decode(line)
	switch v := v.(type) {
	case *contract.ToolRequest:
		return s.Do(ctx, v)
	case *contract.Heartbeat:
		return contract.Heartbeat{Type: "Heartbeat", SessionID: v.SessionID, Timestamp: time.Now().Unix()}
	}
	if err == nil {
		err = contract.Errorf(contract.Validation, "a client sends ToolRequest and Heartbeat only")
	}
	e := contract.AsError(err)
	return contract.ErrorMessage{Type: "ErrorMessage", Code: e.Code, Message: e.Message,
		RequestID: contract.RequestIDOf(line)}
}
