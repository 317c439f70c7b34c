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
	"os"
	"reflect"
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

// Maker makes sandboxes. It is safe for concurrent use.
type Maker struct {
	proc *os.File // the host's /proc

	mu      sync.Mutex
	moulds  map[string]mould // by root
	forker  *forker          // nil until it is needed
	profile *specs.LinuxSeccomp
	filter  []byte // what was compiled of that
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
	return &Maker{proc: proc, moulds: map[string]mould{}}, nil
}

// Close lets go of what new sandboxes are made from; those that are there go on.
func (m *Maker) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	errs := []error{m.proc.Close()}
	errs = append(errs, m.dropMoulds())
	if m.forker != nil {
		errs = append(errs, m.forker.close())
		m.forker = nil
	}
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
	if err := errors.Join(sandbox.Check(spec, sandbox.Terms{Mapped: true, ExecTmp: p.ExecTmp}), sandbox.CheckRoot(p.Root)); err != nil {
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
	s, err := m.birth(ctx, p, spec, tell, answers, answer)
	err = errors.Join(err, tell.Close(), answers.Close())
	if err == nil {
		err = m.finish(p, spec, s, told, answer)
	}
	if err != nil {
		if s != nil {
			_ = s.Signal(unix.SIGKILL) // it has ended, or ends
			s.Forget()
		}
		return nil, errors.Join(err, m.left(p.CgroupsPath))
	}
	return s, nil
}

// finish has init give up what it does not need, and checks what came of it all.
func (m *Maker) finish(p sandbox.Policy, spec *specs.Spec, s *Sandbox, told, answer *os.File) error {
	score := strconv.Itoa(*spec.Process.OOMScoreAdj)
	if err := os.WriteFile(procFile(s.Pid, "oom_score_adj"), []byte(score), 0); err != nil {
		return fmt.Errorf("make a sandbox: %w", err)
	}
	if _, err := told.Write([]byte{'.'}); err != nil {
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
	if err := m.left(p.CgroupsPath); err != nil {
		return fmt.Errorf("make a sandbox: %w", err)
	}
	return Check(p, spec, s)
}

// left waits until the forker's thread that started init has ended. In the group it
// would share the limits of a program, and be held up with it; and who kills what is in
// the group would kill the forker.
func (m *Maker) left(group string) error {
	forker := m.forkerPid()
	for end := time.Now().Add(readyTime); ; time.Sleep(leftPause) {
		pids, err := cgroup.Procs(cgroup.Root, group)
		if err != nil || !slices.Contains(pids, forker) {
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
	var b [job.MaxBornBytes]byte
	n, err := answer.Read(b[:])
	switch {
	case err != nil:
		return fmt.Errorf("its init does not answer: %w", err)
	case n == 1 && b[0] == '.':
		return nil
	case n > 2 && b[0] == '!':
		return fmt.Errorf("its init could not %s: %w", b[1:n-1], syscall.Errno(b[n-1]))
	}
	return fmt.Errorf("its init says %q", b[:n])
}

// filterOf is the seccomp filter as an array of struct sock_filter. It is the same for
// all sandboxes, as a rule.
func (m *Maker) filterOf(profile *specs.LinuxSeccomp) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.filter != nil && reflect.DeepEqual(profile, m.profile) {
		return m.filter, nil
	}
	raw, err := sandbox.Filter(profile)
	if err != nil {
		return nil, err
	}
	var filter bytes.Buffer
	for _, i := range raw {
		_ = binary.Write(&filter, binary.NativeEndian, i) // never fails
	}
	m.profile, m.filter = profile, filter.Bytes()
	return m.filter, nil
}

// birth has init started in namespaces of its own and gives it its mounts.
func (m *Maker) birth(ctx context.Context, p sandbox.Policy, spec *specs.Spec, tell, answers, answer *os.File) (*Sandbox, error) {
	parts, err := openParts(p)
	if err != nil {
		return nil, err
	}
	defer parts.close()
	pid, err := m.fork(ctx, p, spec, tell, answers)
	if err != nil {
		return nil, fmt.Errorf("make a sandbox: %w", err)
	}
	s, err := own(pid)
	if err == nil {
		err = await(answer)
	}
	if err == nil {
		err = onThread(func() error { return m.furnish(pid, parts, spec) })
	}
	if err != nil {
		err = fmt.Errorf("make a sandbox: %w", err)
	}
	return s, err
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
