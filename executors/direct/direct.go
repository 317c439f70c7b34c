// Package direct makes sandboxes by system calls of its own, for slots: what takes a
// container runtime some ten processes takes one here. It makes what package
// sandbox's Spec describes, namespace for namespace and mount for mount, before
// anything of a request is known; and it looks at the result from outside, through
// the kernel's own eyes, before it lets anybody have it.
//
// It trusts its callers' policies, and threegate-init. Nothing hostile runs while a
// sandbox is made.
package direct

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
)

// ErrUnsound is in every error of a check: the sandbox is not what it must be.
var ErrUnsound = errors.New("the sandbox is not as it must be")

// readyTime bounds how long init may take until it waits for its job.
const readyTime = 10 * time.Second

// leftPause lies between two looks at whether a thread has ended.
const leftPause = 200 * time.Microsecond

// namespaces that every sandbox has of its own.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// Maker makes sandboxes. It is safe for concurrent use.
type Maker struct {
	proc *os.File // the host's /proc

	mu     sync.Mutex
	moulds map[string]*os.File // by root: what a new mount namespace begins as
}

// NewMaker gives nil for a host for which this package is not made: one whose
// controllers are those of cgroup v2, where devices are a program's matter.
func NewMaker(h sandbox.Host) (*Maker, error) {
	if h.Unified {
		return nil, nil
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	return &Maker{proc: proc, moulds: map[string]*os.File{}}, nil
}

// Close lets go of what new sandboxes are made from; those that are there go on.
func (m *Maker) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	errs := []error{m.proc.Close()}
	for _, f := range m.moulds {
		errs = append(errs, f.Close())
	}
	clear(m.moulds)
	return errors.Join(errs...)
}

// Make makes the control group and the sandbox of a policy. Its process 1 waits
// for a job in the policy's gate folder when Make returns. On an error the caller
// ends what is in the group and removes it.
func (m *Maker) Make(ctx context.Context, p sandbox.Policy) (*Sandbox, error) {
	spec, err := sandbox.Spec(p)
	if err != nil {
		return nil, err
	}
	// The same refusals as for a container's.
	if err := errors.Join(sandbox.Check(spec, true, false, false), sandbox.CheckRoot(p.Root)); err != nil {
		return nil, err
	}
	orders, err := initOrders(spec)
	if err != nil {
		return nil, err
	}
	mould, err := m.mould(p)
	if err != nil {
		return nil, err
	}
	if err := cgroup.Create(cgroup.Root, p.CgroupsPath, sandbox.Limits(p)); err != nil {
		return nil, err
	}
	tell, told, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer told.Close()
	answer, answers, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, tell.Close())
	}
	defer answer.Close()
	if err := deadline(ctx, answer); err != nil {
		return nil, errors.Join(err, tell.Close(), answers.Close())
	}
	s, err := m.birth(p, spec, mould, tell, answers, answer)
	err = errors.Join(err, tell.Close(), answers.Close())
	if s == nil {
		return nil, err
	}
	if err == nil {
		err = m.finish(ctx, p, spec, s, orders, told, answer)
	}
	if err != nil {
		_ = s.Signal(unix.SIGKILL) // it has ended, or ends
		s.Forget()
		return nil, err
	}
	return s, nil
}

// finish has init give up what it does not need, and checks what came of it all.
func (m *Maker) finish(ctx context.Context, p sandbox.Policy, spec *specs.Spec, s *Sandbox, orders []byte, told, answer *os.File) error {
	score := strconv.Itoa(*spec.Process.OOMScoreAdj)
	if err := os.WriteFile(procFile(s.Pid, "oom_score_adj"), []byte(score), 0); err != nil {
		return fmt.Errorf("make a sandbox: %w", err)
	}
	if _, err := told.Write(orders); err != nil {
		return fmt.Errorf("make a sandbox: %w", err)
	}
	if err := told.Close(); err != nil {
		return fmt.Errorf("make a sandbox: %w", err)
	}
	if err := await(answer); err != nil {
		return fmt.Errorf("make a sandbox: %w", err)
	}
	// It has closed its end after its last word: nothing of ours is open in it.
	if _, err := answer.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("make a sandbox: its init has more to say than that it is ready: %w", err)
	}
	if err := left(p.CgroupsPath); err != nil {
		return fmt.Errorf("make a sandbox: %w", err)
	}
	return Check(p, spec, s)
}

// left waits until the thread that made the sandbox has ended. In the group it would
// share the limits of a program, and be held up with it.
func left(group string) error {
	for end := time.Now().Add(readyTime); ; time.Sleep(leftPause) {
		pids, err := cgroup.Procs(cgroup.Root, group)
		if err != nil || !slices.Contains(pids, os.Getpid()) {
			return err
		}
		if time.Now().After(end) {
			return errors.New("the thread that made it does not end")
		}
	}
}

