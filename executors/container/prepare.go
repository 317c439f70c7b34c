package container

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/egress"
	"github.com/threegate/tool-exec/executors/intree"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/toolruntime/contract"
)

// Prepare takes a slot or makes a sandbox for the task. Init waits in it then, and what it
// is to run lies ready.
func (e *Executor) Prepare(ctx context.Context, t executors.Task) error {
	if err := checkLimits(t.Limits); err != nil {
		return err
	}
	p, err := e.payloadOf(t)
	if err != nil {
		return err
	}
	if _, err := e.skeleton(); err != nil {
		return err
	}
	b, err := e.runDirOf(t.ID)
	if err != nil {
		return err
	}
	_, failed := b.unstarted() // what ended one slot before the start might end each
	if b.there() {
		if err := e.Cleanup(ctx, t.ID); err != nil {
			return err
		}
	}
	if e.pool != nil && e.fits(t) && !failed {
		if s := e.pool.take(p.model); s != nil {
			if err := e.claim(b, s, t, p); err == nil {
				return nil
			}
			// Whatever is wrong with the slot, the task can do without.
			if err := e.destroySlot(ctx, s); err != nil {
				return err
			}
		}
	}
	if err := e.Cleanup(ctx, t.ID); err != nil { // a container that has lost its run folder
		return err
	}
	if err := e.prepareCold(ctx, b, t, p); err != nil {
		// What is left is removed by the next Prepare or Cleanup if not now.
		return errors.Join(err, e.Cleanup(context.WithoutCancel(ctx), t.ID))
	}
	return nil
}

func (e *Executor) prepareCold(ctx context.Context, b runDir, t executors.Task, p payload) error {
	if err := b.make(t.Limits, p.execTmp, e.mapped); err != nil {
		return err
	}
	if err := b.addInputs(t); err != nil {
		return err
	}
	rec := record{Task: t, Identity: e.identity(p)}
	if err := b.write(taskFile, rec); err != nil { // of a task that fails now it says that it never started
		return err
	}
	var err error
	rec.Pid, err = e.makeSandbox(ctx, b, blueprint{
		id: t.ID, model: p.model, limits: t.Limits, network: t.Network, cpuTime: cpuTime(t.Limits),
		inputs: t.InputsDir != "" || t.GivenDir != "",
	})
	if err != nil {
		return err
	}
	if err := e.addPayload(b, rec, p); err != nil {
		return err
	}
	return e.openEgress(b, rec)
}

// stagedPayload is the payload's file until init may find it.
const stagedPayload = gateDir + "/." + job.PayloadFile

// addPayload writes the record of a task, and lays out what init is to run.
func (e *Executor) addPayload(b runDir, rec record, p payload) error {
	t := rec.Task
	r, err := e.rootOf(context.Background(), p.image) // ready since the sandbox was made
	if err != nil {
		return err
	}
	env := payloadEnv(r.env)
	if t.Network == schemas.NetworkAllowlist {
		env = append(env, egress.Environment()...)
	}
	rec.Tools = p.tools
	rec.Task.Code, rec.Task.InputsJSON = "", nil // the payload's input has them
	if err := b.write(taskFile, rec); err != nil {
		return err
	}
	if p.stdin != nil {
		if err := os.WriteFile(b.path(gateDir, job.StdinFile), p.stdin, 0o600); err != nil {
			return fmt.Errorf("write the payload's input: %w", err)
		}
		if err := b.handOver(job.StdinFile); err != nil {
			return err
		}
	}
	var timelineBytes int64
	if p.tools {
		timelineBytes = contract.MaxTimeline
		env = append(env, fmt.Sprintf("%s=%d", contract.TimelineEnv, job.TimelineFD))
	}
	err = b.write(stagedPayload, job.Payload{
		TimelineBytes: timelineBytes,
		Argv:          p.argv, Env: env, Dir: sandbox.InDir, Time: t.Limits.Time,
		StdoutBytes: t.Limits.StdoutBytes, StderrBytes: t.Limits.StderrBytes, HostKernel: !e.cfg.OwnKernel,
		CPUSeconds: sandbox.CPUSeconds(sandbox.Policy{CPUTime: cpuTime(t.Limits)}),
	})
	if err != nil {
		return err
	}
	return b.handOver(filepath.Base(stagedPayload))
}

// addInputs mounts the task's inputs in the run folder, if it has any. The mount says nothing of
// where they lie.
func (b runDir) addInputs(t executors.Task) error {
	layers := []string{b.path(emptyDir)}
	for _, dir := range []string{t.InputsDir, t.GivenDir} {
		if dir == "" {
			continue
		}
		if err := readable(dir); err != nil {
			return fmt.Errorf("inputs: %w", err)
		}
		layers = append([]string{dir}, layers...)
	}
	if len(layers) == 1 {
		return nil
	}
	if len(t.Trees) > 0 {
		if err := b.unpackTrees(t); err != nil {
			return fmt.Errorf("inputs: %w", err)
		}
		layers = append([]string{b.path(treesDir)}, layers...) // a folder in it covers the tar of that name
	}
	if err := mountOverlay(b.path(inDir), unix.MS_NOEXEC, layers...); err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	return nil
}

// unpackTrees makes the task's folder trees in the run folder. They were judged when the task was admitted.
func (b runDir) unpackTrees(t executors.Task) error {
	if err := makeDir(b.path(treesDir), 0o755); err != nil {
		return err
	}
	trees, err := os.OpenRoot(b.path(treesDir))
	if err != nil {
		return err
	}
	defer trees.Close()
	for _, name := range t.Trees {
		if err := unpackTree(t.InputsDir, name, trees); err != nil {
			return fmt.Errorf("unpack %q: %w", name, err)
		}
	}
	return readable(b.path(treesDir))
}

func unpackTree(inputs, name string, trees *os.Root) error {
	f, err := os.OpenInRoot(inputs, name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := trees.MkdirAll(name, 0o755); err != nil {
		return err
	}
	dir, err := trees.OpenRoot(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return intree.Unpack(bufio.NewReader(f), dir)
}

// readable lets the payload's uid read the inputs, a folder of the gate's own
// that nobody else gets at. Anything but folders and files is refused.
func readable(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
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
}
