package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/threegate/tool-exec/schemas"
)

// The exit codes. exitCodes documents them; nothing else may be returned.
const (
	exitOK          = 0
	exitReject      = 1
	exitTrouble     = 2
	exitNotFound    = 3
	exitBusy        = 4
	exitTimeout     = 5
	exitDeclined    = 6
	exitInterrupted = 130
	exitTerminated  = 143
)

// exitCodes is the published contract: `threegate help exit-codes`, the man
// page and docs/exit-codes.md are made from it or compared with it.
var exitCodes = []struct {
	Code    int
	Name    string
	Meaning string
}{
	{exitOK, "ok", "Done. For a verdict: accepted, succeeded, intact."},
	{exitReject, "reject", "A negative verdict: a document was rejected, the program that ran failed, a check did not pass."},
	{exitTrouble, "trouble", "Wrong usage, or something that kept the command from doing its work (a file that can't be read, a broken configuration)."},
	{exitNotFound, "not-found", "There is no such file, request, item, rule or node."},
	{exitBusy, "busy", "The node, or the name in the inbox, is taken by somebody else."},
	{exitTimeout, "timeout", "The time that was given for waiting is over; what was waited for goes on."},
	{exitDeclined, "declined", "A person was asked and did not say yes; nothing was changed."},
	{exitInterrupted, "interrupted", "Stopped by an interrupt (Ctrl-C)."},
	{exitTerminated, "terminated", "Stopped by SIGTERM."},
}

// fault is an error with everything that its reader needs: an exit code, the
// SDK's error code, the rule that was broken (if one was) and how to mend it.
type fault struct {
	exit    int
	code    schemas.Code
	rule    string
	message string
	hint    string
	cause   error
}

func (f *fault) Error() string { return f.message }
func (f *fault) Unwrap() error { return f.cause }

// usagef is the fault of a wrong call.
func usagef(hint, format string, args ...any) *fault {
	return &fault{exit: exitTrouble, code: schemas.CodeValidation, message: fmt.Sprintf(format, args...), hint: hint}
}

// troublef is the fault of something outside that failed with err. A file that
// does not exist gets the exit code for "not found".
func troublef(err error, hint, format string, args ...any) *fault {
	f := &fault{exit: exitTrouble, code: schemas.CodeFileIO, message: fmt.Sprintf(format, args...), hint: hint, cause: err}
	if errors.Is(err, fs.ErrNotExist) {
		f.exit = exitNotFound
	}
	if hint == "" && errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		f.hint = "run it with sudo, or as a user who may do that"
	}
	if err != nil {
		f.message += ": " + plainError(err)
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

// verdict ends a command that has already said all there is to say.
type verdict int

func (v verdict) Error() string { return fmt.Sprintf("exit code %d", int(v)) }

// signalled is the cause of a context that a signal cancelled.
type signalled struct{ os.Signal }

func (s signalled) Error() string { return "stopped by " + s.String() }

// finish reports err and returns the exit code that it maps to.
func (a *app) finish(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	if s, ok := errors.AsType[signalled](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) {
		a.report(&fault{code: schemas.CodeInternal, message: "interrupted", cause: err})
		if s.Signal == syscall.SIGTERM {
			return exitTerminated
		}
		return exitInterrupted
	}
	if v, ok := errors.AsType[verdict](err); ok {
		return int(v)
	}
	f, ok := errors.AsType[*fault](err)
	if !ok {
		// What cobra finds before a command runs: flags, arguments, names.
		f = &fault{exit: exitTrouble, code: schemas.CodeValidation, message: err.Error(), cause: err}
		if msg, rest, ok := strings.Cut(f.message, "\n\nDid you mean this?\n"); ok {
			f.message, f.hint = msg, "did you mean: "+strings.Join(strings.Fields(rest), ", ")
		} else {
			f.hint = "threegate --help lists the commands, threegate COMMAND --help their flags"
		}
	}
	a.report(f)
	return f.exit
}

// report writes one fault to stderr: two lines for people, or with --json one
// object for programs.
func (a *app) report(f *fault) {
	if !a.json {
		a.ui.Error(f.message, f.hint)
		return
	}
	type body struct {
		Code    schemas.Code `json:"code"`
		Rule    string       `json:"rule"`
		Message string       `json:"message"`
		Hint    string       `json:"hint"`
	}
	line, err := json.Marshal(map[string]body{"error": {f.code, f.rule, f.message, f.hint}})
	if err != nil {
		line = []byte(`{"error":{"code":"E_INTERNAL","rule":"","message":"can't encode the error","hint":""}}`)
	}
	fmt.Fprintf(a.ui.Err, "%s\n", line)
}
