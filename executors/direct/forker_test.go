package direct

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
)

// remade ends a sandbox, so that another one can be made by the same policy.
func remade(t *testing.T, p sandbox.Policy, s *Sandbox) {
	t.Helper()
	must(t, "signal", s.Signal(unix.SIGKILL))
	<-s.Ended()
	s.Forget()
	must(t, "kill", cgroup.Kill(cgroup.Root, p.CgroupsPath))
	must(t, "remove", cgroup.Remove(cgroup.Root, p.CgroupsPath))
}

// A forker that was killed takes no sandbox along, and the next one has another.
func TestForkerKilled(t *testing.T) {
	p, m := bed(t), maker(t)
	s := made(t, m, p)
	forker := m.forkerPid()
	must(t, "kill", unix.Kill(forker, unix.SIGKILL))
	for end := time.Now().Add(5 * time.Second); m.forker.alive() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	spec, err := sandbox.Spec(p)
	must(t, "spec", err)
	must(t, "check", Check(p, spec, s))
	remade(t, p, s)
	s = made(t, m, p)
	if again := m.forkerPid(); again == forker || again == 0 {
		t.Errorf("the forker is %d and was %d", again, forker)
	}
	remade(t, p, s)
}

// With another program of init nothing is kept of the one before: neither the forker
// nor the mould.
func TestInitReplaced(t *testing.T) {
	p, m := bed(t), maker(t)
	s := made(t, m, p)
	forker, mould := m.forkerPid(), m.moulds[p.Root].ns
	remade(t, p, s)
	program, err := os.ReadFile(p.Init)
	must(t, "read", err)
	must(t, "write", os.WriteFile(p.Init+".new", program, 0o755))
	must(t, "rename", os.Rename(p.Init+".new", p.Init))
	s = made(t, m, p)
	if m.forkerPid() == forker || m.moulds[p.Root].ns == mould {
		t.Error("what was made with the other program is still used")
	}
	remade(t, p, s)
}

// The forker ends with the gate's end of its socket, and says what it could not do.
func TestForkerAnswers(t *testing.T) {
	p, m := bed(t), maker(t)
	tell, told, err := os.Pipe()
	must(t, "pipe", err)
	defer tell.Close()
	defer told.Close()
	if err := cgroup.Create(cgroup.Root, p.CgroupsPath, sandbox.Limits(p)); err != nil {
		t.Fatal(err)
	}
	spec, err := sandbox.Spec(p)
	must(t, "spec", err)
	spec.Process.Rlimits[0].Type = "RLIMIT_NONE"
	if _, err := m.fork(t.Context(), p, spec, tell, told); err == nil || !strings.Contains(err.Error(), "there is no limit RLIMIT_NONE") {
		t.Errorf("a limit that there is not: %v", err)
	}
	forker := m.forker
	m.forker = nil
	must(t, "close", forker.close()) // and so waits for its end
	if err := forker.send(job.Birth{}); err == nil {
		t.Error("a forker that has ended takes an order")
	}
}

// A child that is born when nobody waits for it any more is ended, and reaped.
func TestBornLate(t *testing.T) {
	p, m := bed(t), maker(t)
	orders, hold, err := os.Pipe() // held: or it would end by itself
	must(t, "pipe", err)
	defer hold.Close()
	answer, answers, err := os.Pipe()
	must(t, "pipe", err)
	defer answer.Close()
	must(t, "group", cgroup.Create(cgroup.Root, p.CgroupsPath, sandbox.Limits(p)))
	spec, err := sandbox.Spec(p)
	must(t, "spec", err)
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if pid, err := m.fork(late, p, spec, orders, answers); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("process %d, and %v", pid, err)
	}
	must(t, "close", errors.Join(orders.Close(), answers.Close()))
	// The other end is open in the forker until it has answered, and then in the child.
	must(t, "deadline", answer.SetReadDeadline(time.Now().Add(readyTime)))
	if _, err := io.Copy(io.Discard, answer); err != nil {
		t.Errorf("the child lives: %v", err)
	}
	for end := time.Now().Add(readyTime); ; time.Sleep(time.Millisecond) {
		var info unix.Siginfo
		must(t, "waitid", unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil))
		if info.Signo == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("a child has ended, and is not reaped")
		}
	}
}

// What process 1 can't do before it is threegate-init is told by its name.
func TestFirstStepFails(t *testing.T) {
	p, m := bed(t), maker(t)
	remade(t, p, made(t, m, p))
	must(t, "nothing to execute", os.Chmod(p.Init, 0o644))
	_, err := m.Make(t.Context(), p)
	if err == nil || !strings.Contains(err.Error(), "its init could not execute /gate-init: permission denied") {
		t.Errorf("it was made, or why not is not said: %v", err)
	}
}
