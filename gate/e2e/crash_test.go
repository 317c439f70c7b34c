package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/threegate/tool-exec/executors/container"
	"github.com/threegate/tool-exec/executors/containerd"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
)

// slowScript counts with pauses: there is time to kill what watches it.
const slowScript = `import time
for i in range(40):
    print("tick", i)
    time.sleep(0.1)
open("/out/done.txt", "w").write("done")
`

// slowMonty keeps the interpreter busy for a while, printing.
const slowMonty = `total = 0
for i in range(40):
    for k in range(60000):
        total = total + k % 7
    print("tick", i)
total
`

// TestGateKilledWhileARequestRuns: SIGKILL of the gate in the middle of a run
// of either backend; the next one delivers it once, with its whole output.
func TestGateKilledWhileARequestRuns(t *testing.T) {
	eraRequest := era("TR-20260209-170000Z-killed-era", slowScript)
	eraRequest.outputs = []string{"done.txt"}
	montyRequest := request{id: "TR-20260209-170001Z-killed-monty", backend: "monty", code: slowMonty}
	for _, r := range []request{eraRequest, montyRequest} {
		t.Run(or(r.backend, "ERA"), func(t *testing.T) {
			n := newNode(t)
			n.send(r)
			n.untilPrinted("tick 3")
			n.kill()
			n.serve()
			f := n.await(r.id)
			res := n.result(f)
			if res.ExitCode != 0 || f.Cause != schemas.CauseNone {
				t.Errorf("exit code %d, cause %s", res.ExitCode, f.Cause)
			}
			var want strings.Builder
			for i := range 40 {
				fmt.Fprintf(&want, "tick %d\n", i)
			}
			if res.Stdout.Text != want.String() {
				t.Errorf("stdout is not whole:\n%s", res.Stdout.Text)
			}
			n.check()
		})
	}
}

// TestContainerdKilledWhileARequestRuns: the private containerd dies too.
func TestContainerdKilledWhileARequestRuns(t *testing.T) {
	n := newNode(t)
	r := era("TR-20260209-170002Z-containerd", slowScript)
	n.send(r)
	n.untilPrinted("tick 3")
	n.kill()
	n.killContainerd()
	n.serve()
	res := n.result(n.await(r.id))
	if res.ExitCode != 0 || !strings.Contains(res.Stdout.Text, "tick 39\n") {
		t.Errorf("exit code %d, stdout:\n%s", res.ExitCode, res.Stdout.Text)
	}
	n.check()
}

// TestRunVanished: the container is gone when the next gate comes. The request
// ends as interrupted, with a result, and is not run again.
func TestRunVanished(t *testing.T) {
	n := newNode(t)
	r := era("TR-20260209-170003Z-vanished", slowScript)
	n.send(r)
	n.untilPrinted("tick 1")
	n.kill()
	var ran string
	for _, e := range n.events() {
		if e.Type == ledger.RunStarted {
			ran = e.RunID
		}
	}
	e := n.executor()
	if err := e.Cleanup(context.Background(), ran); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	n.serve()
	f := n.await(r.id)
	res := n.result(f)
	if res.ExitCode != -1 || f.Cause != schemas.CauseInterrupted {
		t.Errorf("exit code %d, cause %s, want -1 and interrupted", res.ExitCode, f.Cause)
	}
	if !strings.Contains(strings.Join(res.Safety.Unexpected, " "), "interrupted") {
		t.Errorf("the safety notes don't say it: %v", res.Safety.Unexpected)
	}
	n.check()
}

// TestStoppedInOrder: SIGTERM lets a run end, and what waits is left for the
// next gate.
func TestStoppedInOrder(t *testing.T) {
	n := newNode(t, "")
	r := era("TR-20260209-170004Z-drained", slowScript)
	n.send(r)
	n.untilPrinted("tick 1")
	if err := n.stop(); err != nil {
		t.Fatalf("serve ended with %v", err)
	}
	late := era("TR-20260209-170005Z-late", "print('late')\n")
	n.send(late)
	n.serve()
	if got := n.result(n.await(late.id)).Stdout.Text; got != "late\n" {
		t.Errorf("stdout %q", got)
	}
	n.result(n.await(r.id))
	n.check()
}

// untilPrinted waits until the one run has written text.
func (n *node) untilPrinted(text string) {
	n.t.Helper()
	n.until("the run to print "+text, func() bool {
		files := n.boxFiles(job.StdoutFile)
		return len(files) == 1 && strings.Contains(read(n.t, files[0]), text)
	})
}

// executor opens the node's own executor in this process.
func (n *node) executor() *container.Executor {
	n.t.Helper()
	e, err := container.Open(context.Background(), executorConfig(n.cfg,
		filepath.Join(filepath.Dir(threegate), "threegate-init"), images))
	if err != nil {
		n.t.Fatal(err)
	}
	return e
}

// executorConfig is what a node's configuration means for its executor, without slots.
func executorConfig(cfg *config.Node, init, images string) container.Config {
	return container.Config{
		Node: cfg.Label(), RunDir: cfg.RunDir(), InitPath: init,
		ImagesDir: images, Images: map[string]string{"python": cfg.Backends.ERA.Languages["python"].Image},
		Monty: cfg.Backends.Monty.Image,
		Containerd: containerd.Config{Namespace: cfg.Containerd.Namespace,
			Private: containerd.Private{Root: cfg.Containerd.Root, State: cfg.ContainerdState()}},
	}
}

// killContainerd ends the node's private containerd as a crash would.
func (n *node) killContainerd() {
	n.t.Helper()
	pid, err := strconv.Atoi(strings.Fields(read(n.t, filepath.Join(n.cfg.ContainerdState(), "containerd.pid")))[0])
	if err != nil {
		n.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		n.t.Fatal(err)
	}
	n.until("containerd to be gone", func() bool { return syscall.Kill(pid, 0) != nil })
}
