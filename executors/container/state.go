package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	containerdclient "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
)

// killGrace is how long init has to end a run orderly, output kept, before it
// is ended itself. A throttled sandbox needs some 100 ms.
const killGrace = 1500 * time.Millisecond

// task finds the task's process 1, or nil if there is none, or it ended and
// nobody knows how.
func (e *Executor) task(ctx context.Context, id string) (process, error) {
	if b, err := e.boxOf(id); err == nil && b.has(processFile) {
		return e.directProcess(b, id)
	}
	cont, err := e.container(ctx, id)
	if cont == nil || err != nil {
		return nil, err
	}
	task, err := loadTask(ctx, cont)
	if task == nil || err != nil {
		return nil, err
	}
	return task, nil
}

func loadTask(ctx context.Context, cont containerdclient.Container) (containerdclient.Task, error) {
	task, err := cont.Task(ctx, nil) // no streams to attach to: init keeps them
	if errdefs.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find task: %w", err)
	}
	return task, nil
}

// containerOf is the id of the task's container: its own, or that of its slot.
func (e *Executor) containerOf(id string) string {
	var rec record
	if b, err := e.boxOf(id); err == nil && b.read(taskFile, &rec) == nil && rec.Slot != "" {
		return rec.Slot
	}
	return id
}

// container finds the task's container, or nil.
func (e *Executor) container(ctx context.Context, id string) (containerdclient.Container, error) {
	return e.loadContainer(ctx, e.containerOf(id))
}

// loadContainer finds a container, or nil. One of another node is an error.
func (e *Executor) loadContainer(ctx context.Context, id string) (containerdclient.Container, error) {
	cont, err := e.client.LoadContainer(ctx, id)
	if errdefs.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find container: %w", err)
	}
	info, err := cont.Info(ctx, containerdclient.WithoutRefreshedMetadata)
	if err != nil {
		return nil, fmt.Errorf("find container: %w", err)
	}
	if owner := info.Labels[nodeLabel]; owner != e.cfg.Node {
		return nil, fmt.Errorf("container %s belongs to %q, not to this node", id, owner)
	}
	return cont, nil
}

// look says where the task stands, and what there is of its process 1, if anything.
func (e *Executor) look(ctx context.Context, b box, id string) (executors.State, process, error) {
	var rec record
	err := b.read(taskFile, &rec)
	if errors.Is(err, os.ErrNotExist) { // also after a reboot: its traces in containerd mean nothing then
		return executors.StateAbsent, nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("state of task %s: %w", id, err)
	}
	if b.has(outcomeFile) {
		return executors.StateExited, nil, nil
	}
	task, err := e.task(ctx, id)
	if err != nil {
		return "", nil, err
	}
	var st containerdclient.Status
	if task != nil {
		st, err = task.Status(ctx)
	}
	switch _, never := b.unstarted(); {
	case never && (task == nil || errdefs.IsNotFound(err) || st.Status == containerdclient.Stopped):
		return executors.StateUnstarted, nil, nil
	case task == nil || errdefs.IsNotFound(err):
		if b.has(startFile) {
			return executors.StateExited, nil, nil // how is not known any more
		}
		return executors.StateAbsent, nil, nil
	case err != nil:
		return "", nil, fmt.Errorf("state of task %s: %w", id, err)
	}
	switch st.Status {
	case containerdclient.Created:
		return executors.StateCreated, task, nil
	case containerdclient.Running, containerdclient.Paused, containerdclient.Pausing:
		if rec.Slot != "" && !b.has(startFile) { // its init waits, and what was started ahead
			return executors.StateCreated, task, nil
		}
		return executors.StateRunning, task, nil
	case containerdclient.Stopped:
		return executors.StateExited, task, nil
	default:
		return "", nil, fmt.Errorf("state of task %s: containerd says %q", id, st.Status)
	}
}

// State reports where the task stands.
func (e *Executor) State(ctx context.Context, id string) (executors.State, error) {
	b, err := e.boxOf(id)
	if err != nil {
		return "", err
	}
	if s := e.held(id); s != nil && s.sound() == nil && !b.has(outcomeFile) && !b.has(endFile) {
		if b.has(startFile) {
			return executors.StateRunning, nil
		}
		return executors.StateCreated, nil
	}
	state, _, err := e.look(ctx, b, id)
	return state, err
}

