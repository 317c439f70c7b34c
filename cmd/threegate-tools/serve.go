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

	"github.com/threegate/tool-exec/toolruntime/envelope"
	"github.com/threegate/tool-exec/toolruntime/git"
	"github.com/threegate/tool-exec/toolruntime/host"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

func serveCommand() *cobra.Command {
	var s settings
	var jsonl bool
	var timeline, bundle string
	cmd := &cobra.Command{
		Use:   "serve --jsonl --workspace DIR",
		Short: "Answer requests that come in over stdin",
		Long: `serve reads envelopes from stdin, one JSON object a line, and answers on stdout: a ToolRequest
with an EventMessage and a ToolResponse, a Heartbeat with a Heartbeat, and anything else with an ErrorMessage. One
process is one session. It ends with its input. The git tools work in a session with --bundle: the workspace,
an empty folder, then begins as the branch of the bundle's HEAD.`,
		Example: `  threegate-tools serve --jsonl --workspace . --timeline timeline.jsonl
  threegate-tools serve --jsonl --workspace new/ --bundle repository.bundle`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if !jsonl || s.workspace == "" {
				return errors.New("serve needs --jsonl and --workspace\nhint: threegate-tools serve --help")
			}
			var record io.Writer = io.Discard
			if timeline != "" {
				f, openErr := os.OpenFile(timeline, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
				if openErr != nil {
					return openErr
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				record = f
			}
			return serve(cmd.Context(), s, bundle, record, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	s.flags(cmd)
	cmd.Flags().BoolVar(&jsonl, "jsonl", false, "envelopes as lines of JSON")
	cmd.Flags().StringVar(&bundle, "bundle", "", "a git bundle `file`: the repository to work on")
	cmd.Flags().StringVar(&timeline, "timeline", "", "a new `file` for the timeline (default none is kept)")
	return cmd
}

func serve(ctx context.Context, set settings, bundle string, timeline io.Writer, in io.Reader,
	out, errs io.Writer) error {
	var broken error
	send := func(v any) {
		line, err := envelope.Encode(v)
		if err == nil {
			_, err = out.Write(line)
		}
		broken = errors.Join(broken, err)
	}
	w, err := workspace.Open(set.workspace)
	var repo *git.Repo
	if err == nil && bundle != "" {
		w, repo, err = begin(ctx, set.workspace, bundle)
	}
	if err != nil {
		return err
	}
	s, err := set.open(w, repo, timeline, errs, host.Options{Emit: func(e envelope.EventMessage) { send(e) }})
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, envelope.MaxLine)
	for lines.Scan() && ctx.Err() == nil {
		if len(bytes.TrimSpace(lines.Bytes())) > 0 {
			send(answer(ctx, s, lines.Bytes()))
		}
		if err := errors.Join(broken, s.Err()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		send(envelope.ErrorMessage{Type: "ErrorMessage", Code: envelope.Validation,
			Message: fmt.Sprintf("the input can't be read on: %v", err)})
		return errors.Join(err, broken)
	}
	return ctx.Err()
}

func answer(ctx context.Context, s *host.Session, line []byte) any {
	v, err := envelope.Decode(line)
	switch v := v.(type) {
	case *envelope.ToolRequest:
		return s.Do(ctx, v)
	case *envelope.Heartbeat:
		return envelope.Heartbeat{Type: "Heartbeat", SessionID: v.SessionID, Timestamp: time.Now().Unix()}
	}
	if err == nil {
		err = envelope.Errorf(envelope.Validation, "a client sends ToolRequest and Heartbeat only")
	}
	e := envelope.AsError(err)
	return envelope.ErrorMessage{Type: "ErrorMessage", Code: e.Code, Message: e.Message,
		RequestID: envelope.RequestIDOf(line)}
}
