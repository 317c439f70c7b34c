package gate

import (
	"fmt"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/spool"
)

// inForce is the event of the result that is the answer to a request id now. The error says why there is none.
func (g *Gate) inForce(requestID string) (ledger.Event, error) {
	x, ok := g.journal.Admitted(requestID)
	switch {
	case !ok || x.Place != spool.StateDelivered:
		return ledger.Event{}, orders.Refusef("CORE has no result of %s: it is %s", spool.Quote(requestID),
			g.journal.Request(requestID).State)
	case g.journal.at(x.ID).Ended(): // whoever delivers it still has it in hand
		return ledger.Event{}, fmt.Errorf("the result of %s is still on its way to CORE", requestID)
	}
	e, err := g.eventAt(x.At)
	if err == nil && g.onItsWay(e) {
		return e, fmt.Errorf("the result of %s is still on its way to CORE", requestID)
	}
	if err == nil && x.Recalled {
		err = orders.Refusef("the result of %s was recalled before, by %s", e.RequestID, spool.Quote(e.By))
	}
	return e, err
}

// recallResult is the event by which a result that CORE got is no longer the answer to its request. It names the
// requests that took some of it as input.
func (g *Gate) recallResult(o *orders.Order) (ledger.Event, error) {
	e, err := g.inForce(o.Subject)
	if err != nil {
		return ledger.Event{}, err
	}
	if e.ResultSHA256 != o.ResultSHA256 {
		return ledger.Event{}, orders.Refusef("the answer to %s is another one now: %s, sha256 %s", e.RequestID,
			e.ResultID, e.ResultSHA256)
	}
	took, err := view.Took(g.config(), e)
	return ledger.Event{Type: ledger.ResultRecalled, RunID: e.RunID, RequestID: e.RequestID,
		RequestSHA256: e.RequestSHA256, ResultID: e.ResultID, ResultSHA256: e.ResultSHA256, Notice: e.RequestID,
		Took: took}, err
}

// notifyRecalled tells CORE of a recall that is on record.
func (g *Gate) notifyRecalled(requestID string) error {
	x, _ := g.journal.Admitted(requestID)
	if !x.Recalled {
		return nil
	}
	e, err := g.eventAt(x.At)
	if err != nil {
		return err
	}
	return g.putNotice(e.Notice, x.ID, ledger.NoticeOf(e))
}