// Start lets the task run, once: whether it ran is containerd's to say, and if
// that has lost it, the box's.
func (e *Executor) Start(ctx context.Context, id string) error {
	b, err := e.boxOf(id)
	if err != nil {
		return err
	}
	if s := e.held(id); s != nil && s.sound() == nil && !b.has(outcomeFile) && !b.has(endFile) {
		if b.has(startFile) {
			return nil
		}
		err := b.startSlot(id)
		if err != nil { // whether init was told is not known: Wait tells it again
			e.release(id)
		}
		return err
	}
	state, task, err := e.look(ctx, b, id)
	switch {
	case err != nil:
		return err
	case state == executors.StateAbsent:
		return fmt.Errorf("start %s: %w", id, ErrNoTask)
	case state == executors.StateUnstarted:
		return b.notStarted()
	case state != executors.StateCreated:
		return nil
	}
	var rec record
	if err := b.read(taskFile, &rec); err != nil {
		return fmt.Errorf("start %s: %w", id, err)
	}
	if rec.Slot != "" {
		return b.startSlot(id)
	}
	if !e.hasEgress(id) { // another process may have prepared it
		if err := e.openEgress(ctx, b, rec.Task, task); err != nil {
			return fmt.Errorf("start %s: %w", id, err)
		}
	}
	if err := b.write(startFile, startRecord{At: time.Now().UTC(), Monotonic: monotonic()}); err != nil {
		return fmt.Errorf("start %s: %w", id, err)
	}
	if err := task.Start(ctx); err != nil {
		// Another process may have been faster.
		if state, serr := e.State(ctx, id); serr == nil && state != executors.StateCreated {
			return nil
		}
		return fmt.Errorf("start %s: %w", id, err)
	}
	return nil
}

// startSlot lets the task of a slot run. From the record on it counts as started;
// should the gate die before init knows, Wait tells it.
func (b box) startSlot(id string) error {
	if err := b.write(startFile, startRecord{At: time.Now().UTC(), Monotonic: monotonic()}); err != nil {
		return fmt.Errorf("start %s: %w", id, err)
	}
	if err := b.begin(); err != nil {
		return fmt.Errorf("start %s: %w", id, err)
	}
	return nil
}

// Kill ends the task at once. What it has written until then is kept.
func (e *Executor) Kill(ctx context.Context, id string) error {
	return e.kill(ctx, id, endRecord{})
}

func (e *Executor) kill(ctx context.Context, id string, why endRecord) error {
	b, err := e.boxOf(id)
	if err != nil {
		return err
	}
	state, task, err := e.look(ctx, b, id)
	if err != nil {
		return err
	}
	if state == executors.StateAbsent || state == executors.StateExited || state == executors.StateUnstarted {
		return nil
	}
	if !b.has(endFile) { // the first reason stands
		if err := b.write(endFile, why); err != nil {
			return fmt.Errorf("kill %s: %w", id, err)
		}
	}
	if state == executors.StateRunning {
		ended, err := e.signalAndWait(ctx, task, unix.SIGTERM, killGrace)
		if ended || err != nil {
			return err
		}
	}
	if err := task.Kill(ctx, unix.SIGKILL); err != nil && !errdefs.IsNotFound(err) && !errdefs.IsFailedPrecondition(err) {
		return fmt.Errorf("kill %s: %w", id, err)
	}
	return nil
}

// signalAndWait signals process 1 and says whether it ended in time.
func (e *Executor) signalAndWait(ctx context.Context, task process, s syscall.Signal, limit time.Duration) (bool, error) {
	wctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	exit, err := task.Wait(wctx)
	if err == nil {
		err = task.Kill(ctx, s)
	}
	if errdefs.IsNotFound(err) || errdefs.IsFailedPrecondition(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("kill %s: %w", task.ID(), err)
	}
	st := <-exit
	return st.Error() == nil, ctx.Err()
}

// List returns the ids of all tasks of this node of which a box or a container exists.
func (e *Executor) List(ctx context.Context) ([]string, error) {
	ids, err := e.boxes()
	if err != nil {
		return nil, err
	}
	conts, err := e.client.ContainerService().List(ctx, fmt.Sprintf("labels.%q==%q", nodeLabel, e.cfg.Node))
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	for _, c := range conts {
		if c.Labels[slotLabel] == "" { // that of a task is listed by its box
			ids = append(ids, c.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
