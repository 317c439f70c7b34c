package spool_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool"
)

// nobody is a user who may write to an inbox and is not the node's.
const nobody = 65534

// asNobody runs f with the rights of nobody, on a thread of its own that ends then.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	var wg sync.WaitGroup
	var uidErr, gidErr error
	wg.Go(func() {
		runtime.LockOSThread() // and never unlocked
		gidErr, uidErr = unix.Setfsgid(nobody), unix.Setfsuid(nobody)
		f()
	})
	wg.Wait()
	mustNot(t, errors.Join(uidErr, gidErr))
}

// intruder holds descriptors of folders of inputs that he owns.
type intruder struct {
	t       *testing.T
	folders map[string]int
	count   int
}

// intrude gives a tree to nobody, with its request, and keeps its folders open.
func intrude(t *testing.T, tree string) *intruder {
	in := &intruder{t: t, folders: map[string]int{}}
	if request := strings.TrimSuffix(tree, ".inputs") + ".md"; exists(request) {
		mustNot(t, os.Lchown(request, nobody, nobody))
	}
	mustNot(t, filepath.WalkDir(tree, func(path string, e fs.DirEntry, err error) error {
		mustNot(t, err)
		mustNot(t, os.Lchown(path, nobody, nobody))
		if e.IsDir() {
			fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			mustNot(t, err)
			t.Cleanup(func() { unix.Close(fd) })
			in.folders[strings.TrimPrefix(path, tree)] = fd
		}
		return nil
	}))
	return in
}

// tries does all that a descriptor of a folder may serve for, and lists what worked.
func (in *intruder) tries() []string {
	var done []string
	asNobody(in.t, func() {
		for folder, fd := range in.folders {
			in.count++
			worked := func(what string, err error) {
				if err == nil {
					done = append(done, fmt.Sprintf("%s in %q", what, folder))
				}
			}
			name := fmt.Sprint("new", in.count)
			made, err := unix.Openat(fd, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o666)
			worked("create", err)
			if err == nil {
				unix.Close(made)
			}
			worked("mkdir", unix.Mkdirat(fd, name+"d", 0o777))
			worked("chmod", unix.Fchmod(fd, 0o777))
			for _, there := range []string{"big", "x"} {
				changed, err := unix.Openat(fd, there, unix.O_WRONLY, 0)
				worked("open", err)
				if err == nil {
					unix.Close(changed)
				}
				worked("rename", unix.Renameat(fd, there, fd, name+"r"))
				worked("unlink", unix.Unlinkat(fd, there, 0))
			}
		}
	})
	slices.Sort(done)
	return done
}

// TestAnInboxCantReachWhatWasClaimed: somebody keeps descriptors of the folders of
// his inputs. After the claim he can neither make an entry nor change one, in what
// is kept or in what is on its way to the trash.
func TestAnInboxCantReachWhatWasClaimed(t *testing.T) {
	for name, kept := range map[string]bool{"kept": true, "copied whole": false} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.put("TR-a.inputs/x", "x")
			n.put("TR-a.inputs/deep/er/x", "x")
			if kept {
				sparse(10<<30)(t, filepath.Join(n.inbox, "TR-a.inputs/deep/er/big"))
			}
			n.put("TR-a.md", "a")
			in := intrude(t, filepath.Join(n.inbox, "TR-a.inputs"))
			n.put("TR-b.inputs/x", "x")
			if got := intrude(t, filepath.Join(n.inbox, "TR-b.inputs")).tries(); len(got) < 3 {
				t.Fatalf("the intruder can't do this before a claim either: %v", got)
			}
			j, err := n.Claim(n.in(), "TR-a.md")
			mustNot(t, err)
			before := tree(t, n.dir)
			if got := in.tries(); len(got) > 0 {
				t.Errorf("after the claim: %v", got)
			}
			if after := tree(t, n.dir); !slices.Equal(before, after) {
				t.Errorf("it was\n%v\nand is\n%v", before, after)
			}
			mustNot(t, n.EmptyTrashOnce())
			if es, err := os.ReadDir(filepath.Join(n.dir, spool.DirTrash)); err != nil || len(es) > 0 {
				t.Errorf("left in the trash: %v, %v", es, err)
			}
			if exists(j.Path("raw", "inputs", "deep", "er", "x")) != kept {
				t.Errorf("kept is not %v", kept)
			}
			mustNot(t, refuse(j, spool.StateRequestRefused))
			if got := in.tries(); len(got) > 0 {
				t.Errorf("in quarantine: %v", got)
			}
			n.check()
		})
	}
}

// tree lists all below a folder, with sizes and modes.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	mustNot(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		mustNot(t, err)
		fi, err := e.Info()
		mustNot(t, err)
		size := fi.Size()
		if e.IsDir() {
			size = 0
		}
		all = append(all, fmt.Sprint(path, " ", size, " ", fi.Mode()))
		return nil
	}))
	return all
}

