package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/threegate/tool-exec/gate/trouble"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

const (
	troubleIntake   = "intake"
	troubleCore     = "core-inbound"
	troubleNotices  = "core-notices"
	troubleReissues = "reissues"
	troubleOrders   = "orders"
	statusEvery     = time.Second
)

// reportStatus writes trouble.File when it changed, until ctx ends.
func (g *Gate) reportStatus(ctx context.Context) {
	last := ""
	for ctx.Err() == nil {
		g.forgiveSenders()
		s := trouble.Status{PID: os.Getpid(), Busy: g.runs.busy() + g.out.queue.busy(), Troubles: g.troubles.All(),
			Stuck: g.spool.Stuck()}
		if x := g.out.trouble(); x != nil { // the cause of others, maybe
			s.Troubles = slices.Insert(s.Troubles, 0, *x)
		}
		key := fmt.Sprint(s)
		if key != last {
			s.UpdatedAt = g.now().UTC()
			b, err := json.MarshalIndent(s, "", "  ")
			if err == nil {
				err = g.spool.WriteHint(trouble.File, append(b, '\n'))
			}
			if err == nil {
				last = key
			}
		}
		g.alive()
		sleep(ctx, statusEvery)
	}
}

// trouble says in an operator's words what an error keeps from being done.
func (g *Gate) trouble(what, doing string, err error) trouble.Trouble {
	hint := trouble.Hint(err)
	if hint == "" {
		hint = "threegate doctor --node " + g.config().Dir + " says what is missing; the log of serve says more"
	}
	return trouble.Trouble{What: what, Doing: doing, Code: schemas.CodeInternal, Error: err.Error(), Hint: hint}
}

// heldUp is the trouble of a job.
func (g *Gate) heldUp(j *spool.Job, err error) trouble.Trouble {
	doing := "it can't be moved on"
	switch j.State {
	case spool.StateAdmitted:
		doing = "its run can't be started"
	case spool.StateRunning:
		doing = "its run can't be brought to its end"
	case spool.StateFinished:
		doing = "its result can't be delivered"
	}
	t := g.trouble(j.ID, doing, err)
	if a, err := readAdmission(j); err == nil {
		t.Request = a.Request.RequestID
	}
	return t
}
