package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/toolruntime"
	"github.com/threegate/tool-exec/toolruntime/contract"
)

const maxPlan = 64 << 20

type plan struct {
	place
	keepGoing bool
}

func runCommand() *cobra.Command {
	p := &plan{}
	cmd := &cobra.Command{
		Use:   "run PLAN.jsonl",
		Short: "Carry out a plan: a file with one ToolRequest a line",
		Long: `run reads the whole plan and checks every line of it before it carries out the first. It stops
at the first call that fails, or goes on with --keep-going.

The workspace begins as a copy of the folder workspace/ next to the plan, or as the branch that HEAD names
in the git bundle repository.bundle there, if there is one of them. The file registry.yaml next to it, or
that of --registry, says which hosts and commands are allowed. These files are written to --out:
responses.jsonl has one ToolResponse a line; timeline.jsonl says of each call {tool, args_hash, start_ts,
end_ts, code, bytes}, without arguments or content. A program of the plan could change that file; as the
command of a request, run writes the same to the sandbox's process 1, which no program reaches, and the
gate keeps that. changes.patch is what the workspace has changed, as git
diff writes it, also when a call failed; commits.bundle has the commits that were made, if any; push.bundle
what git_push was asked to publish.

To take changed files out whole, put the workspace below /out (--workspace /out/work), and declare the
files as outputs of the request.

Exit codes: 0 all calls succeeded, 1 one failed, 2 the plan can't be carried out.`,
		Example: `  threegate-tools run /in/plan.jsonl

A plan of two calls:

  {"type":"ToolRequest","tool":"file_write","args":{"path":"a.txt","content":"hello\n"},
   "request_id":"1","session_id":"s","timestamp":1730822400}
  {"type":"ToolRequest","tool":"file_read","args":{"path":"a.txt"},
   "request_id":"2","session_id":"s","timestamp":1730822400}

Each stands in one line; they are broken here to be read.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	p.flags(cmd)
	cmd.Flags().BoolVar(&p.keepGoing, "keep-going", false, "go on after a call that failed")
	return cmd
}

func (p *plan) run(ctx context.Context, file string, out, errs io.Writer) (err error) {
	kept, err := channel()
	if err != nil {
		return err
	}
	raw, err := durable.ReadRegular(file, maxPlan)
	if err != nil {
		return err
	}
	d, err := p.open(ctx, filepath.Dir(file), kept, errs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	requests, err := readPlan(file, raw, d.session)
	if err != nil {
		return err
	}
	err = p.carryOut(ctx, d, requests, out)
	if err == nil || errors.Is(err, errRejected) {
		err = errors.Join(err, d.changes(ctx, errs))
	}
	return err
}

// readPlan checks every line of a plan.
func readPlan(file string, raw []byte, s *toolruntime.Session) (requests []*contract.ToolRequest, err error) {
	line := 0
	seen := map[string]int{}
	for text := range bytes.Lines(raw) {
		line++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		r, e := readRequest(bytes.TrimRight(text, "\n"), s)
		if e == nil && seen[r.RequestID] > 0 {
			e = fmt.Errorf("the request_id %q stands in line %d already", r.RequestID, seen[r.RequestID])
		}
		if e == nil && len(requests) > 0 && r.SessionID != requests[0].SessionID {
			e = fmt.Errorf("a plan has one session_id")
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s:%d: %w", file, line, e))
			continue
		}
		seen[r.RequestID] = line
		requests = append(requests, r)
	}
	if n := len(requests); err == nil && n == 0 {
		err = fmt.Errorf("%s: the plan is empty", file)
	} else if err == nil && n > contract.MaxCalls {
		err = fmt.Errorf("%s: a plan has %d calls at most, this one %d", file, contract.MaxCalls, n)
	}
	if err != nil {
		return nil, fmt.Errorf("%w\nnothing of the plan was carried out", err)
	}
	return requests, nil
}

func readRequest(line []byte, s *toolruntime.Session) (*contract.ToolRequest, error) {
	v, err := contract.Decode(line)
	if err != nil {
		return nil, err
	}
	r, ok := v.(*contract.ToolRequest)
	if !ok {
		return nil, errors.New("a plan holds ToolRequests only")
	}
	return r, s.Check(r)
}

// ended tells of a command that a call ran and that failed, which is no failure of the call.
func ended(r contract.ToolResponse) string {
	var data struct {
		Code int `json:"code"`
	}
	if r.Tool != "shell_exec" || json.Unmarshal(r.Data, &data) != nil || data.Code == 0 {
		return ""
	}
	return fmt.Sprintf(", the command ended with exit code %d", data.Code)
}

// carryOut makes the calls one after the other.
func (p *plan) carryOut(ctx context.Context, d *desk, rs []*contract.ToolRequest, out io.Writer) error {
	failed := false
	for i, r := range rs {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		resp, err := d.do(ctx, r)
		if err != nil {
			return err
		}
		if resp.OK {
			fmt.Fprintf(out, "%d/%d %s: ok%s\n", i+1, len(rs), r.Tool, ended(resp))
			continue
		}
		e := resp.Errors[0]
		fmt.Fprintf(out, "%d/%d %s: %s\n", i+1, len(rs), r.Tool, visible(e.Error()))
		if e.Rule != "" {
			fmt.Fprintf(out, "  rule: %s\n", e.Rule)
		}
		if e.Hint != "" {
			fmt.Fprintf(out, "  hint: %s\n", visible(e.Hint))
		}
		if failed = true; !p.keepGoing {
			break
		}
	}
	if failed {
		return errRejected
	}
	return nil
}
