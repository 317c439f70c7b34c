package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
)

// twoInboxes makes a node with an inbox of its own operator's, the first, and one
// that others may write to.
func twoInboxes(t *testing.T) (n *node, open string) {
	t.Helper()
	own := filepath.Join(t.TempDir(), "own")
	open = filepath.Join(t.TempDir(), "open")
	must(t, os.Mkdir(own, 0o750))
	must(t, os.Mkdir(open, 0o777))
	must(t, os.Chmod(open, 0o777))
	n = newNode(t, fmt.Sprintf("inboxes:\n  - {name: own, path: %s}\n  - {name: open, path: %s}\n", own, open))
	n.untilServed()
	return n, open
}

// nobody is a user who may write to the open inbox.
const nobody = 65534

// intruder owns the inputs of requests, keeps descriptors of their folders, and
// changes what is in them for as long as the test goes on.
type intruder struct {
	folders []int
	stop    chan struct{}
	ended   sync.WaitGroup
	mu      sync.Mutex
	made    int // tries that succeeded
	tried   int // rounds of tries
}

// plant puts inputs into an inbox, gives them to nobody and opens their folders.
func (in *intruder) plant(t *testing.T, inputs string) {
	t.Helper()
	must(t, filepath.WalkDir(inputs, func(path string, e fs.DirEntry, err error) error {
		must(t, err)
		must(t, os.Lchown(path, nobody, nobody))
		if e.IsDir() {
			fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			must(t, err)
			t.Cleanup(func() { unix.Close(fd) })
			in.folders = append(in.folders, fd)
		}
		return nil
	}))
}

// begin makes rounds until the test ends.
func (in *intruder) begin(t *testing.T) {
	t.Helper()
	in.stop = make(chan struct{})
	started := make(chan error)
	in.ended.Go(func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its rights
		err := unix.Setfsgid(nobody)
		if err == nil {
			err = unix.Setfsuid(nobody)
		}
		started <- err
		for ; err == nil; time.Sleep(time.Millisecond) {
			select {
			case <-in.stop:
				return
			default:
				in.round()
			}
		}
	})
	must(t, <-started)
	t.Cleanup(func() {
		close(in.stop)
		in.ended.Wait()
	})
}

// round tries in each folder to make an entry or to remove it, and to open the folder
// to all.
func (in *intruder) round() {
	const names = 20 // few enough for the folder to be kept
	in.mu.Lock()
	defer in.mu.Unlock()
	in.tried++
	name := fmt.Sprint("new", in.tried%names)
	for _, fd := range in.folders {
		for _, err := range []error{unix.Mkdirat(fd, name, 0o777), unix.Unlinkat(fd, name, unix.AT_REMOVEDIR),
			unix.Mkdirat(fd, name+"x", 0o777), unix.Fchmod(fd, 0o777)} {
			if err == nil {
				in.made++
			}
		}
	}
}

// counts are the rounds so far, and how many tries succeeded.
func (in *intruder) counts() (tried, made int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.tried, in.made
}

