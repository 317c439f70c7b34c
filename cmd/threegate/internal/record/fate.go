package record

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/fate"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/schemas"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
)

// States of a fate.Fate that commands tell apart.
const (
	fateUnknown   = "unknown"
	FateDelivered = "delivered"
)

// requestID takes an id, or the path of a request that is called after its id.
func requestID(arg string) string {
	return strings.TrimSuffix(filepath.Base(arg), ".md")
}

func (a *app) unknownRequest(id string) error {
	return cli.NotFoundf("if its id could not be read, it is in quarantine: threegate quarantine list"+a.NodeArg(),
		"the node knows no request %s", id)
}

// printFate says what became of a request.
func (a *app) printFate(f *fate.Fate) error {
	if a.JSON {
		return a.PrintJSON(f)
	}
	fields := [][2]string{{"request", f.RequestID}, {"state", f.State}}
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, [2]string{name, value})
		}
	}
	add("job", f.Job)
	if c := f.Cancelled; c != nil {
		by := c.By
		if c.ByUser != "" {
			by += " (user " + c.ByUser + ")"
		}
		add("cancelled", fmt.Sprintf("by %s at %s", by, c.TimeUTC.Format(time.RFC3339)))
		add("reason", c.Reason)
	}
	add("rules", strings.Join(f.Rules, ", "))
	if f.ExitCode != nil {
		add("exit code", fmt.Sprint(*f.ExitCode))
	}
	if f.Cause != schemas.CauseNone {
		add("cause", string(f.Cause))
	}
	if f.Withheld > 0 {
		add("withheld", withheldCount(f.Withheld)+"; why: threegate results show "+f.RequestID+a.NodeArg())
	}
	add("tool calls", callsOf(f.Tools))
	add("result", f.ResultPath)
	add("reasons", f.ReasonsPath)
	return term.Fields(a.UI.Out, a.UI.OutStyle, fields)
}

// tellReason adds the words of the person who cancelled a request, as far as this user may read orders.
func tellReason(l *config.Node, f *fate.Fate) {
	if f.Cancelled != nil {
		f.Cancelled.Reason, _ = orders.ReasonOf(l.Dir, f.Cancelled.Order)
	}
}

// FateExit is the exit code for the outcome of a request.
func FateExit(f *fate.Fate) error {
	if f.State == FateDelivered && f.ExitCode != nil && *f.ExitCode == 0 {
		return nil
	}
	return cli.Verdict(cli.ExitReject)
}
