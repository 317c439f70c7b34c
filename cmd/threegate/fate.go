package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/schemas"
)

// States of a gate.Fate that commands tell apart.
const (
	fateUnknown   = "unknown"
	fateDelivered = "delivered"
)

// requestID takes an id, or the path of a request that is called after its id.
func requestID(arg string) string {
	return strings.TrimSuffix(filepath.Base(arg), ".md")
}

func (a *app) unknownRequest(id string) error {
	return &fault{exit: exitNotFound, code: schemas.CodeFileIO, message: fmt.Sprintf("the node knows no request %s", id),
		hint: "if its front matter could not be read it is in quarantine under another name: threegate quarantine list" + a.nodeArg()}
}

// printFate says what became of a request.
func (a *app) printFate(f *gate.Fate) error {
	if a.json {
		return a.printJSON(f)
	}
	fields := [][2]string{{"request", f.RequestID}, {"state", f.State}}
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, [2]string{name, value})
		}
	}
	add("job", f.Job)
	add("rules", strings.Join(f.Rules, ", "))
	if f.ExitCode != nil {
		add("exit code", fmt.Sprint(*f.ExitCode))
	}
	if f.Cause != schemas.CauseNone {
		add("cause", string(f.Cause))
	}
	add("result", f.ResultPath)
	add("reasons", f.ReasonsPath)
	return term.Fields(a.ui.Out, a.ui.OutStyle, fields)
}

// fateExit is the exit code that a settled fate means.
func fateExit(f *gate.Fate) error {
	if f.State == fateDelivered && f.ExitCode != nil && *f.ExitCode == 0 {
		return nil
	}
	return verdict(exitReject)
}
