package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	runcoptions "github.com/containerd/containerd/api/types/runc/options"
	containerdclient "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/typeurl/v2"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/egress"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
	"github.com/threegate/tool-exec/schemas"
)

// nodeLabel marks the containers of a node.
const nodeLabel = "threegate.node"

// cgroupParent holds the groups of all sandboxes.
const cgroupParent = "/threegate"

func cgroupOf(id string) string { return cgroupParent + "/" + id }

// Prepare makes box, container and task; process 1 exists then, but not one
// instruction of it has run.
func (e *Executor) Prepare(ctx context.Context, t executors.Task) error {
	if err := checkLimits(t.Limits); err != nil {
		return err
	}
	p, err := e.payloadOf(t)
	if err != nil {
		return err
	}
	if err := e.checkInit(); err != nil {
		return err
	}
	b, err := e.boxOf(t.ID)
	if err != nil {
		return err
	}
	r, err := e.rootOf(ctx, p.image)
	if err != nil {
		return err
	}
	if e.pool != nil && e.fits(t) {
		if ok, err := e.prepareWarm(ctx, b, r, t, p); ok || err != nil {
			return err
		}
	}
	cleaned := e.cfg.Trace.Step(t.ID, "prepare: remove leftovers")
	err = e.Cleanup(ctx, t.ID)
	cleaned()
	if err != nil {
		return err
	}
	if err := e.prepare(ctx, b, r, t, p); err != nil {
		// What is left is removed by the next Prepare or Cleanup if not now.
		return errors.Join(err, e.Cleanup(context.WithoutCancel(ctx), t.ID))
	}
	return nil
}

func (e *Executor) prepare(ctx context.Context, b box, r *root, t executors.Task, p payload) error {
	if err := b.make(t.Limits, p.execTmp); err != nil {
		return err
	}
	kept := t
	kept.Code, kept.InputsJSON = "", nil // the payload's input has them
	if err := b.write(taskFile, record{Task: kept, Identity: e.identity(p)}); err != nil {
		return err
	}
	in := t.InputsDir
	if in == "" {
		in = b.path(inDir)
	} else if err := readable(in); err != nil {
		return err
	}
	if p.stdin != nil {
		if err := writeFile(b.path(gateDir, job.StdinFile), p.stdin, 0o600); err != nil {
			return fmt.Errorf("write the payload's input: %w", err)
		}
	}
	if err := b.write(filepath.Join(gateDir, job.SpecFile), e.jobSpec(r, t, p)); err != nil {
		return err
	}
	if err := e.handOver(b); err != nil {
		return err
	}
	policy := e.policy(b, r, in, t, p.model)
	spec, err := sandbox.Spec(policy)
	if err != nil {
		return err
	}
	task, err := e.create(ctx, t.ID, spec, sandbox.Terms{Mapped: e.mapped, Egress: policy.Egress, OwnKernel: e.cfg.OwnKernel, ExecTmp: p.execTmp})
	if err != nil {
		return err
	}
	return e.openEgress(ctx, b, t, task)
}

// jobSpec is what init is told.
func (e *Executor) jobSpec(r *root, t executors.Task, p payload) job.Spec {
	env := payloadEnv(r.env)
	if t.Network == schemas.NetworkAllowlist {
		env = append(env, egress.Environment()...)
	}
	return job.Spec{
		ID: t.ID, Argv: p.argv, Env: env, Dir: sandbox.InDir, Time: t.Limits.Time,
		StdoutBytes: t.Limits.StdoutBytes, StderrBytes: t.Limits.StderrBytes, HostKernel: !e.cfg.OwnKernel,
	}
}

// fileSlack keeps the limit of one file's size above the size of /out and /tmp:
// a program that fills them is told so (ENOSPC) and not killed by SIGXFSZ.
const fileSlack = 1 << 20

func (e *Executor) policy(b box, r *root, in string, t executors.Task, m model) sandbox.Policy {
	l := t.Limits
	first, _ := b.firstID() // without one Spec refuses
	return sandbox.Policy{
		Root: r.path, Init: e.cfg.InitPath, Gate: b.path(gateDir), In: in, Out: b.path(outDir),
		Tmp: b.path(scratchDir, "tmp"), Shm: b.path(scratchDir, "shm"), CgroupsPath: cgroupOf(t.ID),
		MilliCPU: l.MilliCPU, MemoryBytes: l.MemoryBytes, Pids: l.Pids, OpenFiles: l.OpenFiles,
		FileBytes: fileBytes(l), CPUTime: cpuTime(l),
		SwapControl: e.host.SwapControl, OwnKernel: e.cfg.OwnKernel, Egress: t.Network == schemas.NetworkAllowlist,
		FirstID: first, Mapped: e.mapped, ExecTmp: m.execTmp,
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

// create checks the final configuration and makes container and task of it.
func (e *Executor) create(ctx context.Context, id string, spec *specs.Spec, terms sandbox.Terms, labels ...string) (containerdclient.Task, error) {
	if err := errors.Join(sandbox.Check(spec, terms), sandbox.CheckRoot(spec.Root.Path)); err != nil {
		return nil, err
	}
	marks := map[string]string{nodeLabel: e.cfg.Node}
	for _, l := range labels {
		marks[l] = "1"
	}
	made := e.cfg.Trace.Step(id, "prepare: container")
	cont, err := e.client.NewContainer(ctx, id,
		withSpec(spec),
		containerdclient.WithRuntime(e.cfg.Runtime, e.runtimeOptions()),
		containerdclient.WithContainerLabels(marks))
	if err != nil {
		return nil, fmt.Errorf("create container: %w", err)
	}
	made()
	made = e.cfg.Trace.Step(id, "prepare: task")
	task, err := cont.NewTask(ctx, cio.NullIO)
	made()
	if err != nil {
		return nil, fmt.Errorf("create task: %w", err)
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

// runtimeOptions are those of the runc shim; other handlers take none.
func (e *Executor) runtimeOptions() any {
	root := e.client.RuncRoot()
	if e.cfg.Runtime != DefaultRuntime || root == "" && e.cfg.RuntimeBinary == "" {
		return nil
	}
	return &runcoptions.Options{BinaryName: e.cfg.RuntimeBinary, Root: root}
}

// readable lets the payload's uid read the inputs, a folder of the gate's own
// that nobody else gets at. Anything but folders and files is refused.
func readable(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		const fileMode, dirMode = 0o444, 0o555
		mode := os.FileMode(fileMode)
		switch {
		case d.IsDir():
			mode = dirMode
		case !d.Type().IsRegular():
			return fmt.Errorf("%q is neither a file nor a folder", path)
		}
		info, err := d.Info()
		if err != nil || info.Mode().Perm()&mode == mode {
			return err
		}
		return root.Chmod(path, info.Mode().Perm()|mode)
	})
	if err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	return nil
}

// monotonic is the clock that init's deadlines are counted by.
func monotonic() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // can't fail for this clock
	return time.Duration(ts.Nano())
}