// deadline bounds all answers of init.
func deadline(ctx context.Context, answer *os.File) error {
	end := time.Now().Add(readyTime)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	return answer.SetReadDeadline(end)
}

// await reads the next answer of init.
func await(answer *os.File) error {
	var b [1]byte
	if _, err := answer.Read(b[:]); err != nil {
		return fmt.Errorf("its init does not answer: %w", err)
	}
	return nil
}

// initOrders is what init is to do to itself, which nobody else can do to it.
func initOrders(spec *specs.Spec) ([]byte, error) {
	raw, err := sandbox.Filter(spec.Linux.Seccomp)
	if err != nil {
		return nil, err
	}
	var filter bytes.Buffer
	for _, i := range raw { // as struct sock_filter
		_ = binary.Write(&filter, binary.NativeEndian, i) // never fails
	}
	o := job.Orders{Hostname: spec.Hostname, Filter: filter.Bytes()}
	for _, r := range spec.Process.Rlimits {
		o.Limits = append(o.Limits, job.Limit{Name: r.Type, Soft: r.Soft, Hard: r.Hard})
	}
	return o.Encode()
}

// birth starts init in namespaces of its own and gives it its mounts.
func (m *Maker) birth(p sandbox.Policy, spec *specs.Spec, mould, tell, answers, answer *os.File) (*Sandbox, error) {
	parts, err := openParts(p)
	if err != nil {
		return nil, err
	}
	defer parts.close()
	unified, err := cgroup.OpenUnified(cgroup.Root, p.CgroupsPath)
	if err != nil {
		return nil, err
	}
	if unified != nil {
		defer unified.Close()
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()

	attr := &syscall.ProcAttr{
		Dir: "/", Env: spec.Process.Env,
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), tell.Fd(), answers.Fd()},
		Sys: &syscall.SysProcAttr{
			Cloneflags: namespaces, Setsid: true,
			UidMappings: mappings(spec.Linux.UIDMappings), GidMappings: mappings(spec.Linux.GIDMappings), GidMappingsEnableSetgroups: true,
			Credential: &syscall.Credential{}, // root of its own user namespace, no groups
		},
	}
	if unified != nil {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(unified.Fd())
	}
	pid := 0
	err = onThread(func() (err error) {
		// Of the descriptors of this process the child gets those above and no other,
		// also none that this process was given itself.
		if err := unix.Unshare(unix.CLONE_FILES); err != nil {
			return os.NewSyscallError("unshare", err)
		}
		if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
			return os.NewSyscallError("close_range", err)
		}
		// The child is born where the thread is: in the control groups, so that the
		// root of its cgroup namespace is its own, and among the mould's mounts.
		if err := cgroup.EnterThread(cgroup.Root, p.CgroupsPath); err != nil {
			return err
		}
		if err := unix.Setns(int(mould.Fd()), unix.CLONE_NEWNS); err != nil {
			return os.NewSyscallError("setns", err)
		}
		if pid, err = syscall.ForkExec(job.InitPath, []string{job.InitPath, job.DirectMode}, attr); err != nil {
			return fmt.Errorf("start init: %w", err)
		}
		if err := await(answer); err != nil {
			return err
		}
		return m.furnish(pid, parts, spec)
	})
	if err != nil {
		err = fmt.Errorf("make a sandbox: %w", err)
	}
	if pid == 0 {
		return nil, err
	}
	// It is a child that nobody has waited for, so the pid is its own.
	pidfd, perr := unix.PidfdOpen(pid, 0)
	if perr != nil {
		return nil, errors.Join(err, os.NewSyscallError("pidfd_open", perr))
	}
	s, perr := adopt(pid, pidfd, true)
	return s, errors.Join(err, perr)
}

func mappings(ms []specs.LinuxIDMapping) []syscall.SysProcIDMap {
	var out []syscall.SysProcIDMap
	for _, x := range ms {
		out = append(out, syscall.SysProcIDMap{ContainerID: int(x.ContainerID), HostID: int(x.HostID), Size: int(x.Size)})
	}
	return out
}

// onThread runs f on a thread that shares nothing of the file system's view with
// others and ends with it: it may go where it can't come back from.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The first thread of a process does not end. While it is held here,
			// another one is taken.
			done <- onThread(f)
			runtime.UnlockOSThread()
			return
		}
		// Never unlocked from here on.
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			done <- os.NewSyscallError("unshare", err)
			return
		}
		done <- f()
	}()
	return <-done
}
