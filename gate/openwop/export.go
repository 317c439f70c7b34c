package openwop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas/openwop"
)

// ErrUnlicensed says that the discovery document does not allow an event.
var ErrUnlicensed = errors.New("the discovery document licenses no such event")

// ErrUnknownRun says that the record has no start of a run.
var ErrUnknownRun = errors.New("the record has no such run")

// Exported counts what an export wrote.
type Exported struct {
	Runs   int64 `json:"runs"`
	Events int64 `json:"events"`
	// Unfinished are runs that have not ended: nothing of them was written.
	Unfinished int `json:"unfinished"`
}

// Export writes the events of each run that has ended, one a line and a run's next to each other,
// in the order in which runs ended. It stops with an error that matches ErrUnlicensed at an event
// that caps does not license. What it holds in memory are runs that have not ended.
func Export(ctx context.Context, dir string, caps *openwop.Capabilities, w io.Writer) (Exported, error) {
	var n Exported
	var p Projector
	open := map[string]*bytes.Buffer{}
	emit := func(e openwop.Event) error {
		if ok, missing := caps.Licenses(e.Type); !ok {
			return fmt.Errorf("%s: %w: it lacks %s", e.Type, ErrUnlicensed, missing)
		}
		b := open[e.RunID]
		if b == nil {
			b = &bytes.Buffer{}
			open[e.RunID] = b
		}
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		b.Write(line)
		b.WriteByte('\n')
		if !e.Terminal() {
			return nil
		}
		delete(open, e.RunID)
		n.Runs++
		n.Events += e.Sequence + 1
		_, err = w.Write(b.Bytes())
		return err
	}
	_, _, err := ledger.Read(dir, func(e ledger.Event) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return p.Project(e, emit)
	})
	n.Unfinished = len(open)
	return n, err
}

// RunReader reads the events of one run, and goes on where it was. It is not safe for concurrent
// use.
type RunReader struct {
	id     string
	record *ledger.Follower
	p      Projector
	snap   openwop.RunSnapshot
}

// ReadRun begins at the start of the record in dir.
func ReadRun(dir, runID string) *RunReader {
	return &RunReader{id: runID, record: ledger.Follow(dir)}
}

// Read calls each with every event of the run that was recorded since the last Read. An event
// that caps does not license is an error that matches ErrUnlicensed.
func (r *RunReader) Read(ctx context.Context, caps *openwop.Capabilities, each func(openwop.Event) error) error {
	return r.record.Read(func(e ledger.Event) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.RunID != r.id {
			return nil
		}
		return r.p.Project(e, func(ev openwop.Event) error {
			if ok, missing := caps.Licenses(ev.Type); !ok {
				return fmt.Errorf("%s: %w: it lacks %s", ev.Type, ErrUnlicensed, missing)
			}
			r.fold(ev)
			return each(ev)
		})
	})
}

func (r *RunReader) fold(e openwop.Event) {
	switch p := e.Payload.(type) {
	case openwop.RunStartedPayload:
		r.snap = openwop.RunSnapshot{RunID: e.RunID, WorkflowID: p.WorkflowID, Status: openwop.StatusRunning,
			StartedAt: e.Timestamp}
	case openwop.RunCompletedPayload:
		r.snap.Status, r.snap.CompletedAt = openwop.StatusCompleted, &e.Timestamp
	case openwop.RunFailedPayload:
		r.snap.Status, r.snap.CompletedAt, r.snap.Error = openwop.StatusFailed, &e.Timestamp, &p.Error
	}
}

// Snapshot is how the run stands after what was read, or ErrUnknownRun.
func (r *RunReader) Snapshot() (openwop.RunSnapshot, error) {
	if r.snap.RunID == "" {
		return r.snap, ErrUnknownRun
	}
	return r.snap, nil
}
