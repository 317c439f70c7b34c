// Package container runs tasks of both backends, each in a fresh containerd
// container whose process 1 is threegate-init. It satisfies gate.Executor.
//
// Everything that it must remember of a task lies in the task's run folder, a folder
// on tmpfs, and in containerd: any process of the node can take over at any
// time. What the payload writes reaches it only as bounded files and is never
// interpreted. It never runs a container that package sandbox has not checked.
package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/containerd"
	"github.com/threegate/tool-exec/executors/egress"
	"github.com/threegate/tool-exec/executors/sandbox"
)

// Errors to be matched with errors.Is.
var (
	// ErrUnavailable: the node has no image, or no means, for what the task asks.
	ErrUnavailable = executors.ErrUnavailable
	// ErrNoTask: there is no (complete) trace of the task.
	ErrNoTask = errors.New("no such task")
	// ErrConfig: the configuration of the executor can't work.
	ErrConfig = errors.New("container executor")
)

// DefaultRuntime is containerd's runtime handler for runc.
const DefaultRuntime = "io.containerd.runc.v2"

const cgroupHint = "systemctl start threegate-sandboxes, or leave containerd.cgroup out"

// Config is the executor's configuration; it comes from the operator.
type Config struct {
	// Node labels what belongs to this node: nothing else is listed or removed.
	Node string
	// RunDir is where run folders and roots are: a tmpfs is mounted there.
	RunDir string
	// InitPath is the static program threegate-init; threegate-payload lies beside it.
	InitPath string
	// ImagesDir is an OCI image layout.
	ImagesDir string
	// Images maps an ERA language to the digest of an image manifest.
	Images map[string]string
	// ExecTmp names the languages whose programs may execute what they write to /tmp.
	ExecTmp map[string]bool
	// Monty is the digest of the Monty image; empty means no Monty backend.
	Monty string
	// Containerd says which containerd is used.
	Containerd containerd.Config
	// Runtime is containerd's runtime handler, DefaultRuntime if empty.
	// RuntimeBinary overrides the OCI runtime below the runc shim.
	Runtime, RuntimeBinary string
	// Cgroup is the group, absolute below the root of each hierarchy, that holds those of all
	// sandboxes; DefaultCgroup if empty. The group above it must be there, and be the node's own.
	Cgroup string
	// OwnKernel says that the runtime runs sandboxes on a kernel of their own
	// (gVisor, a virtual machine) instead of the host's. Open sets it for those
	// that it knows: runsc, Kata, krun.
	OwnKernel bool
	// WithoutUserNamespace lets a host that gives sandboxes no user namespace serve
	// all the same: process 1 of each is the host's root then, with four capabilities.
	WithoutUserNamespace bool
	// Egress bounds the proxies of network: allowlist. Domains and LogPath are
	// set for each task.
	Egress egress.Config
	// Slots are sandboxes made before a task needs them; the zero value means none.
	Slots Slots
	// SlotFailed, if set, is told why a slot could not be made, once for each reason.
	SlotFailed func(err error)
}

// Executor runs tasks. It is safe for concurrent use.
type Executor struct {
	cfg     Config
	client  *containerd.Client
	host    sandbox.Host
	mapped  bool   // sandboxes have a user namespace
	runtime string // what Identity says of it
	binary  string // the OCI runtime below containerd's shim, or "" for another handler

	mu          sync.Mutex
	roots       map[string]*root // by image digest
	programs    []os.FileInfo    // those that were found sound, as Programs names them
	skeletonDir string           // which has them

	egressMu sync.Mutex
	egress   map[string]*egress.Proxy // by task; those that this process holds

	pool *pool // nil: every task starts cold
}

var nodeRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

func (c *Config) check() error {
	if !nodeRule.MatchString(c.Node) {
		return fmt.Errorf("%w: node name %q must be of letters, digits, dot, dash and underscore, at most 63",
			ErrConfig, c.Node)
	}
	for _, p := range []struct{ name, path string }{{"run folder", c.RunDir},
		{"path of threegate-init", c.InitPath}, {"images folder", c.ImagesDir}} {
		if !filepath.IsAbs(p.path) || filepath.Clean(p.path) != p.path {
			return fmt.Errorf("%w: the %s must be a clean absolute path, not %q", ErrConfig, p.name, p.path)
		}
	}
	return checkPrograms(Programs(c.InitPath))
}

// Open connects to containerd, starting a private one if so configured, and
// prepares the run folder. It refuses a host that can't isolate.
func Open(ctx context.Context, cfg Config) (*Executor, error) {
	cfg.Runtime = cmp.Or(cfg.Runtime, DefaultRuntime)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Containerd.Address == "" { // the host's has an environment of its own
		if err := CheckHandler(cfg.Runtime, cfg.Containerd.Private.Binary); err != nil {
			return nil, err
		}
	}
	host, err := sandbox.Probe()
	if err != nil {
		return nil, err
	}
	cfg.Cgroup = cmp.Or(cfg.Cgroup, DefaultCgroup)
	if err := cgroup.Prepare(cgroup.Root, cfg.Cgroup); err != nil {
		return nil, executors.WithHint(fmt.Errorf("%w: %w", ErrConfig, err), cgroupHint)
	}
	if err := prepareRunDir(cfg.RunDir); err != nil {
		return nil, err
	}
	client, err := containerd.Open(ctx, cfg.Containerd)
	if err != nil {
		return nil, err
	}
	e := &Executor{cfg: cfg, client: client, host: host, roots: map[string]*root{}, egress: map[string]*egress.Proxy{}}
	for _, step := range []func(context.Context) error{e.describeRuntime, e.tryUserNamespace, e.openPool} {
		if err := step(ctx); err != nil {
			client.Close()
			return nil, err
		}
	}
	return e, nil
}

// Close lets go of everything; tasks and a private containerd go on, idle slots
// do not. A task with network: allowlist has none until another Executor waits for it.
func (e *Executor) Close() error {
	return errors.Join(e.closePool(), e.closeEgresses(), e.client.Close())
}

// Shutdown is Close, and stops a private containerd. Tasks that still run go on
// under their shims and are found again by the next Open.
func (e *Executor) Shutdown(ctx context.Context) error {
	return errors.Join(e.closePool(), e.closeEgresses(), e.client.Stop(ctx))
}

func (e *Executor) closePool() error {
	if e.pool == nil {
		return nil
	}
	return e.pool.close()
}
