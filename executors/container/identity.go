package container

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/threegate/tool-exec/executors"
)

const versionTime = 10 * time.Second

// Identity says what would run the task: that is pinned, so it is known also while
// the image is missing.
func (e *Executor) Identity(_ context.Context, t executors.Task) (executors.Identity, error) {
	p, err := e.payloadOf(t)
	if err != nil {
		return executors.Identity{}, err
	}
	return e.identity(p), nil
}

func (e *Executor) identity(p payload) executors.Identity {
	return executors.Identity{Backend: p.backend, Runtime: p.said(e.runtime), Image: p.image}
}

// said adds to the words for a runtime in what the sandbox is weaker than others.
func (m model) said(runtime string) string {
	if m.execTmp {
		return runtime + ", /tmp executable"
	}
	return runtime
}

// describeRuntime asks the programs themselves for their versions.
func (e *Executor) describeRuntime(ctx context.Context) (string, error) {
	if HasOwnKernel(e.cfg.Runtime) {
		e.cfg.OwnKernel = true
	}
	words := []string{"containerd " + e.client.DaemonVersion(), e.cfg.Runtime}
	if binary := e.runtimeBinary(); binary != "" {
		ctx, cancel := context.WithTimeout(ctx, versionTime)
		defer cancel()
		out, err := exec.CommandContext(ctx, binary, "--version").Output()
		if err != nil {
			return "", fmt.Errorf("%w: ask the runtime %s for its version: %w", ErrConfig, binary, err)
		}
		line, _, _ := strings.Cut(string(out), "\n")
		if HasOwnKernel(line) {
			e.cfg.OwnKernel = true
		}
		words = append(words, strings.Replace(strings.TrimSpace(line), " version ", " ", 1))
	}
	return strings.Join(words, ", "), nil
}

// HasOwnKernel says whether a runtime, by its handler or its version line, runs
// sandboxes on a kernel of their own.
func HasOwnKernel(name string) bool {
	for _, known := range []string{"runsc", "kata", "krun"} {
		if strings.Contains(name, known) {
			return true
		}
	}
	return false
}

// runtimeBinary is the OCI runtime's program, or "" for handlers that are one themselves.
func (e *Executor) runtimeBinary() string {
	if e.cfg.RuntimeBinary != "" {
		return e.cfg.RuntimeBinary
	}
	if e.cfg.Runtime == DefaultRuntime {
		return "runc"
	}
	return ""
}
