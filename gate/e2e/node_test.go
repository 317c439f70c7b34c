package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
)

// patience bounds every wait. It decides no test that works: it only ends one
// that hangs.
const patience = 5 * time.Minute

// node is a node in a temporary folder and the process that serves it.
type node struct {
	t   *testing.T
	dir string
	cfg *config.Node
	cmd *exec.Cmd
	// command makes the gate's process, threegate serve if nil.
	command func() *exec.Cmd
	// killed says that a gate was killed and none came after it.
	killed bool
	log    logBuffer
	slots  *slotWatch
}

// logBuffer holds what the gate logs; it can be read while that goes on.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newNode makes a node and serves it. Approvals of any age count, as those of
// the examples are old.
func newNode(t *testing.T, extra ...string) *node {
	t.Helper()
	return newNodeIn(t, filepath.Join(t.TempDir(), "node"), extra...)
}

func newNodeIn(t *testing.T, dir string, extra ...string) *node {
	t.Helper()
	n := emptyNodeIn(t, dir, extra...)
	n.giveImages()
	n.serve()
	return n
}

// emptyNodeIn makes a node whose containerd has no image yet.
func emptyNodeIn(t *testing.T, dir string, extra ...string) *node {
	t.Helper()
	return emptyNodeOf(t, images, dir, extra...)
}

// emptyNodeOf makes it with the images of a layout.
func emptyNodeOf(t *testing.T, layout, dir string, extra ...string) *node {
	t.Helper()
	n := &node{t: t, dir: dir}
	n.threegate("init", n.dir, "--images", layout, "--name", "e2e")
	file := filepath.Join(n.dir, config.FileName)
	text := read(t, file)
	text = strings.Replace(text, "approvals:\n", "approvals:\n  max_age: 0s\n", 1)
	if err := os.WriteFile(file, []byte(text+strings.Join(extra, "")), 0o640); err != nil {
		t.Fatal(err)
	}
	n.load()
	t.Cleanup(n.end)
	return n
}

// emptyNode makes a node and serves it, which unpacks the images first.
func emptyNode(t *testing.T, extra ...string) *node {
	t.Helper()
	n := emptyNodeIn(t, filepath.Join(t.TempDir(), "node"), extra...)
	n.serve()
	return n
}

func (n *node) load() {
	n.t.Helper()
	var err error
	if n.cfg, err = config.Load(n.dir); err != nil {
		n.t.Fatal(err)
	}
}

