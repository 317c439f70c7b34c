package spool

import (
	"errors"
	"fmt"
	"time"

	"github.com/threegate/tool-exec/spool/durable"
)

// Errors that callers tell apart.
var (
	// ErrLocked says that another process owns the node.
	ErrLocked = errors.New("the node is in use by another process")
	// ErrGone says that there is nothing to claim: another node took it, or its
	// owner took it back.
	ErrGone = errors.New("the request is no longer in the inbox")
	// ErrStuck says that this one request can't be taken in now; others can.
	ErrStuck = errors.New("the request can't be taken in now")
	// ErrBusy says that the request is still open for writing somewhere. It is
	// the node's already, and Pending offers it again shortly.
	ErrBusy = errors.New("the request is still open for writing")
	// ErrNoSpace says that nothing new is claimed because the disk is too full.
	ErrNoSpace = errors.New("too little free space to claim another request")
	// ErrOtherFilesystem says that folders which a rename must connect lie on
	// different mounts.
	ErrOtherFilesystem = errors.New("a claim and every step is one rename, so both must be on one mount")
	// ErrTransition says that a job can't go to that state.
	ErrTransition = errors.New("illegal transition")
	// ErrConflict says that other bytes are there already under the same name.
	ErrConflict = errors.New("other content is there already")
	// ErrUncertain says that a step failed but may have happened. The caller
	// must stop and open the spool again: only the folders know.
	ErrUncertain = durable.ErrUncertain
	// ErrDamaged says that a job's folder is not as the node writes it.
	ErrDamaged = errors.New("the job is damaged")
)

// ClaimError says why a request that is there can't be taken in now. It is
// tried again, ever more rarely; Stuck lists it meanwhile.
type ClaimError struct {
	Inbox string
	Name  string // quoted
	// InNode says that the request left the inbox and lies in the node.
	InNode bool
	Err    error
}

func (e *ClaimError) Error() string {
	where := "stays in the inbox"
	if e.InNode {
		where = "is held by the node"
	}
	return fmt.Sprintf(
		"inbox %s: request %s can't be taken in now (it %s and is tried again): %v",
		e.Inbox,
		e.Name,
		where,
		e.Err,
	)
}

// Unwrap gives the reason and ErrStuck.
func (e *ClaimError) Unwrap() []error { return []error{e.Err, ErrStuck} }

// Stuck is one thing that keeps a request from being taken in.
type Stuck struct {
	Inbox    string    `json:"inbox"`
	Name     string    `json:"name,omitempty"` // quoted; empty: the inbox itself
	Reason   string    `json:"reason"`
	InNode   bool      `json:"held"` // in the node already, not in the inbox
	Since    time.Time `json:"since"`
	Attempts int       `json:"attempts"`
	NextTry  time.Time `json:"next_try"`
}
