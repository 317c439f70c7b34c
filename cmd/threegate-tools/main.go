// Command threegate-tools carries the Tool Runtime into a sandbox: it runs plans of tool
// calls, serves them over its streams, and prints their contracts.
//
// It runs in the sandbox only. The gate starts it there and nowhere else.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/toolruntime"
)

// The exit codes, as docs/exit-codes.md has them.
const (
	exitOK          = 0
	exitReject      = 1
	exitTrouble     = 2
	exitWarned      = 3 // of recheck only
	exitInterrupted = 130
)

// errRejected says that a call failed; what it was is printed already.
var errRejected = errors.New("a call failed")

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, in io.Reader, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	var code exitCode
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		fmt.Fprintln(errs, "error: interrupted")
		return exitInterrupted
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, errRejected):
		return exitReject
	case errors.Is(err, errWarned):
		return exitWarned
	}
	fmt.Fprintln(errs, "error:", visible(err.Error()))
	return exitTrouble
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "threegate-tools",
		Short: "Developer tools under contracts, for use inside of a sandbox",
		Long: `threegate-tools carries out calls of tools (files, search, patches, ...) on one folder, the
workspace, and keeps a record of each call.

A plan is a file with one call a line. As the command of a request it is an input that a
person approves: what it says is what runs.`,
		Example: `  threegate-tools run /in/plan.jsonl
  threegate-tools schema file_read`,
		Version:       toolruntime.Version + ", the version of the Tool Runtime specification",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(runCommand(), montyCommand(), serveCommand(), schemaCommand(), verifyCommand(), judgeCommand(),
		recheckCommand())
	return root
}

// visible keeps what others wrote from driving a terminal.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}
