package spool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// raceTries is how often each race is run. RACE_TRIES sets another number.
func raceTries() int {
	if n, err := strconv.Atoi(os.Getenv("RACE_TRIES")); err == nil {
		return n
	}
	return 300
}

// sendTooLarge puts a request of nobody's into the inbox with an input that is too large to be copied.
func (n *node) sendTooLarge(name string) (large string) {
	n.t.Helper()
	n.put(name+".inputs/deep/x", "x")
	large = filepath.Join(n.inbox, name+".inputs", "deep", "large")
	mustNot(n.t, os.WriteFile(large, nil, 0o600))
	mustNot(n.t, os.Truncate(large, 1<<20))
	n.put(name+".md", "a")
	for _, path := range []string{"deep/x", "deep/large", "deep", ""} {
		mustNot(n.t, os.Chown(filepath.Join(n.inbox, name+".inputs", path), nobody, nobody))
	}
	mustNot(n.t, os.Chown(filepath.Join(n.inbox, name+".md"), nobody, nobody))
	return large
}

func ownerOf(t *testing.T, path string) int {
	t.Helper()
	fi, err := os.Lstat(path)
	mustNot(t, err)
	return int(fi.Sys().(*syscall.Stat_t).Uid)
}

// TestWhatIsKeptStaysItsSenders: only folders get the node's owner.
func TestWhatIsKeptStaysItsSenders(t *testing.T) {
	n := newNode(t)
	n.sendTooLarge("TR-a")
	j := n.claimOne()
	for path, want := range map[string]int{"raw/inputs": 0, "raw/inputs/deep": 0, "raw/inputs/deep/x": nobody,
		"raw/inputs/deep/large": nobody, "request.md": 0} {
		if got := ownerOf(t, j.Path(path)); got != want {
			t.Errorf("%s belongs to %d, want %d", path, got, want)
		}
	}
}

// TestAnotherUsersSidecarsAreSetAside: what somebody else puts next to a request belongs to nobody's request. What is
// root's does.
func TestAnotherUsersSidecarsAreSetAside(t *testing.T) {
	const other = nobody - 1
	for owner, aside := range map[int]bool{nobody: false, 0: false, other: true} {
		n := newNode(t)
		n.put("TR-a.inputs/x", "x")
		n.put("TR-a.md.sig/full/x", "no signature")
		for _, name := range []string{"TR-a.inputs", "TR-a.inputs/x", "TR-a.md.sig", "TR-a.md.sig/full"} {
			mustNot(t, os.Chown(filepath.Join(n.inbox, name), owner, owner))
		}
		n.put("TR-a.md", "a")
		mustNot(t, os.Chown(filepath.Join(n.inbox, "TR-a.md"), nobody, nobody))
		j := n.claimOne()
		refused := false
		for _, f := range j.Findings() {
			refused = refused || f.Severity == schemas.SeverityBlocking
		}
		if refused == aside || len(j.Inputs()) == 1 == aside || exists(filepath.Join(n.inbox, "TR-a.md.sig")) != aside {
			t.Errorf("of %d: %v, %v", owner, j.Inputs(), messages(j))
		}
		n.check()
	}
}

// TestSwappedSidecarsAreSetAside: what somebody else puts in the place of a request's inputs and signature, before
// whichever step of the node, is none of them.
func TestSwappedSidecarsAreSetAside(t *testing.T) {
	const other = nobody - 1
	for at, last := int64(1), int64(1); at <= last; at++ {
		var steps atomic.Int64
		var inbox atomic.Value // once the node is open
		n := newNode(t, func(o *spool.Options) {
			o.Seam = func(_ spool.Step, apply func() error) error {
				if dir, open := inbox.Load().(string); open && steps.Add(1) == at {
					for _, name := range []string{"TR-a.inputs", "TR-a.md.sig"} {
						_ = os.Rename(filepath.Join(dir, name), filepath.Join(dir, "gone-"+name))
						_ = os.Rename(filepath.Join(dir, "other-"+name), filepath.Join(dir, name))
					}
				}
				return apply()
			}
		})
		inbox.Store(n.inbox)
		for prefix, owner := range map[string]int{"": nobody, "other-": other} {
			n.put(prefix+"TR-a.inputs/x", fmt.Sprint("of ", owner))
			n.put(prefix+"TR-a.md.sig", fmt.Sprint("of ", owner))
			for _, name := range []string{"TR-a.inputs", "TR-a.inputs/x", "TR-a.md.sig"} {
				mustNot(t, os.Chown(filepath.Join(n.inbox, prefix+name), owner, owner))
			}
		}
		n.put("TR-a.md", "a")
		mustNot(t, os.Chown(filepath.Join(n.inbox, "TR-a.md"), nobody, nobody))
		j := n.claimOne()
		for _, name := range []string{spool.FileSignature, "inputs/x"} {
			if text, err := os.ReadFile(j.Path(name)); err == nil && string(text) != fmt.Sprint("of ", nobody) {
				t.Errorf("swapped before step %d: %s is %q", at, name, text)
			}
		}
		last = steps.Load()
		n.check()
	}
}

// TestNoLinkToAFileOfTheNode: whoever has a file open that he sent gives it another name, again and again, while it is
// taken in. That name must never belong to the node: somebody who writes to it would speak for root.
func TestNoLinkToAFileOfTheNode(t *testing.T) {
	n := newNode(t)
	own := filepath.Join(t.TempDir(), "own")
	mustNot(t, os.Chmod(filepath.Dir(filepath.Dir(own)), 0o755))
	mustNot(t, os.Mkdir(own, 0o777))
	mustNot(t, os.Chown(own, nobody, nobody))
	var sent atomic.Int64 // the descriptor of what was sent last, or -1
	sent.Store(-1)
	var links, wins atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		asNobody(t, func() {
			for i := 0; ; i++ {
				fd := sent.Load()
				if fd == -2 {
					return
				}
				link := filepath.Join(own, fmt.Sprint(i))
				err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, link,
					unix.AT_SYMLINK_FOLLOW)
				if err != nil {
					continue
				}
				links.Add(1)
				var st unix.Stat_t
				if unix.Lstat(link, &st) == nil && st.Uid == 0 {
					wins.Add(1)
				}
				_ = unix.Unlink(link)
			}
		})
	}()
	for try := range raceTries() {
		fd, err := unix.Open(n.sendTooLarge(fmt.Sprint("TR-", try)), unix.O_RDWR|unix.O_CLOEXEC, 0)
		mustNot(t, err)
		sent.Store(int64(fd))
		j := n.claimOne()
		sent.Store(-1)
		if j.Origin.UID != nobody || wins.Load() > 0 {
			t.Fatalf("try %d: the sender has a name for a file of the node", try)
		}
		mustNot(t, unix.Close(fd))
		mustNot(t, os.RemoveAll(j.Path()))
	}
	sent.Store(-2)
	<-ended
	if t.Logf("%d tries, %d links", raceTries(), links.Load()); links.Load() == 0 {
		t.Error("the sender never made a link: nothing was tried")
	}
}
