package backend

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/container"
	"github.com/threegate/tool-exec/executors/containerd"
	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/config"
)

var _ gate.Executor = (*container.Executor)(nil)

const initName = "threegate-init"

// InitPath finds threegate-init: as configured, in the folder of this program, or where
// packages put it.
func InitPath(cfg *config.Node) (string, error) {
	if cfg.Backends.Init != "" {
		return cfg.Backends.Init, nil
	}
	var places []string
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			places = append(places, filepath.Join(filepath.Dir(self), initName))
		}
	}
	places = append(places, "/usr/libexec/threegate/"+initName)
	for _, p := range places {
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", cli.NotFoundf("build it (make build), or name it in "+config.FileName+": backends: {init: PATH}",
		"%s is neither in the folder of threegate nor in /usr/libexec/threegate", initName)
}

// executorConfig is what the node's configuration means for the executor.
func executorConfig(cfg *config.Node) (container.Config, error) {
	init, err := InitPath(cfg)
	if err != nil {
		return container.Config{}, err
	}
	c := container.Config{
		Node:          cfg.Label(),
		RunDir:        cfg.RunDir(),
		InitPath:      init,
		ImagesDir:     cfg.Backends.Images,
		Images:        map[string]string{},
		ExecTmp:       map[string]bool{},
		Monty:         cfg.Backends.Monty.Image,
		Runtime:       cfg.Containerd.Runtime,
		RuntimeBinary: cfg.Containerd.RuntimeBinary,
		Cgroup:        cfg.Containerd.Cgroup,

		WithoutUserNamespace: cfg.Containerd.UserNamespace == config.UserNamespaceOptional,
		Containerd:           containerd.Config{Address: cfg.Containerd.Address, Namespace: cfg.Containerd.Namespace},
	}
	for name, l := range cfg.Backends.ERA.Languages {
		c.Images[name], c.ExecTmp[name] = l.Image, l.ExecTmp
	}
	if c.Containerd.Address == "" {
		c.Containerd.Private = containerd.Private{Root: cfg.Containerd.Root, State: cfg.ContainerdState()}
	}
	return c, nil
}

// Open connects the node to its containerd. With a log, slots are made from
// then on, and it is told if that goes wrong.
func Open(ctx context.Context, cfg *config.Node, slots *slog.Logger) (*container.Executor, error) {
	c, err := executorConfig(cfg)
	if err != nil {
		return nil, err
	}
	if slots != nil {
		c.SlotFailed = func(err error) { slots.Warn("a slot could not be made", "error", err) }
		c.Slots = container.Slots{MemoryBytes: int64(cfg.Slots.MemoryMB) << 20, Limits: cfg.SlotLimits()}
	}
	if err := openRunBase(c.RunDir); err != nil {
		return nil, cli.Troublef(err, "", "the node's run folder")
	}
	e, err := container.Open(ctx, c)
	if err != nil {
		return nil, cli.Troublef(err, cmp.Or(executors.HintOf(err), "threegate doctor says what this host lacks"),
			"no container can be made")
	}
	return e, nil
}

// openRunBase makes the two folders of the node's own above its run folder, which
// sandboxes must be able to pass through.
func openRunBase(run string) error {
	const passMode = 0o711
	key := filepath.Dir(run)
	for _, dir := range []string{filepath.Dir(key), key} {
		if err := os.MkdirAll(dir, passMode); err != nil {
			return err
		}
		if err := os.Chmod(dir, passMode); err != nil { // one that an earlier version made
			return err
		}
	}
	return nil
}
