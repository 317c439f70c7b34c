package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestEventQueueOverflow: the gate does not get to read the events of its inbox
// until the kernel drops some, that of a request among them. It reads the whole
// inbox then and finds it; the sweep is an hour away.
func TestEventQueueOverflow(t *testing.T) {
	n := newNode(t)
	n.untilServed()
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	n.configure("node:\n", "node:\n  sweep: 1h\n")
	n.serve()
	first := era("TR-20260209-600000Z-first", "print('first')\n")
	n.send(first)
	n.result(n.await(first.id))

	queue, err := strconv.Atoi(strings.TrimSpace(read(t, "/proc/sys/fs/inotify/max_queued_events")))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	inbox := n.cfg.Inboxes[0].Path
	for i := range queue + 1000 {
		// No request: but for the overflow the gate would do nothing about it.
		if err := os.WriteFile(filepath.Join(inbox, fmt.Sprintf("%d.txt", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lost := era("TR-20260209-600001Z-lost", "print('found')\n")
	n.send(lost)
	if err := n.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := n.result(n.await(lost.id)).Stdout.Text; got != "found\n" {
		t.Errorf("stdout %q", got)
	}
	if !strings.Contains(n.log.String(), "file events were lost") {
		t.Error("no event was lost")
	}
	n.check()
}
