package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/gate/view"
)

// descriptors bounds the open files of the gate, as it serves; the answer puts
// the bound back.
func (n *node) descriptors(limit uint64) (back func()) {
	n.t.Helper()
	pid := n.cmd.Process.Pid
	var old unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		n.t.Fatal(err)
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: old.Max}, nil); err != nil {
		n.t.Fatal(err)
	}
	return func() {
		n.t.Helper()
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &old, nil); err != nil && !n.ended() {
			n.t.Fatal(err)
		}
	}
}

// TestTooManyOpenFiles: the gate may open no more files than it has, or only a
// few more, while a request runs and others come. Nothing is lost or run twice,
// and all goes on by itself once it may. With some more, it can be in the middle of
// a step that one is lacking: then the gate may stop, and is served again.
func TestTooManyOpenFiles(t *testing.T) {
	n := newNode(t)
	first := era("TR-20260209-500000Z-before", "print('before')\n")
	n.send(first)
	n.result(n.await(first.id))
	starts := watchStarts(t, n.cfg.RunDir()+"/boxes")

	for i, more := range []int{0, 2, 8} {
		running := era(fmt.Sprintf("TR-20260209-51%04dZ-running", i), slowScript)
		running.outputs = []string{"done.txt"}
		n.send(running)
		n.untilPrinted("tick 1")
		before := len(n.log.String())
		back := n.descriptors(leaving(t, n.cmd.Process.Pid, more))
		waiting := era(fmt.Sprintf("TR-20260209-52%04dZ-waiting", i), "print('after')\n")
		n.send(waiting)
		if more == 0 {
			n.untilLogged(before, "too many open files")
		}
		n.until("the run to end", func() bool {
			return len(n.boxFiles(job.StartedFile)) == len(n.boxFiles(job.ExitFile))
		})
		time.Sleep(500 * time.Millisecond) // the gate tries to collect it
		n.mustBeWhole()
		if more == 2 { // a crash and a start without the bound are no different
			n.kill()
			n.mustBeWhole()
			n.serve()
		} else {
			back()
		}
		for _, r := range []request{running, waiting} {
			n.until(r.id+" to be decided", func() bool {
				if n.ended() { // a service manager starts it again
					_ = n.cmd.Wait()
					n.mustBeWhole()
					n.serve()
				}
				f, err := view.Of(n.cfg, r.id)
				return err == nil && f.State.Ended()
			})
			f := n.await(r.id)
			if res := n.result(f); res.ExitCode != 0 {
				t.Errorf("%d more: %s ended with %d, cause %s", more, r.id, res.ExitCode, f.Cause)
			}
			if c := starts.of(f.Job); c > 1 {
				t.Errorf("%d more: %s ran %d times", more, r.id, c)
			}
		}
	}
	n.check()
	n.mustBeWhole()
}

// ended says whether the gate has ended by itself.
func (n *node) ended() bool {
	n.t.Helper()
	stat := read(n.t, fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid))
	return strings.HasPrefix(stat[strings.LastIndexByte(stat, ')')+1:], " Z")
}

// leaving is the bound below which a process has so many descriptors free.
func leaving(t *testing.T, pid int, free int) uint64 {
	t.Helper()
	for fd := uint64(0); ; fd++ {
		if !exists(fmt.Sprintf("/proc/%d/fd/%d", pid, fd)) {
			if free--; free < 0 {
				return fd
			}
		}
	}
}
