package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/schemas"
)

// The exit codes. ExitCodes documents them; nothing else may be returned.
const (
	ExitOK          = 0
	ExitReject      = 1
	ExitTrouble     = 2
	ExitNotFound    = 3
	ExitBusy        = 4
	ExitTimeout     = 5
	ExitDeclined    = 6
	ExitIncomplete  = 7
	ExitInterrupted = 130
	ExitTerminated  = 143
)

// ExitCodes is the published contract: `threegate help exit-codes`, the man
// page and docs/exit-codes.md are made from it or compared with it.
var ExitCodes = []struct {
	Code    int
	Name    string
	Meaning string
}{
	{ExitOK, "ok", "Done. For a verdict: accepted, succeeded, intact."},
	{ExitReject, "reject",
		"A negative verdict: a document was rejected, the program that ran failed, a check did not pass."},
	{ExitTrouble, "trouble",
		"Wrong usage, or something that kept the command from doing its work " +
			"(a file that can't be read, a broken configuration)."},
	{ExitNotFound, "not-found", "There is no such file, request, item, rule or node."},
	{ExitBusy, "busy", "The node, or the name in the inbox, is taken by somebody else."},
	{ExitTimeout, "timeout", "The time that was given for waiting is over; what was waited for goes on."},
	{ExitDeclined, "declined", "A person was asked and did not say yes; nothing was changed."},
	{ExitIncomplete, "incomplete",
		"A result was delivered, and something is amiss in it: a declared output was not made, or a stream was cut."},
	{ExitInterrupted, "interrupted", "Stopped by an interrupt (Ctrl-C)."},
	{ExitTerminated, "terminated", "Stopped by SIGTERM."},
}

// Fault is an error with everything that its reader needs: an exit code, the
// SDK's error code, the rule that was broken (if one was) and how to mend it.
type Fault struct {
	Exit    int
	Code    schemas.Code
	Rule    string
	Message string
	Hint    string
	Cause   error
}

func (f *Fault) Error() string { return f.Message }
func (f *Fault) Unwrap() error { return f.Cause }

// Usagef is the fault of a wrong call.
func Usagef(hint, format string, args ...any) *Fault {
	return &Fault{Exit: ExitTrouble, Code: schemas.CodeValidation, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// Rejectf is a negative verdict, by a rule if rule is not empty.
func Rejectf(rule, hint, format string, args ...any) *Fault {
	return &Fault{Exit: ExitReject, Code: schemas.CodeValidation, Rule: rule, Message: fmt.Sprintf(format, args...),
		Hint: hint}
}

// NotFoundf is the fault of a name that nothing has.
func NotFoundf(hint, format string, args ...any) *Fault {
	return &Fault{Exit: ExitNotFound, Code: schemas.CodeFileIO, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// Troublef is the fault of something outside that failed with err. A file that
// does not exist gets the exit code for "not found".
func Troublef(err error, hint, format string, args ...any) *Fault {
	f := &Fault{Exit: ExitTrouble, Code: schemas.CodeFileIO, Message: fmt.Sprintf(format, args...), Hint: hint,
		Cause: err}
	if errors.Is(err, fs.ErrNotExist) {
		f.Exit = ExitNotFound
	}
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		f.Hint = whoMay(err)
	}
	if err != nil {
		f.Message += ": " + plainError(err)
	}
	return f
}

// plainError is err without the system call and path that os puts before it, if
// that is all there is: our messages name the path already.
func plainError(err error) string {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err.Error()
	case *os.LinkError:
		return e.Err.Error()
	}
	return err.Error()
}

// Verdict ends a command that has printed everything already.
type Verdict int

func (v Verdict) Error() string { return fmt.Sprintf("exit code %d", int(v)) }

// Signalled is the cause of a context that a signal cancelled.
type Signalled struct{ os.Signal }

func (s Signalled) Error() string { return "stopped by " + s.String() }
func (s Signalled) Unwrap() error { return context.Canceled }

// Finish reports err and returns the exit code that it maps to.
func (a *App) Finish(ctx context.Context, err error) int {
	if err == nil {
		return ExitOK
	}
	if s, ok := errors.AsType[Signalled](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) {
		a.Report(&Fault{Code: schemas.CodeInternal, Message: "interrupted", Cause: err})
		if s.Signal == syscall.SIGTERM {
			return ExitTerminated
		}
		return ExitInterrupted
	}
	if v, ok := errors.AsType[Verdict](err); ok {
		return int(v)
	}
	f, ok := errors.AsType[*Fault](err)
	if !ok {
		// What cobra finds before a command runs: flags, arguments, names.
		f = &Fault{Exit: ExitTrouble, Code: schemas.CodeValidation, Message: err.Error(), Cause: err}
		if msg, rest, ok := strings.Cut(f.Message, "\n\nDid you mean this?\n"); ok {
			f.Message, f.Hint = msg, "did you mean: "+strings.Join(strings.Fields(rest), ", ")
		} else {
			f.Hint = "threegate --help lists the commands, threegate COMMAND --help their flags"
		}
	}
	a.Report(f)
	return f.Exit
}

// Report writes one fault to stderr: two lines for people, or with --json one
// object for programs.
func (a *App) Report(f *Fault) {
	if !a.JSON {
		a.UI.Error(f.Message, f.Hint)
		return
	}
	type body struct {
		Code    schemas.Code `json:"code"`
		Rule    string       `json:"rule"`
		Message string       `json:"message"`
		Hint    string       `json:"hint"`
	}
	_ = json.NewEncoder(a.UI.Err).Encode(map[string]body{"error": {f.Code, f.Rule, f.Message, f.Hint}})
}

// ExitCodeTable is the table of exit codes, for help and for the man page.
func ExitCodeTable() string {
	var b strings.Builder
	for _, c := range ExitCodes {
		text := term.Indent(term.Wrap(c.Meaning, 60), strings.Repeat(" ", 18))
		fmt.Fprintf(&b, "%4d  %-12s%s\n", c.Code, c.Name, strings.TrimLeft(text, " "))
	}
	return strings.TrimRight(term.Block(b.String()), "\n")
}