// threegate runs a command to its end and returns its standard output.
func (n *node) threegate(args ...string) string {
	n.t.Helper()
	cmd := exec.Command(threegate, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		n.t.Fatalf("threegate %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// serve starts the gate as a process of its own.
func (n *node) serve() {
	n.t.Helper()
	n.cmd = exec.Command(threegate, "serve", "--node", n.dir)
	n.cmd.SysProcAttr = &syscall.SysProcAttr{}
	if n.command != nil {
		n.cmd = n.command()
	}
	n.cmd.Stderr = &n.log
	n.cmd.SysProcAttr.Setpgid = true
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.killed = false
}

// configure replaces text of the configuration of a node that is not served.
func (n *node) configure(old, new string) {
	n.t.Helper()
	file := filepath.Join(n.dir, config.FileName)
	text := strings.Replace(read(n.t, file), old, new, 1)
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		n.t.Fatal(err)
	}
	n.load()
}

// untilServed waits until the gate owns the node: from then on it stops in order.
func (n *node) untilServed() {
	n.t.Helper()
	n.until("the node to be served", func() bool { held, err := spool.Locked(n.dir); return held && err == nil })
}

// kill ends the gate as a crash would.
func (n *node) kill() {
	n.t.Helper()
	if err := n.cmd.Process.Kill(); err != nil {
		n.t.Fatal(err)
	}
	_ = n.cmd.Wait()
	n.cmd, n.killed = nil, true
}

// stop ends the gate in order and says whether it did so.
func (n *node) stop() error {
	if n.cmd == nil {
		return nil
	}
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := n.cmd.Wait()
	n.cmd = nil
	return err
}

// end stops the gate, removes what it left on the host, and shows its log if
// the test failed.
func (n *node) end() {
	if n.killed { // what it left must be collected by a last one
		n.serve()
		n.untilServed()
	}
	if err := n.stop(); err != nil {
		n.t.Errorf("serve did not end in order: %v", err)
	}
	removeRunFolder(n.t, n.cfg)
	if n.t.Failed() {
		n.t.Logf("log of serve:\n%s", n.log.String())
	}
}

// removeRunFolder unmounts and removes the node's folder below /run, and what a
// containerd whose client died in the middle of an unpacking left mounted: it
// takes that away itself only when it starts again.
func removeRunFolder(t *testing.T, cfg *config.Node) {
	t.Helper()
	dir := filepath.Dir(cfg.RunDir())
	unmountBelow(t, dir)
	unmountBelow(t, filepath.Join(cfg.Containerd.Root, "tmpmounts"))
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

func unmountBelow(t *testing.T, dir string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var below []string
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 4 && (f[4] == dir || strings.HasPrefix(f[4], dir+"/")) {
			below = append(below, f[4])
		}
	}
	slices.Reverse(below)
	for _, m := range below {
		if err := syscall.Unmount(m, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", m, err)
		}
	}
}

// promote puts a request and its inputs into the inbox as an operator's program
// does: inputs first, the request last by a rename. It returns nothing: what
// comes of it is asked for by id or by name.
func (n *node) promote(name string, request []byte, inputs string) {
	n.t.Helper()
	inbox := n.cfg.Inboxes[0].Path
	if inputs != "" {
		to := filepath.Join(inbox, strings.TrimSuffix(name, ".md")+".inputs")
		if err := os.CopyFS(to, os.DirFS(inputs)); err != nil {
			n.t.Fatal(err)
		}
	}
	tmp := filepath.Join(inbox, ".promoting-"+name)
	if err := os.WriteFile(tmp, request, 0o640); err != nil {
		n.t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(inbox, name)); err != nil {
		n.t.Fatal(err)
	}
}

// await waits until a request id has come to its end.
func (n *node) await(id string) *view.RequestStatus {
	n.t.Helper()
	var f *view.RequestStatus
	n.until("request "+id+" to be decided", func() bool {
		var err error
		if f, err = view.Of(n.cfg, id); err != nil {
			n.t.Fatal(err)
		}
		// The record is written first; what it announces comes right after.
		return f.State.Ended() && n.count("spool", "finished", f.Job) == 0 && n.count("spool", "claimed", f.Job) == 0
	})
	return f
}

// until waits for a condition.
func (n *node) until(what string, cond func() bool) {
	n.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if cond() {
			return
		}
	}
	n.t.Fatalf("waited %s for %s\nlog of serve:\n%s", patience, what, n.log.String())
}

// untilLogged waits for a text in the log, the part before a place left out.
func (n *node) untilLogged(from int, text string) {
	n.t.Helper()
	n.until("the log to hold "+text, func() bool { return strings.Contains(n.log.String()[from:], text) })
}

// boxFiles are the files of one name that init has in the folders of runs.
func (n *node) boxFiles(name string) []string {
	n.t.Helper()
	files, err := filepath.Glob(filepath.Join(n.cfg.RunDir(), "boxes", "*", "gate", name))
	must(n.t, err)
	return files
}

// count is how many entries match below the node's folder.
func (n *node) count(elem ...string) int {
	n.t.Helper()
	m, err := filepath.Glob(filepath.Join(append([]string{n.dir}, elem...)...))
	if err != nil {
		n.t.Fatal(err)
	}
	return len(m)
}

// result reads a delivered result as CORE would, validating it once more.
func (n *node) result(f *view.RequestStatus) *schemas.Result {
	n.t.Helper()
	if f.State != "delivered" {
		n.t.Fatalf("request %s was not delivered: %+v", f.RequestID, *f)
	}
	return readResult(n.t, f.ResultPath)
}

func readResult(t *testing.T, path string) *schemas.Result {
	t.Helper()
	r, findings := validate.Result(filepath.Base(path), []byte(read(t, path)), validate.DefaultPolicy(time.Now()))
	if r == nil || schemas.VerdictOf(findings) != schemas.VerdictAccept {
		t.Fatalf("%s is no valid result: %+v", path, findings)
	}
	return r
}

// reasons reads why a job was refused.
func (n *node) reasons(store, job string) quarantine.Reasons {
	n.t.Helper()
	r, err := quarantine.Decode([]byte(read(n.t, filepath.Join(n.dir, "quarantine", store, job, quarantine.FileJSON))))
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

// events returns the whole ledger, its chain checked.
func (n *node) events() []ledger.Event {
	n.t.Helper()
	var all []ledger.Event
	if _, _, err := ledger.Read(filepath.Join(n.dir, spool.DirLedger),
		func(e ledger.Event) error { all = append(all, e); return nil }); err != nil {
		n.t.Fatal(err)
	}
	return all
}

// check asserts what must hold of a node at rest: nothing in progress, nothing
// half-written, every request id decided once, nothing left on the host, and fsck finds
// nothing, whatever programs left in /out.
func (n *node) check() {
	n.t.Helper()
	n.mustBeWhole()
	for _, st := range spool.States {
		if c := n.count("spool", string(st), "*") + n.count("spool", string(st), ".*"); c != 0 {
			n.t.Errorf("%d jobs are left in %s", c, st)
		}
	}
	seen := map[string][]string{}
	for _, e := range n.events() {
		switch e.Type {
		case ledger.RunStarted, ledger.ResultDelivered, ledger.ResultQuarantined:
			seen[string(e.Type)+" "+e.RequestID] = append(seen[string(e.Type)+" "+e.RequestID], e.RunID)
		case ledger.RunReturned: // takes back the start before it
			start := string(ledger.RunStarted) + " " + e.RequestID
			if jobs := seen[start]; len(jobs) == 0 || jobs[len(jobs)-1] != e.RunID {
				n.t.Errorf("%s of %s without a start", e.Type, e.RunID)
			} else {
				seen[start] = jobs[:len(jobs)-1]
			}
		}
	}
	for what, jobs := range seen {
		if len(jobs) != 1 {
			n.t.Errorf("%s: %d times: %v", what, len(jobs), jobs)
		}
	}
	err := filepath.WalkDir(n.cfg.CoreInbound.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if strings.HasPrefix(name, ".") {
			n.t.Errorf("a temporary is left in CORE's folder: %s", path)
		}
		if filepath.Dir(path) == n.cfg.CoreInbound.Path && strings.HasSuffix(name, ".md") {
			n.checkDelivered(path)
		}
		return nil
	})
	if err != nil {
		n.t.Error(err)
	}
	// They are removed after the result is delivered, by a goroutine of its own.
	n.until("sandboxes to be removed", func() bool {
		boxes, err := filepath.Glob(filepath.Join(n.cfg.RunDir(), "boxes", "*"))
		if err != nil {
			n.t.Fatal(err)
		}
		return len(boxes) == 0
	})
}

// checkDelivered asserts that a result and its artifacts are whole.
func (n *node) checkDelivered(path string) {
	n.t.Helper()
	r := readResult(n.t, path)
	for _, a := range r.Artifacts {
		file := filepath.Join(strings.TrimSuffix(path, ".md")+".artifacts", a.Path)
		if got := fileSHA256(n.t, file); got != a.SHA256 {
			n.t.Errorf("%s: artifact %s has sha256 %s, the result says %s", path, a.Path, got, a.SHA256)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(read(t, path)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", path, err))
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
