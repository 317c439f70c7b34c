package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool"
)

// coreMount is a small ext4 of its own that is CORE's folder.
type coreMount struct {
	t     *testing.T
	image string
	dir   string
}

func newCoreMount(t *testing.T) *coreMount {
	t.Helper()
	tmp := t.TempDir()
	m := &coreMount{t: t, image: filepath.Join(tmp, "core.img"), dir: filepath.Join(tmp, "core")}
	if err := os.Mkdir(m.dir, 0o750); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(m.image)
	if err == nil {
		err = f.Truncate(32 << 20)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	m.do("mkfs.ext4", "-q", "-m", "0", m.image)
	m.mount()
	t.Cleanup(m.umount)
	return m
}

func (m *coreMount) do(name string, args ...string) {
	m.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		m.t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
}

func (m *coreMount) mount()  { m.t.Helper(); m.do("mount", "-o", "loop", m.image, m.dir) }
func (m *coreMount) umount() { m.t.Helper(); m.do("umount", m.dir) }

// Of linux/fs.h.
const (
	fiFreeze = 0xc0045877
	fiThaw   = 0xc0045878
)

// freeze makes every write to the mount hang, so that no signal ends it, until
// thaw is called.
func (m *coreMount) freeze() (thaw func()) {
	m.t.Helper()
	f, err := os.Open(m.dir)
	if err != nil {
		m.t.Fatal(err)
	}
	if err := unix.IoctlSetInt(int(f.Fd()), fiFreeze, 0); err != nil {
		m.t.Fatal(err)
	}
	frozen := true
	thaw = func() {
		if !frozen {
			return
		}
		frozen = false
		if err := unix.IoctlSetInt(int(f.Fd()), fiThaw, 0); err != nil {
			m.t.Error(err)
		}
		f.Close()
	}
	m.t.Cleanup(thaw)
	return thaw
}

func (m *coreMount) node(drain string) *node {
	m.t.Helper()
	n := newNode(m.t, "core_inbound:\n  path: "+m.dir+"\n")
	n.untilServed()
	if err := n.stop(); err != nil {
		m.t.Fatal(err)
	}
	n.configure("node:\n", "node:\n  concurrency: 2\n  drain: "+drain+"\n")
	n.serve()
	return n
}

// sendSome promotes requests whose results say their number.
func (n *node) sendSome(stem string, count int) []request {
	n.t.Helper()
	var rs []request
	for i := range count {
		r := era(fmt.Sprintf("TR-20260209-3%05dZ-%s", i, stem), fmt.Sprintf("print(%d)\n", i))
		n.send(r)
		rs = append(rs, r)
	}
	return rs
}

func (n *node) wantAll(rs []request) {
	n.t.Helper()
	for i, r := range rs {
		if got := n.result(n.await(r.id)).Stdout.Text; got != fmt.Sprintf("%d\n", i) {
			n.t.Errorf("%s printed %q", r.id, got)
		}
	}
}

func (n *node) untilFinished(count int) {
	n.t.Helper()
	n.until(fmt.Sprintf("%d results to wait", count), func() bool { return n.count("spool", "finished", "*") == count })
}

func (n *node) untilStatus(text string) {
	n.t.Helper()
	n.until("status to say "+text, func() bool {
		return strings.Contains(n.threegate("status", "--node", n.dir), text)
	})
}

// untilDead waits until of the gate nothing is left but a thread in a call that nothing ends.
func (n *node) untilDead() {
	n.t.Helper()
	n.until("the gate to end", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid))
		return err == nil && strings.Contains(string(stat), ") Z ")
	})
}

// TestCoreInboundHangs: CORE's folder is a filesystem whose writes hang, beyond
// every signal. More requests than there are workers come to the end of their
// run all the same, refusals go on, status says why, SIGTERM ends the work
// within its bound, no second gate gets the node meanwhile, and once the folder
// answers each result is delivered, once.
func TestCoreInboundHangs(t *testing.T) {
	m := newCoreMount(t)
	n := m.node("3s")
	n.wantAll(n.sendSome("before", 1))

	thaw := m.freeze()
	first := n.sendSome("hang", 6)
	n.untilFinished(len(first))
	n.untilStatus("does not answer")
	bad := request{id: "TR-20260209-390000Z-bad", command: "python -c pass ; id"}
	n.send(bad)
	if f := n.await(bad.id); f.State != "quarantined" {
		t.Errorf("a refusal while CORE's folder hangs: %+v", *f)
	}
	n.mustBeWhole()

	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	n.untilLogged(0, "deliveries are left to the next start")
	n.untilDead()
	if held, err := spool.Locked(n.dir); err != nil || !held {
		t.Errorf("the node was given back while a delivery hangs: %v, %v", held, err)
	}
	thaw()
	if err := n.cmd.Wait(); err != nil {
		t.Errorf("serve ended with %v", err)
	}
	n.mustBeWhole()
	n.serve()
	n.wantAll(first)

	// A gate that is killed while it hangs is no different.
	thaw = m.freeze()
	second := n.sendSome("killed", 3)
	n.untilFinished(len(second))
	n.untilStatus("does not answer")
	if err := n.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	n.untilDead()
	if held, err := spool.Locked(n.dir); err != nil || !held {
		t.Errorf("the node was given back while a delivery hangs: %v, %v", held, err)
	}
	thaw()
	_ = n.cmd.Wait()
	n.mustBeWhole()
	n.serve()
	n.wantAll(second)
	n.check()
	n.mustBeWhole()
}

// TestCoreInboundTrouble: CORE's folder is full, read-only, or no longer mounted.
// Runs come to their end, results wait, status says why, nothing is put below a
// mount point, and all goes on by itself.
func TestCoreInboundTrouble(t *testing.T) {
	m := newCoreMount(t)
	n := m.node("3s")
	n.wantAll(n.sendSome("before", 1))
	for _, tt := range []struct {
		name, says string
		cause, end func()
	}{
		{"full", "no space left on device", func() { fill(t, filepath.Join(m.dir, "filler"), 0) },
			func() { _ = os.Remove(filepath.Join(m.dir, "filler")) }},
		{"ro", "read-only file system", func() { m.do("mount", "-o", "remount,ro", m.dir) },
			func() { m.do("mount", "-o", "remount,rw", m.dir) }},
		{"away", "no longer mounted", m.umount, m.mount},
	} {
		tt.cause()
		rs := n.sendSome(tt.name, 4)
		n.untilFinished(len(rs))
		n.untilStatus(tt.says)
		if tt.name == "away" && len(below(t, m.dir)) > 0 {
			t.Errorf("results were put below the mount point: %v", below(t, m.dir))
		}
		tt.end()
		n.wantAll(rs)
		n.mustBeWhole()
	}
	n.check()
}

// TestCoreInboundSlow: every write to CORE's folder may take seconds, and some do.
// More results than are delivered at once come through, each once.
func TestCoreInboundSlow(t *testing.T) {
	m := newCoreMount(t)
	n := m.node("3s")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			thaw := m.freeze()
			time.Sleep(1500 * time.Millisecond)
			thaw()
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	rs := n.sendSome("slow", 12)
	n.wantAll(rs)
	close(stop)
	<-stopped
	n.check()
	n.mustBeWhole()
}
