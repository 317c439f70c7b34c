package container

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/sandbox"
)

// slotConfig has slots whatever the tests' mode is.
func slotConfig() Config {
	c := testConfig()
	c.Slots = Slots{MemoryBytes: testSlots * SlotCost, Limits: newTask().Limits}
	return c
}

func openSlots(t *testing.T) *Executor {
	t.Helper()
	e, err := Open(t.Context(), slotConfig())
	must(t, "Open", err)
	t.Cleanup(func() { e.Close() })
	e.awaitSlots(t, testSlots)
	return e
}

// awaitSlots waits until there are n idle slots.
func (e *Executor) awaitSlots(t testing.TB, n int) {
	t.Helper()
	if e.pool == nil {
		t.Fatal("there is no pool")
	}
	got := 0
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if got = len(e.idle()); got == n {
			return
		}
	}
	t.Fatalf("%d slots are ready, not %d", got, n)
}

func (e *Executor) idle() []*slot {
	e.pool.mu.Lock()
	defer e.pool.mu.Unlock()
	var all []*slot
	for _, ready := range e.pool.ready {
		all = append(all, ready...)
	}
	return all
}

// A task gets the oldest slot, which is destroyed after it; the next one gets
// another.
func TestSlotServesOneRun(t *testing.T) {
	e := openSlots(t)
	seen := map[string]bool{}
	for range 4 {
		e.awaitSlots(t, testSlots)
		oldest := e.idle()[0].id
		task := newTask("write", "/tmp/mark", "was here")
		must(t, "Prepare", e.Prepare(t.Context(), task))
		if got := e.containerOf(task.ID); got != oldest || seen[got] {
			t.Errorf("the task runs in %s, the oldest slot is %s; used before: %v", got, oldest, seen)
		}
		seen[oldest] = true
		must(t, "Start", e.Start(t.Context(), task.ID))
		if r := finish(t, e, task.ID); r.ExitCode != 0 {
			t.Errorf("%+v: it found what another run had left", r.Outcome)
		}
		if cont, err := e.loadContainer(t.Context(), oldest); cont != nil || err != nil {
			t.Errorf("the slot's container is still there: %v, %v", cont, err)
		}
	}
}

// Before its claim a slot holds nothing of any request; its init has nothing to
// run and no way to know what for it is.
func TestIdleSlotIsBoundToNothing(t *testing.T) {
	e := openSlots(t)
	s := e.idle()[0]
	for _, name := range []string{taskFile, startFile, stagedPayload, filepath.Join(gateDir, job.PayloadFile),
		filepath.Join(gateDir, job.StdinFile), filepath.Join(gateDir, job.StartedFile)} {
		if s.runDir.has(name) {
			t.Errorf("an idle slot has %s", name)
		}
	}
	for _, d := range []string{inDir, outDir, tmpDir, shmDir, emptyDir} {
		if entries, err := os.ReadDir(s.runDir.path(d)); err != nil || len(entries) != 0 {
			t.Errorf("%s of an idle slot: %v, %v", d, entries, err)
		}
	}
	if ids, err := e.List(t.Context()); err != nil || len(ids) != 0 {
		t.Errorf("idle slots are listed as tasks: %v, %v", ids, err)
	}
}

// A gate that died left idle slots and one that was claimed: the next one removes
// the former and goes on with the latter, whatever step it was in.
func TestSlotsOfADeadGate(t *testing.T) {
	for _, step := range []string{"claimed", "told", "started"} {
		t.Run(step, func(t *testing.T) {
			e, err := Open(t.Context(), slotConfig())
			must(t, "Open", err)
			e.awaitSlots(t, testSlots)
			task := newTask("sleep", "300")
			must(t, "Prepare", e.Prepare(t.Context(), task))
			b, err := e.runDirOf(task.ID)
			must(t, "box", err)
			if !b.has(stagedPayload) || b.has(filepath.Join(gateDir, job.PayloadFile)) ||
				b.has(filepath.Join(gateDir, job.StartedFile)) {
				t.Error("a claimed slot has no payload, or may start it")
			}
			switch step {
			case "told": // the record is there, init does not know of it
				must(t, "record", b.write(startFile, startRecord{At: time.Now().UTC(), Monotonic: monotonic()}))
			case "started":
				must(t, "Start", e.Start(t.Context(), task.ID))
			}
			e.pool.stop()
			e.pool.making.Wait()
			left := e.idle()
			if len(left) == 0 {
				t.Fatal("no idle slot is left to be reaped")
			}
			// As the kernel does when a process dies.
			must(t, "unlock", e.pool.lock.Close())
			must(t, "disconnect", e.client.Close())

			next := openSlots(t)
			for _, s := range left {
				if cont, err := next.loadContainer(t.Context(), s.id); cont != nil || err != nil {
					t.Errorf("idle slot %s of the dead gate is still there: %v", s.id, err)
				}
				if s.runDir.there() {
					t.Errorf("the box of idle slot %s is still there", s.id)
				}
			}
			switch step { // what was started may have ended meanwhile
			case "claimed":
				mustState(t, next, task.ID, executors.StateCreated)
				must(t, "Start", next.Start(t.Context(), task.ID))
			case "told":
				mustState(t, next, task.ID, executors.StateRunning)
			}
			if r := finish(t, next, task.ID); r.ExitCode != 0 || r.stdout(t) != "before\nafter\n" {
				t.Errorf("%+v stdout %q", r.Outcome, r.stdout(t))
			}
		})
	}
}

