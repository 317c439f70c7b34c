package orders

import (
	"slices"
	"strings"

	"github.com/threegate/tool-exec/gate/ledger"
)

// Fits says whether an event on record is what the order asked for: of its kind, about its subject, by its person. So
// no order that somebody signed stands for another decision.
func (o *Order) Fits(e ledger.Event) bool {
	subject, is := e.RunID, true
	switch o.Kind {
	case Reject:
		is = e.Type == ledger.QuarantineRejected
	case Release:
		is = e.Type == ledger.QuarantineReleased && slices.Equal(o.Released, e.Released)
	case Cancel:
		subject, is = e.RequestID, e.Type == ledger.RequestCancelled
	case Recall:
		subject, is = e.RequestID, e.Type == ledger.ResultRecalled && o.ResultSHA256 == e.ResultSHA256
	case Reissue:
		subject, is = e.RequestID, e.Type == ledger.ResultReissued && o.ResultSHA256 == e.ReplacesSHA256 &&
			slices.Equal(o.Released, e.Released)
	case Refused:
		subject, is = e.RequestID, e.Type == ledger.RequestRefused && o.RequestSHA256 == e.RequestSHA256
	}
	return is && o.By == e.By && strings.EqualFold(o.Subject, subject)
}
