package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// StatusFile is where a running gate says what holds it up. It is a hint for
// people and `threegate status`, never read by a gate.
const StatusFile = "status.json"

// Trouble is something of ours that holds up a job, or the intake.
type Trouble struct {
	// What is a job's id, "intake", "posture", "core-notices", "orders", or "core-inbound" for a folder that hangs.
	What string `json:"what"`
	// Request is the job's request id; Doing says what can't be done, in words.
	Request string       `json:"request,omitempty"`
	Doing   string       `json:"doing"`
	Code    schemas.Code `json:"code"`
	Error   string       `json:"error"`
	// Mend says what an operator can do.
	Mend  string    `json:"mend"`
	Since time.Time `json:"since"`
	Tries int       `json:"tries"`
}

// LiveStatus is the content of StatusFile.
type LiveStatus struct {
	PID       int           `json:"pid"`
	UpdatedAt time.Time     `json:"updated_at"`
	Busy      int           `json:"busy"`
	Troubles  []Trouble     `json:"troubles"`
	Stuck     []spool.Stuck `json:"stuck"`
}

const (
	troubleIntake  = "intake"
	troubleCore    = "core-inbound"
	troubleNotices = "core-notices"
	troubleOrders  = "orders"
	statusEvery    = time.Second
	lastRetry      = time.Minute
)

// troubles keeps what is being tried again.
type troubles struct {
	first time.Duration // the pause before the second try

	mu sync.Mutex
	m  map[string]Trouble
}

func newTroubles(first time.Duration) *troubles {
	return &troubles{first: cmp.Or(first, spool.DefaultRetry), m: map[string]Trouble{}}
}

// set notes another failure and says how long to wait before the next try.
func (t *troubles) set(x Trouble) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.Since = time.Now().UTC()
	if last, ok := t.m[x.What]; ok {
		x.Since, x.Tries = last.Since, last.Tries
	}
	x.Tries++
	t.m[x.What] = x
	return min(t.first<<min(x.Tries-1, 10), lastRetry)
}

func (t *troubles) clear(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.m, what)
}

func (t *troubles) list() []Trouble {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := []Trouble{}
	for _, x := range t.m {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Trouble) int { return cmp.Compare(a.What, b.What) })
	return out
}

// reportStatus writes StatusFile when it changed, until ctx ends.
func (g *Gate) reportStatus(ctx context.Context) {
	last := ""
	for ctx.Err() == nil {
		s := LiveStatus{PID: os.Getpid(), Busy: g.runs.busy() + g.out.queue.busy(), Troubles: g.troubles.list(),
			Stuck: g.spool.Stuck()}
		if x := g.out.trouble(); x != nil { // the cause of others, maybe
			s.Troubles = slices.Insert(s.Troubles, 0, *x)
		}
		key := fmt.Sprint(s)
		if key != last {
			s.UpdatedAt = g.now().UTC()
			b, err := json.MarshalIndent(s, "", "  ")
			if err == nil {
				err = g.spool.WriteHint(StatusFile, append(b, '\n'))
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
func (g *Gate) trouble(what, doing string, err error) Trouble {
	return Trouble{What: what, Doing: doing, Code: schemas.CodeInternal, Error: err.Error(), Mend: g.mend(err)}
}

// heldUp is the trouble of a job.
func (g *Gate) heldUp(j *spool.Job, err error) Trouble {
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

// mend says what an operator can do about an error.
func (g *Gate) mend(err error) string {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, spool.ErrNoSpace):
		return "make room on that disk"
	case errors.Is(err, spool.ErrAway):
		return "mount CORE's folder again; runs go on meanwhile, and results wait"
	case errors.Is(err, unix.EROFS):
		return "remount that file system so that it can be written"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return "let the node open more files (LimitNOFILE= of its service)"
	}
	if m := executors.MendOf(err); m != "" {
		return m
	}
	return "threegate doctor --node " + g.config().Dir + " says what is missing; the log of serve says more"
}
