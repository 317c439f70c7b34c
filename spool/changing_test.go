package spool_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool"
)

// attack does something with a request as the steps of its claim are taken.
type attack struct {
	name string
	// at is called before step number i, from 0 on.
	at func(n *node, i int)
	// end lets go of what it holds.
	end func()
}

const (
	approved = "approved"
	other    = "quite another"
)

// TestChangedWhileItIsClaimed: somebody replaces, truncates, appends to or
// removes a request, or writes through a descriptor that he opened, at every
// step of its claim. What is claimed is one version of the file, whole, with the
// digest of just these bytes; nothing comes of it that nobody wrote.
func TestChangedWhileItIsClaimed(t *testing.T) {
	steps := claimSteps(t)
	if steps < 10 {
		t.Fatalf("a claim has only %d steps", steps)
	}
	var attacks []attack
	for k := range steps {
		once := func(name string, do func(path string)) attack {
			return attack{name: name, at: func(n *node, i int) {
				if i == k {
					do(filepath.Join(n.inbox, "TR-a.md"))
				}
			}}
		}
		attacks = append(attacks,
			once("replaced", func(path string) {
				tmp := filepath.Join(filepath.Dir(path), ".other")
				mustNot(t, os.WriteFile(tmp, []byte(other), 0o644))
				mustNot(t, os.Rename(tmp, path))
			}),
			once("truncated", func(path string) { _ = os.Truncate(path, 4) }),
			once("appended to", func(path string) {
				if f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err == nil {
					_, err = f.WriteString(other)
					mustNot(t, errors.Join(err, f.Close()))
				}
			}),
			once("removed", func(path string) { _ = os.Remove(path) }))
		for m := k; m < steps; m += 3 {
			var f *os.File
			attacks = append(attacks, attack{name: "written through a descriptor",
				at: func(n *node, i int) {
					if i == k {
						f, _ = os.OpenFile(filepath.Join(n.inbox, "TR-a.md"), os.O_RDWR, 0)
					}
					if i == m && f != nil {
						_, err := f.WriteAt([]byte("APP"), 0)
						mustNot(t, err)
					}
				},
				end: func() {
					if f != nil {
						f.Close()
					}
				}})
		}
	}
	versions := []string{approved, other, approved[:4], approved + other, "APP" + approved[3:]}
	for _, a := range attacks {
		claimUnder(t, a, versions)
	}
	t.Logf("%d attacks at %d steps", len(attacks), steps)
}

func claimSteps(t *testing.T) int {
	steps := 0
	claimUnder(t, attack{name: "none", at: func(_ *node, i int) { steps = i + 1 }}, []string{approved})
	return steps
}

// claimUnder claims all there is while an attack goes on and checks what came of it.
func claimUnder(t *testing.T, a attack, versions []string) {
	t.Helper()
	var n *node
	var mu sync.Mutex
	armed, taken := false, 0
	quiet := noSync()
	n = newNode(t, func(o *spool.Options) {
		o.Seam = func(s spool.Step, apply func() error) error {
			mu.Lock() // steps that need no order are taken at once
			if armed {
				a.at(n, taken)
				taken++
			}
			mu.Unlock()
			return quiet(s, apply)
		}
	})
	n.put("TR-a.md", approved)
	armed = true
	var jobs []*spool.Job
	for try := range 4 {
		for _, x := range n.pending(10) {
			j, err := n.Claim(x.Inbox, x.Name)
			switch {
			case err == nil:
				jobs = append(jobs, j)
			case errors.Is(err, spool.ErrGone), errors.Is(err, spool.ErrBusy):
			default:
				t.Errorf("%s: %v", a.name, err)
			}
		}
		if try == 1 && a.end != nil {
			armed = false
			a.end()
		}
		n.clock = n.clock.Add(time.Second)
	}
	n.check()
	if len(jobs) > 2 || len(jobs) == 0 && a.name != "removed" {
		t.Errorf("%s: %d jobs came of it", a.name, len(jobs))
	}
	for _, j := range jobs {
		if len(j.Findings()) > 0 {
			continue // it was refused: a writer that did not let go
		}
		data, err := j.Request()
		mustNot(t, err)
		if !slices.Contains(versions, string(data)) || sum(string(data)) != j.SHA256 {
			t.Errorf("%s: claimed %q, which nobody wrote", a.name, data)
		}
	}
	mustNot(t, n.Close())
}

// TestAMountOverAnInbox: something is mounted over a watched inbox and taken
// away again. What lies in the mount can't be claimed and says so, what lies
// below is found again.
func TestAMountOverAnInbox(t *testing.T) {
	for _, kind := range []string{"tmpfs", "bind"} {
		n := newNode(t, func(o *spool.Options) { o.SweepEvery = 10 * time.Millisecond })
		n.SetNow(time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		wake, err := n.Watch(ctx)
		mustNot(t, err)
		n.put("TR-below.md", "x")
		if kind == "tmpfs" {
			mustNot(t, unix.Mount("none", n.inbox, "tmpfs", 0, "size=1m"))
		} else {
			elsewhere := t.TempDir()
			mustNot(t, unix.Mount(elsewhere, n.inbox, "", unix.MS_BIND, ""))
		}
		t.Cleanup(func() { _ = unix.Unmount(n.inbox, unix.MNT_DETACH) })
		n.put("TR-mounted.md", "x")
		in := spool.Inbox{Name: "default", Dir: n.inbox}
		await(t, wake, "a file in the mount", n.arrives("TR-mounted.md"))
		_, err = n.Claim(in, "TR-mounted.md")
		wantErr(t, err, unix.EXDEV)
		wantErr(t, err, spool.ErrStuck)
		if st := n.Stuck(); len(st) != 1 || st[0].Reason == "" {
			t.Errorf("%s: stuck: %+v", kind, st)
		}
		if !exists(filepath.Join(n.inbox, "TR-mounted.md")) {
			t.Errorf("%s: what can't be claimed was touched", kind)
		}
		mustNot(t, unix.Unmount(n.inbox, unix.MNT_DETACH))
		await(t, wake, "what lay below", n.arrives("TR-below.md"))
		_, err = n.Claim(in, "TR-below.md")
		mustNot(t, err)
		n.put("TR-after.md", "x")
		await(t, wake, "a file after the mount", n.arrives("TR-after.md"))
		cancel()
		for range wake {
		}
		n.check()
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