// TestIntrudedDuringTheClaim makes entries in the folders of inputs at every step
// of a claim. The claim ends, what it holds is whole, and the trash can be emptied.
func TestIntrudedDuringTheClaim(t *testing.T) {
	var in *intruder
	var mu sync.Mutex
	quiet := noSync()
	n := newNode(t, func(o *spool.Options) {
		o.MaxInputs = 1000
		o.Seam = func(s spool.Step, apply func() error) error {
			mu.Lock()
			if in != nil {
				in.tries()
			}
			mu.Unlock()
			return quiet(s, apply)
		}
	})
	n.put("TR-a.inputs/deep/er/x", "x")
	n.put("TR-a.md", "a")
	in = intrude(t, filepath.Join(n.inbox, "TR-a.inputs"))
	var j *spool.Job
	for try := 0; j == nil && try < 10; try++ {
		for _, a := range n.pending(1) {
			c, err := n.Claim(a.Inbox, a.Name)
			if err != nil && !errors.Is(err, spool.ErrBusy) {
				t.Fatal(err)
			}
			j = c
		}
		n.later()
	}
	if j == nil {
		t.Fatal("the claim never ended")
	}
	mustNot(t, j.Move(spool.StateAdmitted))
	mustNot(t, n.EmptyTrashOnce())
	if es, err := os.ReadDir(filepath.Join(n.dir, spool.DirTrash)); err != nil || len(es) > 0 {
		t.Errorf("left in the trash: %v, %v", es, err)
	}
	n.check()
}

// TestATrashThatCantBeEmptied holds up no claim.
func TestATrashThatCantBeEmptied(t *testing.T) {
	n := newNode(t)
	mount := filepath.Join(n.dir, spool.DirTrash, "stray/deep/mount")
	mustNot(t, os.MkdirAll(mount, 0o700))
	mustNot(t, os.WriteFile(filepath.Join(n.dir, spool.DirTrash, "stray/file"), nil, 0o600))
	mustNot(t, unix.Mount("none", mount, "tmpfs", 0, "size=4k"))
	unmount := func() {
		found, _ := filepath.Glob(filepath.Join(n.dir, spool.DirTrash, "*/mount"))
		for _, f := range append(found, mount) {
			_ = unix.Unmount(f, unix.MNT_DETACH)
		}
	}
	t.Cleanup(unmount)
	for i := range 3 {
		n.put("TR-a.md", fmt.Sprint(i))
		n.put("TR-a.inputs/x", "x")
		mustNot(t, n.claimOne().Move(spool.StateAdmitted))
		wantErr(t, n.EmptyTrashOnce(), unix.EBUSY)
	}
	n.check()
	if left := tree(t, filepath.Join(n.dir, spool.DirTrash)); len(left) != 3 {
		t.Errorf("what could be removed is there: %v", left)
	}
	unmount()
	mustNot(t, n.EmptyTrashOnce())
}

// TestTooMuchToKeep: what came along has so many entries that the node keeps none
// of them. The refusal says so, and they are removed with few descriptors.
func TestTooMuchToKeep(t *testing.T) {
	for name, dir := range map[string]string{"inputs": "TR-a.inputs", "request": "TR-a.md"} {
		for shape, fill := range map[string]func(*testing.T, string){"deep": deep, "wide": wide} {
			t.Run(name+" "+shape, func(t *testing.T) {
				var mu sync.Mutex
				onStep := func() {}
				quiet := noSync()
				n := newNode(t, func(o *spool.Options) {
					o.Seam = func(s spool.Step, apply func() error) error {
						mu.Lock() // several syncs of a batch are under way at once
						onStep()
						mu.Unlock()
						return quiet(s, apply)
					}
				})
				mustNot(t, os.Mkdir(filepath.Join(n.inbox, dir), 0o755))
				fill(t, filepath.Join(n.inbox, dir))
				if name == "inputs" {
					n.put("TR-a.md", "a")
				}
				j := n.claimOne()
				if !slices.Contains(rules(j), "spool.inputs.limit") {
					t.Errorf("rules %v", rules(j))
				}
				if !slices.ContainsFunc(messages(j), func(m string) bool { return strings.Contains(m, "removed") }) {
					t.Errorf("nothing says that they were removed: %q", messages(j))
				}
				open := func() int { es, _ := os.ReadDir("/proc/self/fd"); return len(es) }
				before, most := open(), 0
				onStep = func() { most = max(most, open()) }
				mustNot(t, n.EmptyTrashOnce())
				if left := tree(t, filepath.Join(n.dir, spool.DirTrash)); len(left) != 1 {
					t.Errorf("%d are left in the trash", len(left)-1)
				}
				if most > before+10 {
					t.Errorf("%d descriptors were open, %d before", most, before)
				}
				mustNot(t, refuse(j, spool.StateRequestRefused))
				n.check()
			})
		}
	}
}

// deep makes folders that nest deeper than a path can say.
func deep(t *testing.T, path string) {
	dir, err := unix.Open(path, unix.O_RDONLY, 0)
	mustNot(t, err)
	for range 3000 {
		mustNot(t, unix.Mkdirat(dir, "d", 0o755))
		below, err := unix.Openat(dir, "d", unix.O_RDONLY, 0)
		mustNot(t, err)
		mustNot(t, unix.Close(dir))
		dir = below
	}
	mustNot(t, unix.Close(dir))
}

func wide(t *testing.T, path string) {
	for i := range 1000 {
		mustNot(t, os.Mkdir(filepath.Join(path, fmt.Sprint(i)), 0o755))
	}
}

func messages(j *spool.Job) []string {
	var all []string
	for _, f := range j.Findings() {
		all = append(all, f.Message)
	}
	return all
}