// TestInboxReachesNothingThatWasClaimed: somebody keeps descriptors of the folders
// of inputs, and makes entries in them before, while and after they are claimed. Of
// what was claimed he can change nothing; each of his requests comes to an end, and
// requests of another inbox are served meanwhile.
func TestInboxReachesNothingThatWasClaimed(t *testing.T) {
	n, open := twoInboxes(t)
	var in intruder
	// More than there are runners. The inputs of every other one are too large to be
	// taken in: they are kept as they came.
	var planted []request
	for i := range 2*n.cfg.Node.Concurrency + 2 {
		r := era(fmt.Sprintf("TR-20260209-61000%dZ-planted", i), "print('planted')\n")
		inputs := filepath.Join(open, r.id+".inputs")
		must(t, os.CopyFS(inputs, os.DirFS(writeInputs(t, r.inputs))))
		must(t, os.MkdirAll(filepath.Join(inputs, "deep", "er"), 0o755))
		if i%2 == 0 {
			must(t, os.WriteFile(filepath.Join(inputs, "deep", "large"), nil, 0o644))
			must(t, os.Truncate(filepath.Join(inputs, "deep", "large"), 10<<30))
		}
		in.plant(t, inputs)
		planted = append(planted, r)
	}
	in.begin(t)
	n.until("entries to be made before the claim", func() bool { _, made := in.counts(); return made > 0 })
	for _, r := range planted {
		must(t, os.WriteFile(filepath.Join(open, ".hidden"), r.document(), 0o644))
		must(t, os.Chown(filepath.Join(open, ".hidden"), nobody, nobody))
		must(t, os.Rename(filepath.Join(open, ".hidden"), filepath.Join(open, r.id+".md")))
	}
	benign := n.sendSome("benign", 3)
	n.wantAll(benign)
	for i, r := range planted {
		if f := n.await(r.id); i%2 == 0 && f.State != "quarantined" {
			t.Errorf("a request with inputs that are too large became %+v", *f)
		}
	}

	before := treeOf(t, n.dir)
	tried, made := in.counts()
	n.until("the intruder to try all again", func() bool { now, _ := in.counts(); return now > tried+1 })
	if _, now := in.counts(); now != made {
		t.Errorf("%d tries succeeded after the verdicts", now-made)
	}
	if after := treeOf(t, n.dir); !slices.Equal(before, after) {
		t.Errorf("the quarantine was\n%s\nand is\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	kept, err := filepath.Glob(filepath.Join(n.dir, "quarantine", "requests", "*", "raw", "inputs", "deep", "large"))
	if err != nil || len(kept) != len(planted)/2 {
		t.Errorf("%d inputs are kept as they came, %v", len(kept), err)
	}
	n.until("the trash to be empty", func() bool { return n.count(spool.DirTrash, "*") == 0 })
	n.check()
}

// treeOf lists all that a node has in quarantine, with modes and sizes.
func treeOf(t *testing.T, node string) []string {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(filepath.Join(node, "quarantine"), func(path string, e fs.DirEntry, err error) error {
		must(t, err)
		fi, err := e.Info()
		must(t, err)
		all = append(all, fmt.Sprint(path, " ", fi.Mode(), " ", fi.Size()))
		return nil
	}))
	return all
}

// TestInboxesTakeTurns: thousands of bad requests in one inbox do not hold up those
// of another: those that lie there at the start, nor one that comes while the gate
// is at the flood. What counts is the order of the verdicts.
func TestInboxesTakeTurns(t *testing.T) {
	const (
		flood = 3000
		// turns is how many verdicts may come first: each inbox's next, and what was
		// claimed before the gate was told of the new one.
		turns = 4
		// notice is how many more may, until the gate has read the event of a new file.
		notice = 40
	)
	n, open := twoInboxes(t)
	must(t, n.stop())
	for i := range flood {
		must(t, os.WriteFile(filepath.Join(open, fmt.Sprintf("TR-20260209-62%04dZ-bad.md", i)), []byte("bad\n"), 0o644))
	}
	first := n.sendSome("early", 1)[0]
	n.serve()
	if f := n.await(first.id); f.State != "delivered" {
		t.Errorf("became %+v", *f)
	}
	if at := slices.Index(n.verdicts(), first.id); at < 0 || at >= turns {
		t.Errorf("the first request of an inbox got the verdict number %d", at+1)
	}

	begun := len(n.verdicts())
	n.until("the flood to go on", func() bool { return len(n.verdicts()) > begun })
	must(t, n.cmd.Process.Signal(syscall.SIGSTOP))
	late := n.sendSome("late", 2)[1]
	begun = len(n.verdicts())
	must(t, n.cmd.Process.Signal(syscall.SIGCONT))
	if f := n.await(late.id); f.State != "delivered" {
		t.Errorf("became %+v", *f)
	}
	all := n.verdicts()
	if at := slices.Index(all, late.id); at < 0 || at >= begun+notice+turns {
		t.Errorf("a request was put in after %d verdicts and got number %d", begun, at+1)
	}
	if len(all) >= flood {
		t.Errorf("the flood of %d ended first", flood)
	}

	// The rest of the flood tells nothing more.
	must(t, n.stop())
	left, err := filepath.Glob(filepath.Join(open, "TR-*.md"))
	must(t, err)
	for _, path := range left {
		must(t, os.Remove(path))
	}
	n.serve()
	n.untilServed()
	n.until("the last jobs to be put away", func() bool { return n.count("spool", "*", "*") == 0 })
	n.check()
	n.mustBeWhole()
}

// verdicts are the request ids that were judged so far, in order. One that has no
// id is "".
func (n *node) verdicts() []string {
	n.t.Helper()
	var all []string
	for _, e := range n.events() {
		if e.Type == ledger.DeliveryAttempted {
			all = append(all, e.RequestID)
		}
	}
	return all
}
