package container

import (
	"context"
	"errors"
	"fmt"

	containerdclient "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"

	"github.com/threegate/tool-exec/executors/cgroup"
)

// Cleanup removes task, container, control groups, mounts and box, in this
// order: the box goes last, so that a task of which anything is left is listed.
func (e *Executor) Cleanup(ctx context.Context, id string) error {
	b, err := e.boxOf(id)
	if err != nil {
		return err
	}
	if err := e.closeEgress(id); err != nil {
		return fmt.Errorf("clean up %s: %w", id, err)
	}
	e.release(id)
	if b.has(processFile) { // no container has to do with it
		return e.destroy(ctx, e.containerOf(id), b)
	}
	if cid := e.containerOf(id); cid != id {
		// An earlier try to prepare the task may have left one of its own.
		if _, err := e.destroyContainer(ctx, id); err != nil {
			return fmt.Errorf("clean up %s: %w", id, err)
		}
		id = cid
	}
	return e.destroy(ctx, id, b)
}

// destroy removes a sandbox with all that belongs to it, and the box last.
func (e *Executor) destroy(ctx context.Context, id string, b box) error {
	if b.has(processFile) {
		err := removeDirect(id)
		if err == nil {
			err = b.remove()
		}
		if err != nil {
			return fmt.Errorf("clean up %s: %w", id, err)
		}
		return nil
	}
	found, err := e.destroyContainer(ctx, id)
	if err != nil {
		return fmt.Errorf("clean up %s: %w", id, err)
	}
	if !found && !b.there() && !cgroup.Exists(cgroup.Root, cgroupOf(id)) {
		return nil
	}
	// The runtime removes them; this is for one that was killed meanwhile.
	err = cgroup.Kill(cgroup.Root, cgroupOf(id))
	if err = errors.Join(err, cgroup.Remove(cgroup.Root, cgroupOf(id)), b.remove()); err != nil {
		return fmt.Errorf("clean up %s: %w", id, err)
	}
	return nil
}

// destroyContainer removes a container and its task, also one that containerd was
// killed over, and says if there was a container.
func (e *Executor) destroyContainer(ctx context.Context, id string) (found bool, err error) {
	cont, err := e.loadContainer(ctx, id)
	if err != nil {
		return false, err
	}
	if cont == nil {
		return false, e.client.RemoveRemains(id)
	}
	task, err := loadTask(ctx, cont)
	if err != nil {
		return true, err
	}
	if task != nil {
		var options []containerdclient.ProcessDeleteOpts
		// Some runtimes fail to kill what has ended already.
		if st, err := task.Status(ctx); err != nil || st.Status != containerdclient.Stopped {
			options = append(options, containerdclient.WithProcessKill)
		}
		if _, err := task.Delete(ctx, options...); err != nil && !errdefs.IsNotFound(err) {
			return true, fmt.Errorf("delete task: %w", err)
		}
	}
	if err := cont.Delete(ctx); err != nil && !errdefs.IsNotFound(err) {
		return true, fmt.Errorf("delete container: %w", err)
	}
	return true, e.client.RemoveRemains(id)
}
