// Package trouble holds what of the node's own holds up jobs or the intake, and is tried again: a full disk, a
// containerd that is down.
package trouble

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// File is where a running gate says what holds it up. It is a hint for
// people and `threegate status`, never read by a gate.
const File = "status.json"

// Trouble is a fault of the node's own that holds up a job, or the intake.
type Trouble struct {
	// What is a job's id, "intake", "posture", "core-notices", "orders", "sender USER" or "orders of USER" if
	// their requests or orders wait, or "core-inbound" for a folder that hangs.
	What string `json:"what"`
	// Request is the job's request id; Doing says what can't be done, in words.
	Request string       `json:"request,omitempty"`
	Doing   string       `json:"doing"`
	Code    schemas.Code `json:"code"`
	Error   string       `json:"error"`
	// Hint says what an operator can do.
	Hint  string    `json:"mend"`
	Since time.Time `json:"since"`
	Tries int       `json:"tries"`
}

// Status is the content of File.
type Status struct {
	PID       int           `json:"pid"`
	UpdatedAt time.Time     `json:"updated_at"`
	Busy      int           `json:"busy"`
	Troubles  []Trouble     `json:"troubles"`
	Stuck     []spool.Stuck `json:"stuck"`
}

// lastRetry bounds the pause between two tries.
const lastRetry = time.Minute

// List keeps what is being tried again. It is safe for use by several goroutines.
type List struct {
	first time.Duration // the pause before the second try

	mu sync.Mutex
	m  map[string]Trouble
}

// NewList makes a list; first is the pause before the second try, 0 for the default.
func NewList(first time.Duration) *List {
	return &List{first: cmp.Or(first, spool.DefaultRetry), m: map[string]Trouble{}}
}

// Set notes another failure and says how long to wait before the next try.
func (t *List) Set(x Trouble) time.Duration {
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

// Clear takes away what is no trouble any more.
func (t *List) Clear(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.m, what)
}

// All are the troubles, by what they are about.
func (t *List) All() []Trouble {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.AppendSeq([]Trouble{}, maps.Values(t.m))
	slices.SortFunc(out, func(a, b Trouble) int { return cmp.Compare(a.What, b.What) })
	return out
}

// Hint says what an operator can do about an error, or "".
func Hint(err error) string {
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
	return executors.HintOf(err)
}
