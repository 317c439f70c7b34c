package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	containerdclient "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
)

// killGrace is how long init has to end a run orderly, output kept, before it
// is ended itself. A throttled sandbox needs some 100 ms.
const killGrace = 1500 * time.Millisecond

// containerOf is the id of the task's container: its own, or that of its slot.
func (e *Executor) containerOf(id string) string {
	var rec record
	if b, err := e.runDirOf(id); err == nil && b.read(taskFile, &rec) == nil && rec.Slot != "" {
		return rec.Slot
	}
	return id
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

// loadTask finds what runs of a container, or nil.
func loadTask(ctx context.Context, cont containerdclient.Container) (containerdclient.Task, error) {
	if cont == nil {
		return nil, nil
	}
	task, err := cont.Task(ctx, nil) // no streams to attach to: init keeps them
	if errdefs.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find task: %w", err)
	}
	return task, nil
}

// alive says whether anything of a sandbox lives. Its control group tells; containerd is
// asked about runtimes whose processes need not be in it.
func (e *Executor) alive(ctx context.Context, cid string) (bool, error) {
	if !e.cfg.OwnKernel {
		pids, err := cgroup.Procs(cgroup.Root, e.cgroupOf(cid))
		return len(pids) > 0, err
	}
	cont, err := e.loadContainer(ctx, cid)
	if err != nil {
		return false, err
	}
	task, err := loadTask(ctx, cont)
	if task == nil || err != nil {
		return false, err
	}
	st, err := task.Status(ctx)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil && st.Status != containerdclient.Stopped, err
}

// State reports where the task stands.
func (e *Executor) State(ctx context.Context, id string) (executors.State, error) {
	b, err := e.runDirOf(id)
	if err != nil {
		return "", err
	}
	var rec record
	// Without a record, also after a reboot, what containerd knows means nothing.
	if there, err := b.readIf(taskFile, &rec); !there || err != nil {
		return executors.StateAbsent, err
	}
	if b.has(outcomeFile) {
		return executors.StateExited, nil
	}
	alive, err := e.alive(ctx, e.containerOf(id))
	if err != nil {
		return "", fmt.Errorf("state of task %s: %w", id, err)
	}
	_, never := b.unstarted()
	switch {
	case !alive && never:
		return executors.StateUnstarted, nil
	case !alive:
		return executors.StateExited, nil
	case b.has(startFile):
		return executors.StateRunning, nil
	}
	return executors.StateCreated, nil
}

// unstarted says whether it is certain that no instruction of the task ran or ever
// will, once nothing of its sandbox lives, and why: the host has not told init to start,
// or init left word that it gave up, and not that it was about to start the payload. Both
// are written before what they announce, on a tmpfs that is gone as a whole or not at all.
// A task that anything else is known of, or of which this can't be read, counts as started.
func (b runDir) unstarted() (why string, certain bool) {
	for _, name := range []string{outcomeFile, endFile, filepath.Join(gateDir, job.StartedFile),
		filepath.Join(gateDir, job.ExitFile)} {
		if !b.lacks(name) {
			return "", false
		}
	}
	switch {
	case !b.has(taskFile): // a run folder in the making, or half removed
		return "", false
	case b.lacks(startFile):
		return "its sandbox ended before it was told to start", true
	case b.has(filepath.Join(gateDir, job.FailureFile)):
		return "threegate-init could not do its work: " + b.failure(), true
	}
	return "", false
}

// notStarted is an error that matches executors.ErrNotStarted if that is certain.
func (b runDir) notStarted() error {
	if why, certain := b.unstarted(); certain {
		return executors.WithHint(fmt.Errorf("%w: %s", executors.ErrNotStarted, why),
			"threegate doctor and threegate posture say whether this host can isolate; the request is tried again by "+
				"itself")
	}
	return nil
}

// Start tells init to start the payload, once. The task counts as started once that is recorded. If the gate dies
// before it has told init, Wait tells it.
func (e *Executor) Start(ctx context.Context, id string) error {
	b, err := e.runDirOf(id)
	if err != nil {
		return err
	}
	state, err := e.State(ctx, id)
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
	if err := e.openEgress(b, rec); err != nil { // another process may have prepared it
		return fmt.Errorf("start %s: %w", id, err)
	}
	if err := b.write(startFile, startRecord{At: time.Now().UTC(), Monotonic: monotonic()}); err != nil {
		return fmt.Errorf("start %s: %w", id, err)
	}
	if err := b.tellInit(); err != nil {
		return fmt.Errorf("start %s: %w", id, err)
	}
	return nil
}

// tellInit lets init find its payload. It can be called again: init takes one only.
func (b runDir) tellInit() error {
	err := os.Rename(b.path(stagedPayload), b.path(gateDir, job.PayloadFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	pipe, err := unix.Open(b.path(gateDir, job.StartPipe), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENXIO) {
		return nil // init has found it already, or is gone, or has a kernel of its own and looks by itself
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: job.StartPipe, Err: err}
	}
	_, err = unix.Write(pipe, []byte{'.'})
	if errors.Is(err, unix.EPIPE) {
		err = nil // init has closed it since
	}
	return errors.Join(err, unix.Close(pipe))
}

// Kill ends the task at once. What it has written until then is kept.
func (e *Executor) Kill(ctx context.Context, id string) error {
	return e.kill(ctx, id, endRecord{})
}

func (e *Executor) kill(ctx context.Context, id string, why endRecord) error {
	b, err := e.runDirOf(id)
	if err != nil {
		return err
	}
	state, err := e.State(ctx, id)
	if err != nil || state != executors.StateCreated && state != executors.StateRunning {
		return err
	}
	if !b.has(endFile) { // the first reason stands
		if err := b.write(endFile, why); err != nil {
			return fmt.Errorf("kill %s: %w", id, err)
		}
	}
	if err := e.end(ctx, e.containerOf(id)); err != nil {
		return fmt.Errorf("kill %s: %w", id, err)
	}
	return nil
}

// end has init end a sandbox, and ends init if that takes too long.
func (e *Executor) end(ctx context.Context, cid string) error {
	cont, err := e.loadContainer(ctx, cid)
	if err != nil {
		return err
	}
	task, err := loadTask(ctx, cont)
	if err != nil {
		return err
	}
	if task == nil { // lost with its shim
		return cgroup.Kill(cgroup.Root, e.cgroupOf(cid))
	}
	if err := task.Kill(ctx, unix.SIGTERM); err != nil && !isGone(err) {
		return err
	}
	for over := time.Now().Add(killGrace); time.Now().Before(over); time.Sleep(lookPause / 10) {
		if alive, err := e.alive(ctx, cid); !alive || err != nil {
			return err
		}
	}
	if err := task.Kill(ctx, unix.SIGKILL); err != nil && !isGone(err) {
		return err
	}
	return nil
}

func isGone(err error) bool { return errdefs.IsNotFound(err) || errdefs.IsFailedPrecondition(err) }

// List returns the ids of all tasks of this node of which a run folder or a container exists.
func (e *Executor) List(ctx context.Context) ([]string, error) {
	ids, err := e.runDirs()
	if err != nil {
		return nil, err
	}
	conts, err := e.client.ContainerService().List(ctx, fmt.Sprintf("labels.%q==%q", nodeLabel, e.cfg.Node))
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	for _, c := range conts {
		if c.Labels[slotLabel] == "" { // that of a task is listed by its run folder
			ids = append(ids, c.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
