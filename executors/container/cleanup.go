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
	cont, err := e.container(ctx, id)
	if err != nil {
		return fmt.Errorf("clean up %s: %w", id, err)
	}
	if cont == nil && !b.there() {
		return nil
	}
	if cont != nil {
		task, err := e.task(ctx, id)
		if err != nil {
			return fmt.Errorf("clean up %s: %w", id, err)
		}
		if task != nil {
			if _, err := task.Delete(ctx, containerdclient.WithProcessKill); err != nil && !errdefs.IsNotFound(err) {
				return fmt.Errorf("clean up %s: delete task: %w", id, err)
			}
		}
		if err := cont.Delete(ctx); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("clean up %s: delete container: %w", id, err)
		}
	}
	// The runtime removes them; this is for one that was killed meanwhile.
	err = cgroup.Kill(cgroup.Root, cgroupOf(id))
	if err = errors.Join(err, cgroup.Remove(cgroup.Root, cgroupOf(id)), b.remove()); err != nil {
		return fmt.Errorf("clean up %s: %w", id, err)
	}
	return nil
}
