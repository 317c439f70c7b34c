package spool_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool"
)

func TestInitCanBeRepeatedAndKeepsWhatIsThere(t *testing.T) {
	n := newNode(t)
	n.put("TR-a.md", "a")
	mustNot(t, n.Close())
	mustNot(t, os.Chmod(filepath.Join(n.dir, spool.DirSpool), 0o755))
	if _, err := spool.Open(n.dir, n.options()); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("a spool that is open to others: %v", err)
	}
	mustNot(t, spool.Init(n.dir))
	n.open()
	n.claimOne()
}

func TestOpenRefusesWhatIsNoNode(t *testing.T) {
	for name, spoil := range map[string]func(dir string){
		"empty":          func(dir string) { mustNot(t, os.RemoveAll(filepath.Join(dir, "spool"))) },
		"a state less":   func(dir string) { mustNot(t, os.Remove(filepath.Join(dir, "spool/running"))) },
		"a file instead": func(dir string) { p := filepath.Join(dir, "archive"); mustNot(t, os.Remove(p)); text(t, p) },
		"a link instead": func(dir string) {
			p := filepath.Join(dir, "archive")
			mustNot(t, os.Remove(p))
			mustNot(t, os.Symlink("quarantine", p))
		},
	} {
		dir := t.TempDir()
		mustNot(t, spool.Init(dir))
		spoil(dir)
		if s, err := spool.Open(dir, spool.Options{}); err == nil {
			t.Errorf("%s: opened", name)
			s.Close()
		}
		if locked, err := spool.Locked(dir); err != nil || locked {
			t.Errorf("%s: the lock is still held: %v", name, err)
		}
	}
}

func TestOneOwner(t *testing.T) {
	n := newNode(t)
	_, err := spool.Open(n.dir, n.options())
	wantErr(t, err, spool.ErrLocked)
	if !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("the holder is not named: %v", err)
	}
	if locked, err := spool.Locked(n.dir); err != nil || !locked {
		t.Errorf("locked: %v, %v", locked, err)
	}
	mustNot(t, n.Close())
	mustNot(t, n.Close())
	if locked, err := spool.Locked(n.dir); err != nil || locked {
		t.Errorf("locked after closing: %v, %v", locked, err)
	}
	if _, err := n.Pending(1); err == nil {
		t.Error("a closed spool hands out work")
	}
	n.open()
}

