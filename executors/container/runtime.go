package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	runcoptions "github.com/containerd/containerd/api/types/runc/options"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/sandbox"
)

const versionTime = 10 * time.Second

// CheckHandler reports whether a private containerd will find the program behind a runtime handler. It looks where
// containerd does: in PATH, next to the daemon, or at the path that the handler is. Without it no sandbox starts: the
// node never falls back to another runtime. The error says how to mend that.
func CheckHandler(handler, daemon string) error {
	if handler == "" || handler == DefaultRuntime {
		return nil // comes with containerd
	}
	const hint = "write it like io.containerd.kata.v2 or as the path of a shim, or leave containerd.runtime out"
	if filepath.IsAbs(handler) {
		if _, err := os.Stat(handler); err != nil {
			return executors.WithHint(fmt.Errorf("%w: containerd.runtime: %w", ErrConfig, err), hint)
		}
		return nil
	}
	parts := strings.Split(handler, ".")
	n := len(parts)
	if n < 3 || parts[n-2] == "" || parts[n-1] == "" || strings.Contains(handler, "/") {
		return executors.WithHint(fmt.Errorf("%w: containerd.runtime %q is no runtime handler", ErrConfig, handler),
			hint)
	}
	shim := "containerd-shim-" + parts[n-2] + "-" + parts[n-1]
	places := []string{shim}
	if path, err := executors.FindProgram(cmp.Or(daemon, "containerd")); err == nil {
		places = append(places, filepath.Join(filepath.Dir(path), shim))
	}
	for _, p := range places {
		if _, err := executors.FindProgram(p); err == nil {
			return nil
		} else if !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: containerd.runtime %s: %w", ErrConfig, handler, err)
		}
	}
	return executors.WithHint(fmt.Errorf("%w: containerd.runtime %s: its program %s is not installed", ErrConfig,
		handler, shim),
		"install it from those who make that runtime, or leave containerd.runtime out")
}

// Identity says what would run the task. Images are pinned by digest, so the answer is known even while the image is
// missing.
func (e *Executor) Identity(_ context.Context, t executors.Task) (executors.Identity, error) {
	p, err := e.payloadOf(t)
	if err != nil {
		return executors.Identity{}, err
	}
	return e.identity(p), nil
}

func (e *Executor) identity(p payload) executors.Identity {
	id := executors.Identity{Backend: p.backend, Runtime: e.runtime, Image: p.image}
	if p.execTmp {
		id.Runtime += ", /tmp executable"
	}
	return id
}

// describeRuntime asks the programs themselves for their versions.
func (e *Executor) describeRuntime(ctx context.Context) error {
	if HasOwnKernel(e.cfg.Runtime) {
		e.cfg.OwnKernel = true
	}
	words := []string{"containerd " + e.client.DaemonVersion(), e.cfg.Runtime}
	binary := e.cfg.RuntimeBinary
	if binary == "" && e.cfg.Runtime == DefaultRuntime {
		binary = "runc"
	}
	if binary != "" { // other handlers are the runtime themselves
		line, err := RuntimeVersion(ctx, binary)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrConfig, err)
		}
		if HasOwnKernel(line) {
			e.cfg.OwnKernel = true
		}
		words = append(words, strings.Replace(line, " version ", " ", 1))
	}
	e.binary = binary
	e.runtime = strings.Join(words, ", ")
	return nil
}

// HasOwnKernel says whether a runtime, by its handler or its version line, runs
// sandboxes on a kernel of their own.
func HasOwnKernel(name string) bool {
	return slices.ContainsFunc([]string{"runsc", "kata", "krun"}, func(known string) bool {
		return strings.Contains(name, known)
	})
}

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

// runtimeOptions are those of the runc shim; other handlers take none.
func (e *Executor) runtimeOptions() any {
	root, shims := e.client.RuncRoot(), ""
	if e.host.Unified {
		shims = cgroup.Shims(e.cfg.Cgroup)
	}
	if e.cfg.Runtime != DefaultRuntime || root == "" && e.cfg.RuntimeBinary == "" && shims == "" {
		return nil
	}
	return &runcoptions.Options{BinaryName: e.cfg.RuntimeBinary, Root: root, ShimCgroup: shims}
}