// A slot whose init has died is no slot: the task starts all the same.
func TestDeadSlot(t *testing.T) {
	e := openSlots(t)
	dead := map[string]bool{}
	for _, s := range e.idle() {
		dead[s.id] = true
		must(t, "kill init", unix.Kill(s.pid, unix.SIGKILL))
		for e.sound(s) == nil {
			time.Sleep(time.Millisecond)
		}
	}
	task := newTask("echo", "all the same")
	must(t, "Prepare", e.Prepare(t.Context(), task))
	if dead[e.containerOf(task.ID)] {
		t.Error("the task got a dead slot")
	}
	must(t, "Start", e.Start(t.Context(), task.ID))
	if r := finish(t, e, task.ID); r.stdout(t) != "all the same\n" {
		t.Errorf("stdout %q", r.stdout(t))
	}
	e.awaitSlots(t, testSlots)
}

// What a slot can't be given starts cold.
func TestFitsNoSlot(t *testing.T) {
	e := openSlots(t)
	task := newTask("inodes", "/out")
	task.Limits.OutFiles /= 2
	must(t, "Prepare", e.Prepare(t.Context(), task))
	if got := e.containerOf(task.ID); got != task.ID {
		t.Errorf("it runs in %s", got)
	}
	must(t, "Start", e.Start(t.Context(), task.ID))
	if r := finish(t, e, task.ID); strings.TrimSpace(r.stdout(t)) != "50" {
		t.Errorf("stdout %q", r.stdout(t))
	}
}

// Two processes of a node never keep slots at once.
func TestOneKeepsSlots(t *testing.T) {
	first := openSlots(t)
	second, err := Open(t.Context(), slotConfig())
	must(t, "Open", err)
	defer second.Close()
	if second.pool != nil {
		t.Error("both keep slots")
	}
	for _, s := range first.idle() {
		if err := first.sound(s); err != nil {
			t.Errorf("the second removed a slot of the first: %v", err)
		}
	}
	if r := run(t, second, newTask("echo", "cold")); r.stdout(t) != "cold\n" {
		t.Errorf("stdout %q", r.stdout(t))
	}
}

// Slots are shared evenly, and what was used last goes first.
func TestShare(t *testing.T) {
	a, b, c := model{image: "a"}, model{image: "b"}, model{image: "c"}
	got := share([]model{b, a, c}, 7)
	if got[a] != 2 || got[b] != 3 || got[c] != 2 {
		t.Errorf("7 slots are shared as %v", got)
	}
	if got = share([]model{b, a, c}, 2); got[a] != 1 || got[b] != 1 || got[c] != 0 {
		t.Errorf("2 slots are shared as %v", got)
	}
}

// No slot is made on a disk that requests need.
func TestRoomFor(t *testing.T) {
	dir := t.TempDir()
	must(t, "mount", unix.Mount("none", dir, "tmpfs", 0, "size=100m"))
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	if err := roomFor(dir, slotRoom); err == nil || !strings.Contains(err.Error(), dir) ||
		!strings.Contains(err.Error(), "make room") {
		t.Errorf("on a small disk: %v", err)
	}
	if err := roomFor(dir, 1<<20); err != nil {
		t.Errorf("with room: %v", err)
	}
	if err := roomFor("", slotRoom); err != nil { // a containerd of the host
		t.Errorf("where nothing can be told: %v", err)
	}
}

// What an earlier process left of a slot is removed also if its run folder is gone: its
// container, or its group, tells whose it was.
func TestSlotWithoutBox(t *testing.T) {
	e := openSlots(t)
	s := e.idle()[0]
	e.pool.stop()
	e.pool.making.Wait()
	must(t, "remove the box", s.runDir.remove())
	must(t, "unlock", e.pool.lock.Close())
	next, err := Open(t.Context(), slotConfig())
	must(t, "Open", err)
	defer next.Close()
	if e.sound(s) == nil {
		t.Error("its init still lives")
	}
	for _, h := range []string{"pids", "memory", "unified"} {
		if _, err := os.Stat("/sys/fs/cgroup/" + h + e.cgroupOf(s.id)); err == nil {
			t.Errorf("its group in %s is still there", h)
		}
	}
}

// The look from outside finds every difference between a sandbox and what was asked for.
func TestVerifySees(t *testing.T) {
	e := openSlots(t)
	s := e.idle()[0]
	policy := func() sandbox.Policy {
		return e.policy(s.runDir, "", blueprint{id: s.id, model: s.model, limits: e.cfg.Slots.Limits})
	}
	must(t, "a sound slot", sandbox.Verify(s.pid, policy()))
	for want, change := range map[string]func(*sandbox.Policy){
		"Uid of a thread":          func(p *sandbox.Policy) { p.FirstID += 2 },
		"processes of its group":   func(p *sandbox.Policy) { p.CgroupsPath += "x" },
		"ids are mapped":           func(p *sandbox.Policy) { p.FirstID++ },
		"Gid of a thread is \"2":   func(p *sandbox.Policy) { p.Mapped = false },
		"/tmp is noexec or not":    func(p *sandbox.Policy) { p.ExecTmp = !p.ExecTmp },
		"Uid of a thread is \"200": func(p *sandbox.Policy) { p.Mapped = false },
	} {
		p := policy()
		change(&p)
		if err := sandbox.Verify(s.pid, p); !errors.Is(err, sandbox.ErrForbidden) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	err := sandbox.Verify(os.Getpid(), policy())
	for _, want := range []string{
		"Seccomp of a thread", "NoNewPrivs of a thread", "CapEff of a thread", "CapBnd of a thread",
		"its user namespace is the host's", "its mnt namespace is the host's",
		"its net namespace is the host's", "its pid namespace is the host's", "process 1 is \"",
		"there is a mount on \"/", "/gate is not mounted", "/ is not ro",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a process of the host is not named: %s", want)
		}
	}
}