func TestChildrenDoNotInheritTheLock(t *testing.T) {
	n := newNode(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	child := exec.CommandContext(ctx, "sleep", "1000")
	mustNot(t, child.Start())
	mustNot(t, n.Close())
	if locked, err := spool.Locked(n.dir); err != nil || locked {
		t.Errorf("the lock outlived its owner in a child: %v", err)
	}
	cancel()
	_ = child.Wait()
}

// TestOtherFilesystems has an inbox and a part of the node on another mount, also
// one of the same filesystem, where renames do not work either.
func TestOtherFilesystems(t *testing.T) {
	for _, where := range []string{"inbox/default", "quarantine/requests", "archive", "spool/running"} {
		for _, kind := range []string{"tmpfs", "bind"} {
			dir := t.TempDir()
			mustNot(t, spool.Init(dir))
			p := filepath.Join(dir, where)
			if kind == "tmpfs" {
				mustNot(t, unix.Mount("none", p, "tmpfs", 0, "mode=0700"))
			} else {
				mustNot(t, unix.Mount(p, p, "", unix.MS_BIND, ""))
			}
			defer func() { _ = unix.Unmount(p, unix.MNT_DETACH) }()
			s, err := spool.Open(dir, spool.Options{Inboxes: []spool.Inbox{{Name: "default",
				Dir: filepath.Join(dir, "inbox/default")}}})
			if err == nil {
				s.Close()
			}
			wantErr(t, err, spool.ErrOtherFilesystem)
			if !strings.Contains(err.Error(), p) {
				t.Errorf("%s: %v", where, err)
			}
		}
	}
}

func TestTransitions(t *testing.T) {
	for i, from := range spool.States {
		for k, to := range append(slices.Clone(spool.States), "", "archive", "nonsense") {
			n := newNode(t)
			n.put("TR-a.md", "a")
			j := n.claimOne()
			for _, st := range spool.States[1 : i+1] {
				mustNot(t, j.Move(st))
			}
			err := j.Move(to)
			back := from == spool.StateRunning && to == spool.StateAdmitted
			if k == i+1 && i+1 < len(spool.States) || back {
				if err != nil || j.State != to || n.check()[j.ID] != string(to) {
					t.Errorf("%s to %s: %v", from, to, err)
				}
				continue
			}
			wantErr(t, err, spool.ErrTransition)
			if n.check()[j.ID] != string(from) {
				t.Errorf("it left %s", from)
			}
			if from != spool.StateFinished {
				wantErr(t, j.Archive(time.Now()), spool.ErrTransition)
			}
		}
	}
	if _, err := newNode(t).Jobs("nonsense"); err == nil {
		t.Error("an unknown state was read")
	}
}

// TestDamagedJobs spoils jobs in every way that a person or a disk might.
func TestDamagedJobs(t *testing.T) {
	for name, spoil := range map[string]func(dir, id string){
		"no record":    func(dir, id string) { mustNot(t, os.Remove(filepath.Join(dir, id, "job.json"))) },
		"torn record":  func(dir, id string) { mustNot(t, os.Truncate(filepath.Join(dir, id, "job.json"), 20)) },
		"empty record": func(dir, id string) { mustNot(t, os.Truncate(filepath.Join(dir, id, "job.json"), 0)) },
		"10 GB record": func(dir, id string) { mustNot(t, os.Truncate(filepath.Join(dir, id, "job.json"), 10<<30)) },
		"renamed":      func(dir, id string) { mustNot(t, os.Rename(filepath.Join(dir, id), filepath.Join(dir, "x"+id))) },
		"other id": func(dir, id string) {
			mustNot(t, os.Rename(filepath.Join(dir, id),
				filepath.Join(dir, "j1"+id[2:])))
		},
		"a file instead": func(dir, id string) {
			mustNot(t, os.RemoveAll(filepath.Join(dir, id)))
			text(t, filepath.Join(dir, id))
		},
		"record is a FIFO": func(dir, id string) {
			p := filepath.Join(dir, id, "job.json")
			mustNot(t, os.Remove(p))
			mustNot(t, unix.Mkfifo(p, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.put("TR-a.md", "a")
			j := n.claimOne()
			mustNot(t, j.Move(spool.StateAdmitted))
			spoil(filepath.Join(n.dir, "spool/admitted"), j.ID)
			n.reopen()
			jobs, err := n.Jobs(spool.StateAdmitted)
			mustNot(t, err)
			if len(jobs) != 1 || jobs[0].Damage == nil {
				t.Fatalf("jobs: %+v", jobs)
			}
			wantErr(t, jobs[0].Move(spool.StateRunning), spool.ErrTransition)
			if _, err := jobs[0].Request(); err == nil {
				t.Error("a damaged job gives its request")
			}
			mustNot(t, jobs[0].WriteFile("note.json", nil))
			mustNot(t, refuse(jobs[0], spool.StateRequestRefused))
			if es, err := os.ReadDir(filepath.Join(n.dir, spool.DirQuarantineRequests)); err != nil || len(es) != 1 ||
				es[0].Name() != jobs[0].ID {
				t.Errorf("in quarantine: %v, %v", es, err)
			}
			if left, err := n.Jobs(spool.StateAdmitted); err != nil || len(left) != 0 {
				t.Errorf("%v are left (%v)", left, err)
			}
		})
	}
	t.Run("other request", func(t *testing.T) {
		n := newNode(t)
		n.put("TR-a.md", "approved")
		j := n.claimOne()
		mustNot(t, os.WriteFile(j.Path("request.md"), []byte("APPROVED"), 0o600))
		_, err := j.Request()
		wantErr(t, err, spool.ErrDamaged)
	})
}

func TestFilesOfAJob(t *testing.T) {
	n := newNode(t)
	n.put("TR-a.md", "a")
	j := n.claimOne()
	for _, name := range []string{"", ".", "..", "../x", "a/b", ".x", "a\x00", "request.md", "job.json"} {
		if err := j.WriteFile(name, nil); err == nil {
			t.Errorf("wrote %q", name)
		}
	}
	mustNot(t, j.WriteFile("o.json", []byte("one")))
	mustNot(t, j.WriteFile("o.json", []byte("two")))
	if data, err := j.ReadFile("o.json", 3); err != nil || string(data) != "two" {
		t.Errorf("read %q, %v", data, err)
	}
	if _, err := j.ReadFile("o.json", 2); err == nil {
		t.Error("read more than was asked for")
	}
	mustNot(t, os.Symlink("/etc/passwd", j.Path("link")))
	if _, err := j.ReadFile("link", 1<<20); err == nil {
		t.Error("read through a link out of the job")
	}
	if _, err := j.ReadFile("../../../.lock", 100); err == nil {
		t.Error("read outside of the job")
	}
}

func TestIDsRise(t *testing.T) {
	n := newNode(t)
	var last string
	for i := range 300 {
		n.put(fmt.Sprintf("TR-%d.md", i), "")
		j := n.claimOne()
		if len(j.ID) != 27 || !spool.ValidID(j.ID) || j.ID <= last {
			t.Fatalf("id %q after %q", j.ID, last)
		}
		last = j.ID
	}
	for _, id := range []string{"", "j", last[:26], last + "0", "k" + last[1:], "j8" + last[2:], "j" +
		strings.Repeat("u", 26), strings.ToUpper(last)} {
		if spool.ValidID(id) {
			t.Errorf("%q is a valid id", id)
		}
	}
	// A job of the future, from before the clock was set back, stays first.
	future := "j7" + last[2:]
	mustNot(t, os.Mkdir(filepath.Join(n.dir, "spool/running", future), 0o700))
	n.reopen()
	n.put("TR-next.md", "")
	if j := n.claimOne(); j.ID <= future {
		t.Errorf("%s comes before %s", j.ID, future)
	}
}

func TestArchived(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node [1]*?")
	const job = "j01m8c0cy9c0h1r3xdwcgg21ywf"
	var want []string
	for _, month := range []string{"2025/12", "2026/01"} {
		p := filepath.Join(dir, spool.DirArchive, month, job)
		mustNot(t, os.MkdirAll(p, 0o700))
		want = append(want, p)
	}
	mustNot(t, os.MkdirAll(filepath.Join(dir, spool.DirArchive, "2026", "01", "another"), 0o700))
	got, err := spool.Archived(dir, job)
	mustNot(t, err)
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if got, err := spool.Archived(filepath.Join(dir, "nowhere"), job); len(got) > 0 || err != nil {
		t.Errorf("found %q, %v where there is no node", got, err)
	}
}
