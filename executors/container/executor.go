// Package container runs tasks of both backends, each in a fresh containerd
// container whose process 1 is threegate-init. It satisfies gate.Executor.
//
// Everything that it must remember of a task lies in the task's box, a folder
// on tmpfs, and in containerd: any process of the node can take over at any
// time. What the payload writes reaches it only as bounded files and is never
// interpreted. It never runs a container that package sandbox has not checked.
package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/containerd"
	"github.com/threegate/tool-exec/executors/direct"
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

// Config is the executor's configuration; it comes from the operator.
type Config struct {
	// Node marks what belongs to this node: nothing else is listed or removed.
	Node string
	// RunDir is where boxes and roots are: a tmpfs is mounted there.
	RunDir string
	// InitPath is the static program threegate-init.
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
	// Trace, if set, is told how long each step takes.
	Trace executors.Trace
	// Slots are sandboxes made ahead of need; the zero value means none.
	Slots Slots
	// SlotFailed, if set, is told of each slot that could not be made without
	// containerd; given up means that slots are containers from then on.
	SlotFailed func(err error, givenUp bool)
}

// Executor runs tasks. It is safe for concurrent use.
type Executor struct {
	cfg     Config
	client  *containerd.Client
	host    sandbox.Host
	mapped  bool   // sandboxes have a user namespace
	runtime string // what Identity says of it

	mu    sync.Mutex
	roots map[string]*root // by image digest
	init  os.FileInfo      // the program of init that was found sound

	egressMu sync.Mutex
	egress   map[string]*egress.Proxy // by task; those that this process holds

	pool   *pool         // nil: every task starts cold
	maker  *direct.Maker // nil: slots are containers
	fails  atomic.Int32  // of the maker, one after the other
	heldMu sync.Mutex
	holds  map[string]*slot // by task; those that this process claimed
}

// root is one image's mounted root; its own lock lets others be made meanwhile.
type root struct {
	mu    sync.Mutex
	ready bool
	path  string
	env   []string
}

var nodeRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

func (c *Config) check() error {
	if !nodeRule.MatchString(c.Node) {
		return fmt.Errorf("%w: node name %q must be of letters, digits, dot, dash and underscore, at most 63", ErrConfig, c.Node)
	}
	for _, p := range []struct{ name, path string }{{"run folder", c.RunDir}, {"path of threegate-init", c.InitPath}, {"images folder", c.ImagesDir}} {
		if !filepath.IsAbs(p.path) || filepath.Clean(p.path) != p.path {
			return fmt.Errorf("%w: the %s must be a clean absolute path, not %q", ErrConfig, p.name, p.path)
		}
	}
	if err := CheckInit(c.InitPath); err != nil {
		return executors.WithMend(fmt.Errorf("%w: %w", ErrConfig, err), initMend)
	}
	return nil
}

// Open connects to containerd, starting a private one if so configured, and
// prepares the run folder. It refuses a host that can't isolate.
func Open(ctx context.Context, cfg Config) (*Executor, error) {
	if cfg.Runtime == "" {
		cfg.Runtime = DefaultRuntime
	}
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
	if err := prepareRunDir(cfg.RunDir); err != nil {
		return nil, err
	}
	client, err := containerd.Open(ctx, cfg.Containerd)
	if err != nil {
		return nil, err
	}
	e := &Executor{cfg: cfg, client: client, host: host, roots: map[string]*root{}, egress: map[string]*egress.Proxy{}, holds: map[string]*slot{}}
	if e.runtime, err = e.describeRuntime(ctx); err != nil {
		client.Close()
		return nil, err
	}
	if err := e.tryUserNamespace(ctx); err != nil {
		client.Close()
		return nil, err
	}
	if err := e.openMaker(); err != nil {
		client.Close()
		return nil, err
	}
	if err := e.openPool(ctx); err != nil {
		client.Close()
		return nil, errors.Join(err, e.closeMaker())
	}
	return e, nil
}

// Close lets go of everything; tasks and a private containerd go on, idle slots
// do not. A task with
// network: allowlist has none until another Executor waits for it.
func (e *Executor) Close() error {
	return errors.Join(e.closePool(), e.closeMaker(), e.closeEgresses(), e.client.Close())
}

// Shutdown is Close, and stops a private containerd. Tasks that still run go on
// under their shims and are found again by the next Open.
func (e *Executor) Shutdown(ctx context.Context) error {
	return errors.Join(e.closePool(), e.closeMaker(), e.closeEgresses(), e.client.Stop(ctx))
}

// rootOf makes the image's root ready, importing the image if need be.
func (e *Executor) rootOf(ctx context.Context, image string) (*root, error) {
	e.mu.Lock()
	r := e.roots[image]
	if r == nil {
		r = &root{}
		e.roots[image] = r
	}
	e.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ready {
		return r, nil
	}
	if err := e.client.EnsureImage(ctx, e.cfg.ImagesDir, image); err != nil {
		return nil, err
	}
	path := filepath.Join(e.cfg.RunDir, rootsDir, hexOf(image))
	if err := e.client.EnsureRoot(ctx, image, filepath.Join(e.cfg.RunDir, skeletonDir), path); err != nil {
		return nil, err
	}
	env, err := e.client.ImageEnv(ctx, image)
	if err != nil {
		return nil, err
	}
	r.path, r.env, r.ready = path, env, true
	return r, nil
}
