package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/executors/monty"
	"github.com/threegate/tool-exec/toolruntime"
	"github.com/threegate/tool-exec/toolruntime/contract"
)

// montySession is the session_id of a program's calls.
const montySession = "monty"

// exitCode is the code of a program that ran. What there is to say was printed.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// pythonTypes are the exceptions that a program sees for the codes; others are a RuntimeError.
var pythonTypes = map[contract.Code]string{
	contract.Policy:     "PermissionError",
	contract.FileIO:     "OSError",
	contract.Timeout:    "TimeoutError",
	contract.Validation: "ValueError",
}

type program struct {
	place
	in string
}

func montyCommand() *cobra.Command {
	p := &program{}
	cmd := &cobra.Command{
		Use:   "monty",
		Short: "Run a Monty program, with the tools as its functions",
		Long: `monty runs the program of a request whose backend is monty: the node starts it in the sandbox, and it reads
from stdin what the node wrote there. It is no command for people.

Each tool is a function of the program, with arguments by name and a dict as its result. A call that fails
raises PermissionError (E_POLICY), OSError (E_FILE_IO), TimeoutError (E_TIMEOUT), ValueError
(E_VALIDATION_FAIL) or RuntimeError (any other code), which the program can catch. The workspace, the
registry, the budgets and what comes out are those of threegate-tools run; what lies next to a plan there
lies in --in.

Exit codes: 0 the program came to its end, 1 an exception ended it, 69 the tools could not be made or not
go on; others are those of Monty requests.`,
		Example: `  threegate-tools monty <job.json

A program of two calls:

  file_write(path="a.txt", content="hello\n")
  print(file_read(path="a.txt")["content"])`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			code, err := p.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "error:", visible(err.Error()))
				code = cmp.Or(code, monty.ExitTools)
			}
			if code != monty.ExitOK {
				return exitCode(code)
			}
			return nil
		},
	}
	p.flags(cmd)
	cmd.Flags().StringVar(&p.in, "in", "/in", "`folder` of the inputs")
	return cmd
}

func (p *program) run(ctx context.Context, in io.Reader, out, errs io.Writer) (code int, err error) {
	kept, err := channel()
	if err != nil {
		return 0, err
	}
	job, err := monty.ReadJob(in)
	if err != nil {
		return monty.ExitJob, fmt.Errorf("the job on stdin: %w", err)
	}
	d, err := p.open(ctx, p.in, kept, errs)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	code = monty.Run(job, monty.Env{In: p.in, Out: p.out, Stdout: out, Stderr: errs, Now: time.Now,
		Tools: d.functions(ctx)})
	return code, d.changes(ctx, errs)
}

// functions are the tools as a program sees them.
func (d *desk) functions(ctx context.Context) *monty.Tools {
	t := &monty.Tools{Kept: map[string]string{}}
	for _, name := range []string{responsesFile, timelineFile, changesFile, commitsFile, pushFile} {
		t.Kept[name] = "the tools"
	}
	for _, c := range toolruntime.Contracts() {
		t.Names = append(t.Names, c.Name)
	}
	calls := 0
	t.Call = func(name string, args []byte) ([]byte, error) {
		calls++
		r, err := readCall(&contract.ToolRequest{Type: "ToolRequest", Tool: name, Args: args,
			RequestID: strconv.Itoa(calls), SessionID: montySession, Timestamp: time.Now().Unix()})
		if err != nil {
			return nil, raise(contract.AsError(err))
		}
		resp, err := d.do(ctx, r)
		switch {
		case err != nil:
			return nil, err
		case !resp.OK:
			return nil, raise(&resp.Errors[0])
		}
		return resp.Data, nil
	}
	return t
}

// readCall holds a call to what an envelope may be on the wire.
func readCall(r *contract.ToolRequest) (*contract.ToolRequest, error) {
	line, err := contract.Encode(r)
	if err == nil && len(line) > contract.MaxLine {
		err = contract.Errorf(contract.Validation, "a call has %d bytes at most", contract.MaxLine)
	}
	if err != nil {
		return nil, err
	}
	v, err := contract.Decode(line)
	if err != nil {
		return nil, err
	}
	return v.(*contract.ToolRequest), nil
}

// raise is the exception for a failure.
func raise(e *contract.Error) *monty.Exception {
	text := e.Error()
	if e.Rule != "" {
		text += " (" + e.Rule + ")"
	}
	if e.Hint != "" {
		text += "; hint: " + e.Hint
	}
	return &monty.Exception{Type: cmp.Or(pythonTypes[e.Code], "RuntimeError"),
		Message: strings.ToValidUTF8(text, "\uFFFD")}
}
