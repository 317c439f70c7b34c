package ledger

import (
	"time"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// Totals counts decisions. The zero value is ready.
type Totals struct {
	Admitted           int       `json:"admitted"`
	RequestsRefused    int       `json:"requests_refused"`
	RunsCompleted      int       `json:"runs_completed"`
	RunsFailed         int       `json:"runs_failed"`
	ResultsDelivered   int       `json:"results_delivered"`
	ResultsQuarantined int       `json:"results_quarantined"`
	LastEvent          time.Time `json:"last_event"`
	Events             int64     `json:"events"`
	// Rules counts refusals by each rule that refused, Causes runs by what ended them.
	Rules  map[string]int        `json:"-"`
	Causes map[schemas.Cause]int `json:"-"`
}

// Note counts an event.
func (t *Totals) Note(e Event) {
	if t.Rules == nil {
		t.Rules, t.Causes = map[string]int{}, map[schemas.Cause]int{}
	}
	t.Events, t.LastEvent = t.Events+1, e.Time
	switch to := Announces(e); {
	case e.Type == DeliveryAttempted && to == spool.StateAdmitted:
		t.Admitted++
	case to == spool.StateRequestRefused:
		t.RequestsRefused++
	case e.Type == RunCompleted:
		t.RunsCompleted++
	case e.Type == RunFailed:
		t.RunsFailed++
	case to == spool.StateDelivered:
		t.ResultsDelivered++
	case to == spool.StateResultRefused:
		t.ResultsQuarantined++
	}
	if EndsRun(e) {
		t.Causes[e.EndCause()]++
	}
	for _, rule := range e.Rules {
		if Announces(e).Ended() {
			t.Rules[rule]++
		}
	}
}
