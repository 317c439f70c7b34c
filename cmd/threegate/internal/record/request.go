package record

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/approval"
)

// requestID takes an id, or the path of a request that is called after its id.
func requestID(arg string) string {
	return strings.TrimSuffix(filepath.Base(arg), ".md")
}

func (a *app) unknownRequest(id string) error {
	return cli.NotFoundf("if its id could not be read, it is in quarantine: threegate quarantine list"+a.NodeArg(),
		"the node knows no request %s", id)
}

// find says what became of a request that is named by its id or by the beginning of it.
func (a *app) find(l *config.Node, arg string) (*view.RequestStatus, error) {
	id := requestID(arg)
	r, err := view.Of(l, id)
	if err == nil && r.State == ledger.StateUnknown {
		var ids []string
		if ids, err = view.Resolve(l, id, maxNear); err == nil {
			switch len(ids) {
			case 0:
				return nil, a.unknownRequest(id)
			case 1:
				r, err = view.Of(l, ids[0])
			default:
				more := ""
				if len(ids) > maxNear {
					ids, more = ids[:maxNear], ", ..."
				}
				return nil, cli.Usagef("name one of them: "+strings.Join(ids, ", ")+more,
					"more than one request begins with %s", id)
			}
		}
	}
	if err != nil {
		return nil, cli.Troublef(err, cli.RecordHint(err, l.Dir), "can't look for %s", id)
	}
	return r, nil
}

// maxNear is how many ids are offered.
const maxNear = 10

// printRequest says what became of a request.
func (a *app) printRequest(f *view.RequestStatus) error {
	if a.JSON {
		return a.PrintJSON(f)
	}
	why := "; why: threegate results show " + f.RequestID + a.NodeArg()
	return term.Fields(a.UI.Out, a.UI.OutStyle, requestFields(f, why))
}

// requestFields are what is known of a request, for people; why says where more is told of what is withheld.
func requestFields(f *view.RequestStatus, why string) [][2]string {
	fields := [][2]string{{"request", f.RequestID}, {"state", string(f.State)}}
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, [2]string{name, value})
		}
	}
	at := func(name string, t *time.Time) {
		if t != nil {
			add(name, t.UTC().Format(time.RFC3339))
		}
	}
	ordered := func(what string, d *ledger.Decision) {
		if d == nil {
			return
		}
		by := d.By
		if d.ByUser != "" {
			by += " (user " + d.ByUser + ")"
		}
		add(what, fmt.Sprintf("by %s at %s", by, d.TimeUTC.Format(time.RFC3339)))
		add("reason", d.Reason)
	}
	add("job", f.Job)
	if f.AdmittedUTC != nil {
		add("requested by", cmp.Or(f.Requester, notOnRecord))
		add("approved by", cmp.Or(approval.Listed(f.Approvers), notOnRecord))
	}
	at("admitted", f.AdmittedUTC)
	at("started", f.StartedUTC)
	at("ended", f.EndedUTC)
	at("delivered", f.DeliveredUTC)
	ordered("cancelled", f.Cancelled)
	ordered("rejected", f.Rejected)
	ordered("recalled", f.Recalled)
	add("taken as input by", tookBy(f.Took))
	add("rules", strings.Join(f.Rules, ", "))
	if f.ExitCode != nil {
		add("exit code", fmt.Sprint(*f.ExitCode))
	}
	if f.Cause != schemas.CauseNone {
		add("cause", string(f.Cause))
	}
	if f.Withheld > 0 {
		add("withheld", withheldCount(f.Withheld)+why)
	}
	add("tool calls", callsOf(f.Tools))
	add("result", f.ResultPath)
	add("replaces", f.Replaces)
	add("sha256", f.ResultSHA256)
	add("reasons", f.ReasonsPath)
	return fields
}

// notOnRecord stands for what an older record does not tell.
const notOnRecord = "not on record"

// tellReason adds the words of the person who ended a request, as far as this user may read orders.
func tellReason(l *config.Node, f *view.RequestStatus) {
	for _, d := range []*ledger.Decision{f.Cancelled, f.Rejected, f.Recalled} {
		if d != nil {
			d.Reason, _ = orders.ReasonOf(l.Dir, d.Order)
		}
	}
}

// Exit is the exit code for the outcome of a request.
func Exit(f *view.RequestStatus) error {
	switch {
	case !f.State.Answered() || f.ExitCode == nil || *f.ExitCode != 0:
		return cli.Verdict(cli.ExitReject)
	case f.Cause != "" && f.Cause != schemas.CauseNone:
		return cli.Verdict(cli.ExitIncomplete)
	}
	return nil
}
