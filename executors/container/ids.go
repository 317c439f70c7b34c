package container

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
)

// tryUserNamespace decides whether sandboxes have a user namespace: always, if the
// host gives it. Without, the node does not open unless it was told to do without. A
// runtime with a kernel of its own needs none.
func (e *Executor) tryUserNamespace(ctx context.Context) error {
	if e.cfg.OwnKernel {
		return nil
	}
	err := sandbox.TryUserNamespace(ctx, e.cfg.InitPath)
	switch {
	case err == nil:
		e.mapped = true
		e.runtime += ", user namespaces"
	case ctx.Err() != nil:
		return ctx.Err()
	case e.cfg.WithoutUserNamespace:
		e.runtime += ", no user namespaces"
	default:
		return fmt.Errorf("%w; mend that, or do without it (containerd.user_namespace: optional)", err)
	}
	return nil
}

// firstID is the first of two ids that no other box of this host has: that of
// process 1 in a user namespace, then that of the payload. The kernel gives every
// mounted tmpfs a device number of its own, for as long as it is mounted: that of
// /out tells the boxes of all nodes apart, and there is no list that a crash could
// leave wrong.
func (b box) firstID() (int, error) {
	var st unix.Stat_t
	if err := unix.Stat(b.path(outDir), &st); err != nil {
		return 0, fmt.Errorf("ids of a run: %w", err)
	}
	if unix.Major(st.Dev) != 0 { // no tmpfs
		return 0, fmt.Errorf("ids of a run: %s is no mount of its own", b.path(outDir))
	}
	return sandbox.FirstHostID + 2*int(unix.Minor(st.Dev)), nil
}

// handOver gives init's folder, and what was put there, to process 1, which in a
// user namespace is not the host's root. Only those two get at it.
func (e *Executor) handOver(b box) error {
	if !e.mapped {
		return nil
	}
	first, err := b.firstID()
	if err != nil {
		return err
	}
	paths := []string{b.path(gateDir)}
	entries, err := os.ReadDir(b.path(gateDir))
	if err != nil {
		return fmt.Errorf("hand over to init: %w", err)
	}
	for _, d := range entries {
		paths = append(paths, b.path(gateDir, d.Name()))
	}
	if b.has(job.SpecFile) { // of a sandbox that waits for it
		paths = append(paths, b.path(job.SpecFile))
	}
	for _, p := range paths {
		if err := os.Lchown(p, first, first); err != nil {
			return fmt.Errorf("hand over to init: %w", err)
		}
	}
	return nil
}
