package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	containerdclient "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/typeurl/v2"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
	"github.com/threegate/tool-exec/schemas"
)

// nodeLabel is on the containers of a node, slotLabel those of slots.
const (
	nodeLabel = "threegate.node"
	slotLabel = "threegate.slot"
)

// DefaultCgroup holds the groups of all sandboxes where no service of systemd does.
const DefaultCgroup = "/threegate"

func (e *Executor) cgroupOf(id string) string { return e.cfg.Cgroup + "/" + id }

// readyTime bounds how long init may take until it waits for its payload.
const readyTime = 30 * time.Second

// root is what is known of an image once it is unpacked; its own lock lets others be
// unpacked meanwhile.
type root struct {
	mu     sync.Mutex
	layers []string // uppermost first
	env    []string
}

// rootOf makes the image ready, importing it if need be.
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
	if r.layers != nil {
		return r, nil
	}
	if err := e.client.EnsureImage(ctx, e.cfg.ImagesDir, image); err != nil {
		return nil, err
	}
	env, err := e.client.ImageEnv(ctx, image)
	if err != nil {
		return nil, err
	}
	layers, err := e.client.Layers(ctx, image)
	if err != nil {
		return nil, err
	}
	r.env, r.layers = env, layers
	return r, nil
}

// blueprint is what a sandbox is made after.
type blueprint struct {
	id string // of container and control group
	model
	limits  executors.Limits
	network schemas.Network
	cpuTime time.Duration
	labels  []string // in addition to the node's
	inputs  bool     // they lie in the run folder; else /in is empty
}

// makeSandbox makes a container in a run folder that is there. When it returns, init waits for its
// payload, and the sandbox was checked from outside. It gives the pid of process 1.
func (e *Executor) makeSandbox(ctx context.Context, b runDir, bp blueprint) (pid int, err error) {
	r, err := e.rootOf(ctx, bp.image)
	if err != nil {
		return 0, err
	}
	skeleton, err := e.skeleton()
	if err != nil {
		return 0, err
	}
	dir := filepath.Join(e.cfg.RunDir, rootsDir, bp.id)
	if err := makeDir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return 0, err
	}
	// The container has a mount of its own once it is made.
	defer func() { err = errors.Join(err, removeRoot(dir)) }()
	if err := mountOverlay(dir, 0, append([]string{skeleton}, r.layers...)...); err != nil {
		return 0, fmt.Errorf("root of image %s: %w", bp.image, err)
	}
	policy := e.policy(b, dir, bp)
	spec, err := sandbox.Spec(policy)
	if err != nil {
		return 0, err
	}
	terms := sandbox.Terms{Mapped: e.mapped, Egress: policy.Egress, OwnKernel: e.cfg.OwnKernel, ExecTmp: bp.execTmp}
	if err := errors.Join(sandbox.Check(spec, terms), sandbox.CheckRoot(dir)); err != nil {
		return 0, err
	}
	task, err := e.createContainer(ctx, spec, bp)
	if err != nil {
		return 0, err
	}
	if err := task.Start(ctx); err != nil {
		return 0, fmt.Errorf("start init: %w", err)
	}
	pid = int(task.Pid())
	if e.cfg.OwnKernel { // the pipes don't reach into it, and nothing of it is seen from here
		return pid, nil
	}
	if err := e.awaitReady(ctx, b, bp.id); err != nil {
		return pid, err
	}
	if err := e.ownMasks(&slot{id: bp.id, model: bp.model, runDir: b, pid: pid}, policy); err != nil {
		return pid, err
	}
	if err := sandbox.Verify(pid, policy); err != nil {
		return pid, err
	}
	// Whatever the runtime made of the limits, they are in force now.
	return pid, cgroup.Limit(cgroup.Root, e.cgroupOf(bp.id), sandbox.Limits(policy))
}

func removeRoot(dir string) error {
	if err := unmount(dir); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

func (e *Executor) createContainer(ctx context.Context, spec *specs.Spec, bp blueprint) (containerdclient.Task, error) {
	labels := map[string]string{nodeLabel: e.cfg.Node}
	for _, l := range bp.labels {
		labels[l] = "1"
	}
	cont, err := e.client.NewContainer(ctx, bp.id,
		withSpec(spec),
		containerdclient.WithRuntime(e.cfg.Runtime, e.runtimeOptions()),
		containerdclient.WithContainerLabels(labels))
	if err != nil {
		return nil, fmt.Errorf("create container: %w", err)
	}
	task, err := cont.NewTask(ctx, cio.NullIO)
	if err != nil {
		return nil, e.explain(ctx, fmt.Errorf("create task: %w", err), spec, bp.id)
	}
	return task, nil
}

// withSpec stores the configuration as it is: the client's own options would
// start from another one.
func withSpec(spec *specs.Spec) containerdclient.NewContainerOpts {
	return func(_ context.Context, _ *containerdclient.Client, c *containers.Container) error {
		data, err := typeurl.MarshalAny(spec)
		c.Spec = data
		return err
	}
}

// awaitReady waits until init waits.
func (e *Executor) awaitReady(ctx context.Context, b runDir, id string) error {
	signals, stop := b.signals()
	defer stop()
	end := time.Now().Add(readyTime)
	for !b.has(filepath.Join(gateDir, job.ReadyFile)) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-signals:
			continue
		case <-time.After(lookPause):
		}
		if alive, err := e.alive(ctx, id); err != nil || !alive && !b.has(filepath.Join(gateDir, job.ReadyFile)) {
			return errors.Join(fmt.Errorf("init has ended: %s", b.failure()), err)
		}
		if time.Now().After(end) {
			return fmt.Errorf("init was not ready after %v", readyTime)
		}
	}
	return nil
}

// fileSlack keeps the limit of one file's size above the size of /out and /tmp:
// a program that fills them is told so (ENOSPC) and not killed by SIGXFSZ.
const fileSlack = 1 << 20

func (e *Executor) policy(b runDir, root string, bp blueprint) sandbox.Policy {
	l := bp.limits
	first, _ := b.firstID() // without one Spec refuses
	in := b.path(emptyDir)
	if bp.inputs {
		in = b.path(inDir)
	}
	return sandbox.Policy{
		Root: root, Gate: b.path(gateDir), Dev: b.path(devDir), In: in, Out: b.path(outDir),
		Tmp: b.path(tmpDir), Shm: b.path(shmDir), CgroupsPath: e.cgroupOf(bp.id),
		MilliCPU: l.MilliCPU, MemoryBytes: l.MemoryBytes, Pids: l.Pids, OpenFiles: l.OpenFiles,
		FileBytes: fileBytes(l), CPUTime: bp.cpuTime,
		SwapControl: e.host.SwapControl, OwnKernel: e.cfg.OwnKernel, Egress: bp.network == schemas.NetworkAllowlist,
		FirstID: first, Mapped: e.mapped, ExecTmp: bp.execTmp,
	}
}

// fileBytes bounds any single file.
func fileBytes(l executors.Limits) int64 {
	return max(l.OutBytes, l.TmpBytes, l.StdoutBytes, l.StderrBytes) + fileSlack
}

// cpuTime bounds each process. None can use more than the wall clock lets all of
// them use together: this only ends what has escaped every other end.
func cpuTime(l executors.Limits) time.Duration {
	most := l.Time*time.Duration(l.MilliCPU)/1000 + time.Second
	if l.CPUTime > 0 {
		return min(l.CPUTime, most)
	}
	return most
}

// monotonic is the clock that init's deadlines are counted by.
func monotonic() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // can't fail for this clock
	return time.Duration(ts.Nano())
}
