package container

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/threegate/tool-exec/executors"
)

// CheckHandler says whether a private containerd will find the program behind a
// runtime handler: another one is a choice of how sandboxes are contained, and nothing
// stands in for it. An error has a mend. The search is containerd's own: in PATH, and
// beside the daemon; one that is named by its path must be there.
func CheckHandler(handler, daemon string) error {
	if handler == "" || handler == DefaultRuntime {
		return nil // comes with containerd
	}
	const mend = "write it like io.containerd.kata.v2 or as the path of a shim, or leave containerd.runtime out"
	if filepath.IsAbs(handler) {
		if _, err := os.Stat(handler); err != nil {
			return executors.WithMend(fmt.Errorf("%w: containerd.runtime: %w", ErrConfig, err), mend)
		}
		return nil
	}
	parts := strings.Split(handler, ".")
	n := len(parts)
	if n < 3 || parts[n-2] == "" || parts[n-1] == "" || strings.Contains(handler, "/") {
		return executors.WithMend(fmt.Errorf("%w: containerd.runtime %q is no runtime handler", ErrConfig, handler), mend)
	}
	shim := "containerd-shim-" + parts[n-2] + "-" + parts[n-1]
	places := []string{shim}
	if path, err := exec.LookPath(cmp.Or(daemon, "containerd")); err == nil {
		places = append(places, filepath.Join(filepath.Dir(path), shim))
	}
	for _, p := range places {
		if _, err := exec.LookPath(p); err == nil {
			return nil
		} else if !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: containerd.runtime %s: %w", ErrConfig, handler, err)
		}
	}
	return executors.WithMend(fmt.Errorf("%w: containerd.runtime %s: its program %s is not installed", ErrConfig, handler, shim),
		"install it from those who make that runtime, or leave containerd.runtime out")
}

// usual says whether sandboxes are to be made by runc. Only then the node may make
// them itself: whoever names another runtime wants what that one does.
func (e *Executor) usual() bool {
	return e.cfg.Runtime == DefaultRuntime && (e.cfg.RuntimeBinary == "" || filepath.Base(e.cfg.RuntimeBinary) == "runc")
}
