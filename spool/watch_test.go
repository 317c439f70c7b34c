package spool_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/threegate/tool-exec/spool"
)

// patience bounds a wait for what must come; it decides no outcome.
const patience = 5 * time.Minute

// await reads wake-ups until ready.
func await(t *testing.T, wake <-chan struct{}, what string, ready func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for !ready() {
		select {
		case <-wake:
		case <-deadline:
			t.Fatalf("%s did not come", what)
		}
	}
}

// watched opens a node whose sweep never comes by itself, unless every is set.
func watched(t *testing.T, every time.Duration) (*node, <-chan struct{}) {
	t.Helper()
	// What other tests left running is none of this one's.
	running := goleak.IgnoreCurrent()
	n := newNode(t, func(o *spool.Options) { o.SweepEvery = every })
	t.Cleanup(func() { goleak.VerifyNone(t, running) })
	return n, n.watch()
}

// watch watches the inboxes until the test ends.
func (n *node) watch() <-chan struct{} {
	n.t.Helper()
	n.SetNow(time.Now)
	ctx, cancel := context.WithCancel(n.t.Context())
	wake, err := n.Watch(ctx)
	mustNot(n.t, err)
	n.t.Cleanup(func() {
		cancel()
		for range wake { // it is closed once the watcher has ended
		}
	})
	return wake
}

func (n *node) arrives(name string) func() bool {
	return func() bool {
		for _, a := range n.pending(100) {
			if a.Name == name {
				return true
			}
		}
		return false
	}
}

func TestEventsTellOfArrivals(t *testing.T) {
	n, wake := watched(t, time.Hour)
	if as := n.pending(10); len(as) > 0 {
		t.Fatalf("waiting: %v", as)
	}
	n.put("TR-written.md", "x")
	await(t, wake, "a file that was written", n.arrives("TR-written.md"))
	n.put(".hidden", "x")
	mustNot(t, os.Rename(filepath.Join(n.inbox, ".hidden"), filepath.Join(n.inbox, "TR-renamed.md")))
	await(t, wake, "a file that was renamed", n.arrives("TR-renamed.md"))
}

func TestWhatWaitsAtTheStartIsFound(t *testing.T) {
	n := newNode(t)
	n.put("TR-early.md", "x")
	ctx, cancel := context.WithCancel(t.Context())
	wake, err := n.Watch(ctx)
	mustNot(t, err)
	await(t, wake, "an early file", n.arrives("TR-early.md"))
	cancel()
	for range wake {
	}
}

func TestSweepFindsWhatEventsMissed(t *testing.T) {
	n, wake := watched(t, 10*time.Millisecond)
	// The watched folder goes away with its watch, and another comes.
	mustNot(t, os.Rename(n.inbox, n.inbox+".old"))
	mustNot(t, os.Mkdir(n.inbox, 0o755))
	n.put("TR-new.md", "x")
	await(t, wake, "a file in an inbox that was made again", n.arrives("TR-new.md"))
	mustNot(t, os.RemoveAll(n.inbox))
	await(t, wake, "the report of a missing inbox", func() bool { n.pending(1); return len(n.Stuck()) == 1 })
	mustNot(t, os.Mkdir(n.inbox, 0o755))
	n.put("TR-third.md", "x")
	await(t, wake, "a file in an inbox that was away", n.arrives("TR-third.md"))
	if st := n.Stuck(); len(st) != 0 {
		t.Errorf("still stuck: %+v", st)
	}
}

func TestABusyRequestIsOfferedAgainByItself(t *testing.T) {
	n, wake := watched(t, time.Hour)
	p := filepath.Join(n.inbox, "TR-slow.md")
	w, err := os.Create(p)
	mustNot(t, err)
	defer w.Close()
	await(t, wake, "the file that is being written", n.arrives("TR-slow.md"))
	_, err = n.Claim(spool.Inbox{Name: "default", Dir: n.inbox}, "TR-slow.md")
	wantErr(t, err, spool.ErrBusy)
	mustNot(t, w.Close())
	var j *spool.Job
	await(t, wake, "the complete file", func() bool {
		for _, a := range n.pending(10) {
			if c, err := n.Claim(a.Inbox, a.Name); err == nil {
				j = c
			}
		}
		return j != nil
	})
	if j.Origin.Name != "TR-slow.md" || len(j.Findings()) > 0 {
		t.Errorf("claimed %+v with %v", j.Origin, j.Findings())
	}
}

func TestAFloodOfEvents(t *testing.T) {
	n, wake := watched(t, time.Hour)
	n.pending(1)
	const count = 6000
	for i := range count {
		p := filepath.Join(n.inbox, "TR-"+string(rune('a'+i%26))+time.Duration(i).String()+".md")
		mustNot(t, os.WriteFile(p, nil, 0o600))
	}
	got := map[string]bool{}
	await(t, wake, "everything", func() bool {
		for _, a := range n.pending(count) {
			got[a.Name] = true
		}
		return len(got) == count
	})
}
