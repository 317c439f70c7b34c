package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/job"
)

// slotConfig has slots whatever the tests' mode is.
func slotConfig() Config {
	c := testConfig()
	c.Slots = Slots{MemoryBytes: testSlots * SlotCost, Limits: newTask().Limits, Direct: os.Getenv(slotsVar) == slotDirect}
	return c
}

func openSlots(t *testing.T) *Executor {
	t.Helper()
	e, err := Open(t.Context(), slotConfig())
	must(t, "Open", err)
	t.Cleanup(func() { e.Close() })
	e.awaitReady(t, testSlots)
	return e
}

// awaitReady waits until there are n idle slots.
func (e *Executor) awaitReady(t testing.TB, n int) {
	t.Helper()
	if e.pool == nil {
		t.Fatal("there is no pool")
	}
	got := 0
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
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
	for _, k := range e.pool.kinds {
		all = append(all, k.ready...)
	}
	return all
}

// A task gets the oldest slot, which is destroyed after it; the next one gets
// another.
func TestSlotServesOneRun(t *testing.T) {
	e := openSlots(t)
	seen := map[string]bool{}
	for range 4 {
		e.awaitReady(t, testSlots)
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
	for _, name := range []string{taskFile, startFile, job.SpecFile, filepath.Join(gateDir, job.SpecFile), filepath.Join(gateDir, job.BeginFile), filepath.Join(gateDir, job.StdinFile), filepath.Join(gateDir, job.StartedFile)} {
		if s.box.has(name) {
			t.Errorf("an idle slot has %s", name)
		}
	}
	for _, d := range []string{inDir, outDir, filepath.Join(scratchDir, "tmp"), filepath.Join(scratchDir, "shm")} {
		if entries, err := os.ReadDir(s.box.path(d)); err != nil || len(entries) != 0 {
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
			e.awaitReady(t, testSlots)
			task := newTask("sleep", "300")
			must(t, "Prepare", e.Prepare(t.Context(), task))
			b, err := e.boxOf(task.ID)
			must(t, "box", err)
			if !b.has(filepath.Join(gateDir, job.SpecFile)) || b.has(filepath.Join(gateDir, job.BeginFile)) || b.has(filepath.Join(gateDir, job.StartedFile)) {
				t.Error("a claimed slot has no job, or may begin it")
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
				if s.box.there() {
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

func slotPid(t *testing.T, e *Executor, s *slot) int {
	t.Helper()
	if s.own != nil {
		return s.own.Pid
	}
	cont, err := e.client.LoadContainer(t.Context(), s.id)
	must(t, "container", err)
	init, err := cont.Task(t.Context(), nil)
	must(t, "task", err)
	return int(init.Pid())
}

// A slot whose init has died is no slot: the task starts all the same.
func TestDeadSlot(t *testing.T) {
	e := openSlots(t)
	dead := map[string]bool{}
	for _, s := range e.idle() {
		dead[s.id] = true
		must(t, "kill init", unix.Kill(slotPid(t, e, s), unix.SIGKILL))
		<-s.gone
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
	e.awaitReady(t, testSlots)
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
		if err := s.sound(); err != nil {
			t.Errorf("the second removed a slot of the first: %v", err)
		}
	}
	if r := run(t, second, newTask("echo", "cold")); r.stdout(t) != "cold\n" {
		t.Errorf("stdout %q", r.stdout(t))
	}
}

// Memory is shared by demand, and every image has a slot while there is room.
func TestWanted(t *testing.T) {
	p := &pool{e: &Executor{cfg: Config{Slots: Slots{MemoryBytes: 10 * SlotCost}}}, kinds: map[model]*kind{}}
	for image, demand := range map[string]float64{"a": 30, "b": 10, "c": 0} {
		p.kinds[model{image: image}] = &kind{demand: demand, at: time.Now()}
	}
	got := p.wanted()
	if got[model{image: "a"}] != 6 || got[model{image: "b"}] != 2 || got[model{image: "c"}] != 1 {
		t.Errorf("10 slots for a demand of 30:10:0 are shared as %v", got)
	}
	p.e.cfg.Slots.MemoryBytes = 2 * SlotCost
	if got = p.wanted(); got[model{image: "a"}] != 1 || got[model{image: "b"}] != 1 || got[model{image: "c"}] != 0 {
		t.Errorf("2 slots are shared as %v", got)
	}
	for _, k := range p.kinds {
		k.demand = 0
	}
	p.e.cfg.Slots.MemoryBytes = 9 * SlotCost
	if got = p.wanted(); got[model{image: "a"}] != 3 || got[model{image: "b"}] != 3 || got[model{image: "c"}] != 3 {
		t.Errorf("9 slots without any demand are shared as %v", got)
	}
}
