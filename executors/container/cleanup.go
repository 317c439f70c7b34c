package container

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	containerdclient "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"

	"github.com/threegate/tool-exec/executors/cgroup"
)

// Cleanup removes task, container, control groups, mounts and run folder, in this order. The run folder goes last, so
// that List names the task until nothing of it is left.
func (e *Executor) Cleanup(ctx context.Context, id string) error {
	b, err := e.runDirOf(id)
	if err != nil {
		return err
	}
	if err := e.closeEgress(id); err != nil {
		return fmt.Errorf("clean up %s: %w", id, err)
	}
	cid := e.containerOf(id)
	if cid != id {
		// An earlier try to prepare the task may have left one of its own.
		if err := e.destroyContainer(ctx, id); err != nil {
			return fmt.Errorf("clean up %s: %w", id, err)
		}
	}
	return e.destroy(ctx, cid, b)
}

// destroy removes a sandbox with all that belongs to it, and the run folder last.
func (e *Executor) destroy(ctx context.Context, id string, b runDir) error {
	err := e.destroyContainer(ctx, id)
	if err == nil {
		// The runtime removes them; this is for one that was killed meanwhile.
		err = cgroup.End(cgroup.Root, e.cgroupOf(id))
	}
	if err == nil {
		err = errors.Join(removeRoot(filepath.Join(e.cfg.RunDir, rootsDir, id)), b.remove())
	}
	if err != nil {
		return fmt.Errorf("clean up %s: %w", id, err)
	}
	return nil
}

// endTime bounds how long containerd may take to see that a task has ended.
const endTime = 5 * time.Second

// endTask ends a task and removes it. It is no error if there is none. Some runtimes fail to kill what has ended
// already, which containerd may not have seen yet.
func endTask(ctx context.Context, task containerdclient.Task) error {
	st, err := task.Status(ctx)
	if err == nil && st.Status == containerdclient.Stopped {
		_, err = task.Delete(ctx)
	} else if _, err = task.Delete(ctx, containerdclient.WithProcessKill); err != nil && !errdefs.IsNotFound(err) {
		if ended, werr := task.Wait(ctx); werr == nil {
			select {
			case <-ended:
				_, err = task.Delete(ctx)
			case <-time.After(endTime):
			}
		}
	}
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// destroyContainer removes a container and its task, also one that containerd was
// killed over. It is no error if there is none.
func (e *Executor) destroyContainer(ctx context.Context, id string) error {
	cont, err := e.loadContainer(ctx, id)
	if err != nil {
		return err
	}
	task, err := loadTask(ctx, cont)
	if err != nil {
		return err
	}
	if task != nil {
		if err := endTask(ctx, task); err != nil {
			return fmt.Errorf("delete task: %w", err)
		}
	}
	if cont != nil {
		if err := cont.Delete(ctx); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("delete container: %w", err)
		}
	}
	return e.client.RemoveRemains(id)
}
