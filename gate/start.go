package gate

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/patchpolicy"
	"github.com/threegate/tool-exec/spool"
)

// Executor runs tasks. It is safe for concurrent use by several goroutines, one task each. Every method may be called
// again after a crash of the gate, by another process, for a task that the first one began: what an Executor must
// remember of a task lives with the task, not in the process.
//
// An error always means a fault of the node's own (Infra). What the program did, and that it could not be started, is
// an Outcome.
type Executor interface {
	// Identity says what would run the task. It fails with executors.ErrUnavailable
	// when the node has no such backend or language. That an image is missing is
	// for Prepare to say.
	Identity(ctx context.Context, t executors.Task) (executors.Identity, error)
	// Prepare makes everything but lets no instruction of the task run. A
	// leftover of an earlier Prepare of the same task is removed first. On
	// return the state is StateCreated.
	Prepare(ctx context.Context, t executors.Task) error
	// Start lets the prepared task run. It returns once the task runs.
	// Called for a task that runs or ran already it does nothing.
	Start(ctx context.Context, id string) error
	// State reports where the task stands.
	State(ctx context.Context, id string) (executors.State, error)
	// Wait blocks until the task has ended, enforcing its wall clock limit
	// counted from its start, whoever started it. It can be called again.
	// Cancelling ctx stops the waiting, not the task. An error that matches
	// executors.ErrNotStarted says that for certain nothing of it ran or will.
	Wait(ctx context.Context, id string) (executors.Outcome, error)
	// Collect copies the streams to dst/stdout and dst/stderr and the regular files of /out, if there are any, to
	// dst/out/, each bounded by the task's limits. The caller makes them durable. It may be called again, and then
	// replaces what it wrote.
	Collect(ctx context.Context, id, dst string) (executors.Collected, error)
	// Cleanup removes every trace of the task. It is no error if there is none.
	Cleanup(ctx context.Context, id string) error
	// Kill ends the task at once, started or not, if it has not ended; what it wrote until then is kept, and
	// Wait and Collect return it. It is no error if there is none.
	Kill(ctx context.Context, id string) error
	// List returns the ids of all tasks of this node of which a trace exists.
	List(ctx context.Context) ([]string, error)
}

// start makes the sandbox of an admitted job. Up to the event nothing of the job
// has run and all of it can be done again; from then on it may run, once, and is
// never prepared again.
func (g *Gate) start(ctx context.Context, j *spool.Job) error {
	if err := g.contained(); err != nil {
		return err
	}
	a, err := readAdmission(j)
	if err != nil {
		return err
	}
	task := a.Task
	if len(j.Inputs()) > 0 {
		task.InputsDir = j.Path(spool.DirInputs)
	}
	if err := writeRegistry(j, a, &task); err != nil {
		return err
	}
	if err := g.exec.Prepare(ctx, task); err != nil {
		return fmt.Errorf("make its sandbox: %w", err)
	}
	id, err := g.exec.Identity(ctx, task)
	if err != nil {
		return fmt.Errorf("make its sandbox: %w", err)
	}
	return g.record(startEvent(j, a, id))
}

// writeRegistry puts the registry of a profile next to the inputs of its run, as it was admitted.
func writeRegistry(j *spool.Job, a *admitted, t *executors.Task) error {
	if a.Registry == nil {
		return nil
	}
	if err := j.Remove(ledger.DirGiven); err != nil { // of a try before this one
		return err
	}
	if err := os.Mkdir(j.Path(ledger.DirGiven), 0o700); err != nil {
		return fmt.Errorf("give the registry: %w", err)
	}
	if err := os.WriteFile(j.Path(ledger.DirGiven, patchpolicy.RegistryFile), a.Registry, 0o600); err != nil {
		return fmt.Errorf("give the registry: %w", err)
	}
	t.GivenDir = j.Path(ledger.DirGiven)
	return errors.Join(j.Wrote(ledger.DirGiven), j.Sync())
}

// startEvent announces that a job may run from now on.
func startEvent(j *spool.Job, a *admitted, id executors.Identity) ledger.Event {
	return ledger.Event{Type: ledger.RunStarted, RunID: j.ID, RequestID: a.Request.RequestID,
		RequestSHA256: a.RequestSHA256, Backend: a.Request.Backend, Image: id.Image}
}
