package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/toolruntime/envelope"
	"github.com/threegate/tool-exec/toolruntime/host"
	"github.com/threegate/tool-exec/toolruntime/schema"
)

var entrySchema = schema.Of[host.Entry]("timeline entry", nil)

func verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify PLAN.jsonl TIMELINE.jsonl",
		Short: "Compare a timeline with the plan that it tells of",
		Long: `verify computes the hash of each call's arguments from the plan, and compares it, and the tool, with the
timeline. It reads both files, and runs nothing: an auditor uses it on what is in the archive.

A timeline may be shorter than its plan if its last call failed.

Exit codes: 0 they fit, 1 they do not, 2 one can't be read.`,
		Example: `  threegate-tools verify plan.jsonl timeline.jsonl`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return verify(cmd.OutOrStdout(), args[0], args[1])
		},
	}
}

func verify(out io.Writer, plan, timeline string) error {
	requests, err := readLines(plan, func(line []byte) (*envelope.ToolRequest, error) {
		v, err := envelope.Decode(line)
		r, ok := v.(*envelope.ToolRequest)
		if err == nil && !ok {
			err = errors.New("a plan holds ToolRequests only")
		}
		return r, err
	})
	if err != nil {
		return err
	}
	entries, err := readLines(timeline, func(line []byte) (e host.Entry, err error) {
		return e, entrySchema.Decode(line, &e)
	})
	if err != nil {
		return err
	}
	differ := 0
	complain := func(format string, args ...any) {
		differ++
		fmt.Fprintln(out, visible(fmt.Sprintf(format, args...)))
	}
	for i, e := range entries {
		if i >= len(requests) {
			complain("the timeline has %d calls, the plan %d", len(entries), len(requests))
			break
		}
		hash, err := envelope.ArgsHash(requests[i].Args)
		if err != nil {
			return err
		}
		if requests[i].Tool != e.Tool {
			complain("call %d: the plan has %s, the timeline %s", i+1, requests[i].Tool, e.Tool)
		} else if hash != e.ArgsHash {
			complain("call %d: %s has other arguments in the plan", i+1, e.Tool)
		}
	}
	if n := len(entries); n < len(requests) && (n == 0 || entries[n-1].Code == host.CodeOK) {
		complain("the timeline ends after %d of %d calls, and no failure says why", n, len(requests))
	}
	if differ > 0 {
		return errRejected
	}
	fmt.Fprintf(out, "%d of %d calls were made, as the plan has them\n", len(entries), len(requests))
	return nil
}

// readLines reads a file of JSON lines.
func readLines[T any](file string, read func([]byte) (T, error)) (out []T, err error) {
	raw, err := readFile(file, maxPlan)
	if err != nil {
		return nil, err
	}
	line := 0
	for text := range bytes.Lines(raw) {
		if line++; len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		v, err := read(bytes.TrimRight(text, "\n"))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		out = append(out, v)
	}
	return out, nil
}
