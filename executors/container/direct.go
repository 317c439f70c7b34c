package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	containerdclient "github.com/containerd/containerd/v2/client"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/direct"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
)

// process is process 1 of a sandbox: a task of containerd's, or that of a sandbox
// which was made without it.
type process interface {
	ID() string
	Pid() uint32
	Start(context.Context) error
	Status(context.Context) (containerdclient.Status, error)
	Wait(context.Context) (<-chan containerdclient.ExitStatus, error)
	Kill(context.Context, syscall.Signal, ...containerdclient.KillOpts) error
}

// processFile is in the box of a sandbox that was made without containerd, and
// nowhere else.
const processFile = "process.json"

// processRecord is process.json. The pid means something only while it is in the
// sandbox's control group.
type processRecord struct {
	Pid int `json:"pid"`
}

// openMaker makes it possible to make slots without containerd, where that is wanted
// and this host is one for it.
func (e *Executor) openMaker() error {
	if err := e.forgetSlotsFailure(); err != nil {
		return err
	}
	if !e.cfg.Slots.Direct || !e.mapped || !e.usual() {
		return nil
	}
	var err error
	if e.maker, err = direct.NewMaker(e.host); err != nil {
		return fmt.Errorf("slots: %w", err)
	}
	return nil
}

// makerTries is how often in a row the making of a slot without containerd may fail
// before slots are containers again, until the node is started anew.
const makerTries = 3

// direct says whether slots are made without containerd.
func (e *Executor) direct() bool { return e.maker != nil && e.fails.Load() < makerTries }

// slotsFailure, in the run folder, says why slots are containers until the node is
// started anew.
const slotsFailure = "slots.failure"

// slotFailed counts a failure to make a slot without containerd, and has it seen.
func (e *Executor) slotFailed(err error) error {
	n := e.fails.Add(1)
	if e.cfg.SlotFailed != nil {
		e.cfg.SlotFailed(err, n >= makerTries)
	}
	if n == makerTries {
		err = errors.Join(err, writeFile(filepath.Join(e.cfg.RunDir, slotsFailure), []byte(err.Error()), 0o600))
	}
	return err
}

func (e *Executor) forgetSlotsFailure() error {
	err := os.Remove(filepath.Join(e.cfg.RunDir, slotsFailure))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// SlotsFailure says why the node with that run folder has given up making slots
// without containerd, or nothing.
func SlotsFailure(runDir string) string {
	f, err := os.Open(filepath.Join(runDir, slotsFailure))
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 2 << 10
	why, _ := io.ReadAll(io.LimitReader(f, most))
	return string(why)
}

func (e *Executor) closeMaker() error {
	if e.maker == nil {
		return nil
	}
	e.heldMu.Lock()
	for _, s := range e.holds {
		s.forget()
	}
	e.heldMu.Unlock()
	return errors.Join(e.maker.Close(), e.forgetSlotsFailure())
}

// fillDirect makes the sandbox of a slot.
func (e *Executor) fillDirect(ctx context.Context, s *slot, policy sandbox.Policy) error {
	own, err := e.maker.Make(ctx, policy)
	if err != nil {
		return e.slotFailed(err)
	}
	e.fails.Store(0)
	s.own = own
	go func() {
		<-own.Ended()
		s.exit = exitOf(own)
		close(s.gone)
		own.Forget()
	}()
	if err := s.box.write(processFile, processRecord{Pid: own.Pid}); err != nil {
		return err
	}
	return s.openNamespace(own.Pid)
}

// forget lets go of a slot that goes on without this process.
func (s *slot) forget() {
	if s.own != nil {
		s.own.Forget()
	}
}

// exitOf is what the kernel told the parent of process 1, in containerd's terms.
func exitOf(own *direct.Sandbox) containerdclient.ExitStatus {
	status, known, err := own.Exit()
	switch {
	case err != nil || !known:
		return *containerdclient.NewExitStatus(containerdclient.UnknownExitStatus, time.Time{}, errors.Join(errLost, err))
	case status.Signaled():
		return *containerdclient.NewExitStatus(job.ExitSignalBase+uint32(status.Signal()), time.Now(), nil)
	default:
		return *containerdclient.NewExitStatus(uint32(status.ExitStatus()), time.Now(), nil)
	}
}

// directProcess is process 1 of a sandbox that was made without containerd, by this
// process or by an earlier one.
type directProcess struct {
	id, group string
	pid       int
}

// directProcess finds it, or gives nil if it has ended.
func (e *Executor) directProcess(b box, id string) (process, error) {
	var rec processRecord
	if err := b.read(processFile, &rec); err != nil {
		return nil, fmt.Errorf("find the sandbox: %w", err)
	}
	p := directProcess{id: id, group: cgroupOf(e.containerOf(id)), pid: rec.Pid}
	alive, err := p.alive()
	if !alive || err != nil {
		return nil, err
	}
	return p, nil
}

func (p directProcess) alive() (bool, error) {
	pids, err := cgroup.Procs(cgroup.Root, p.group)
	if err != nil {
		return false, fmt.Errorf("find the sandbox: %w", err)
	}
	return slices.Contains(pids, p.pid), nil
}

func (p directProcess) ID() string  { return p.id }
func (p directProcess) Pid() uint32 { return uint32(p.pid) }

// Start does nothing: init runs since the sandbox was made.
func (p directProcess) Start(context.Context) error { return nil }

func (p directProcess) Status(context.Context) (containerdclient.Status, error) {
	alive, err := p.alive()
	st := containerdclient.Status{Status: containerdclient.Stopped}
	if alive {
		st.Status = containerdclient.Running
	}
	return st, err
}

func (p directProcess) Kill(_ context.Context, sig syscall.Signal, _ ...containerdclient.KillOpts) error {
	s, err := direct.Find(p.group, p.pid)
	if s == nil || err != nil {
		return err
	}
	defer s.Forget()
	return s.Signal(sig)
}

// Wait tells of the end, not of the code: only the parent knows that.
func (p directProcess) Wait(ctx context.Context) (<-chan containerdclient.ExitStatus, error) {
	s, err := direct.Find(p.group, p.pid)
	if err != nil {
		return nil, err
	}
	c := make(chan containerdclient.ExitStatus, 1)
	ended := func(err error) {
		c <- *containerdclient.NewExitStatus(containerdclient.UnknownExitStatus, time.Time{}, err)
	}
	if s == nil {
		ended(nil)
		return c, nil
	}
	go func() {
		defer s.Forget()
		select {
		case <-s.Ended():
			_, _, err := s.Exit()
			ended(err)
		case <-ctx.Done():
			ended(ctx.Err())
		}
	}()
	return c, nil
}

// directIdentity is what runs a task in a slot that was made without containerd.
func (e *Executor) directIdentity(p payload) executors.Identity {
	id := e.identity(p)
	var u unix.Utsname
	_ = unix.Uname(&u) // never fails
	id.Runtime = p.said("containerd " + e.client.DaemonVersion() + " for images, sandboxes by threegate on Linux " + unix.ByteSliceToString(u.Release[:]) + ", user namespaces")
	return id
}

// removeDirect ends a sandbox that was made without containerd and removes its
// control group; only then may its box go, by which it is found.
func removeDirect(id string) error {
	if err := cgroup.Kill(cgroup.Root, cgroupOf(id)); err != nil {
		return err
	}
	return cgroup.Remove(cgroup.Root, cgroupOf(id))
}
