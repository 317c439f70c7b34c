package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/view"
)

// nodeBytes is the size of a node's disk that is easily filled.
const nodeBytes = "160m"

// TestFullDisk fills the node's disk to the last byte while a request runs and
// another waits: what was accepted survives and nothing new is claimed, status
// says why, a start waits too; and all goes on by itself once there is room.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("threegate-test", disk, "tmpfs", 0, "size="+nodeBytes); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	n := newNodeIn(t, filepath.Join(disk, "node"), "containerd:\n  root: "+t.TempDir()+"\n")
	first := era("TR-20260209-210000Z-before", "print('before')\n")
	n.send(first)
	n.result(n.await(first.id))

	running := era("TR-20260209-210001Z-running", slowScript)
	running.outputs = []string{"done.txt"}
	n.send(running)
	n.untilPrinted("tick 1")
	filler := filepath.Join(disk, "filler")
	fill(t, filler, 1<<20) // room for one more request, and none to claim it
	waiting := era("TR-20260209-210002Z-waiting", "print('after')\n")
	n.send(waiting)
	fill(t, filler, 0)

	n.until("status to say why", func() bool {
		return strings.Contains(n.threegate("status", "--node", n.dir), "too little free space")
	})
	var s view.NodeStatus
	if err := json.Unmarshal([]byte(n.threegate("status", "--json", "--node", n.dir)), &s); err != nil || s.Disk == "" {
		t.Errorf("status --json: disk %q, %v", s.Disk, err)
	}
	// The run ends, and its outcome can't be written.
	n.untilLogged(0, "no space left on device")
	time.Sleep(time.Second)
	if c := n.count("inbox", "default", waiting.id+".md"); c != 1 {
		t.Error("a request was claimed on a full disk")
	}
	n.mustBeWhole()

	// A crash and a start on the full disk change nothing.
	n.kill()
	n.mustBeWhole()
	before := len(n.log.String())
	n.serve()
	n.untilLogged(before, "will be tried again")
	n.mustBeWhole()

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	res := n.result(n.await(running.id))
	if res.ExitCode != 0 || !strings.Contains(res.Stdout.Text, "tick 39\n") {
		t.Errorf("exit code %d, stdout:\n%s", res.ExitCode, res.Stdout.Text)
	}
	if got := n.result(n.await(waiting.id)).Stdout.Text; got != "after\n" {
		t.Errorf("stdout %q", got)
	}
	n.check()
	n.mustBeWhole()
}

// fill makes a file take all of the disk but leave bytes.
func fill(t *testing.T, path string, leave int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		var st syscall.Statfs_t
		if err := syscall.Statfs(filepath.Dir(path), &st); err != nil {
			t.Fatal(err)
		}
		left := int64(st.Bavail)*st.Bsize - leave
		if left <= 0 {
			return
		}
		if _, err := f.Write(make([]byte, min(left, 1<<20))); err != nil {
			return // as full as it gets
		}
	}
}
