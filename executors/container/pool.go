package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
)

// Slots says how many sandboxes are made before a task needs them.
type Slots struct {
	// MemoryBytes bounds what idle slots use together, at SlotCost each; below
	// that of one slot there are none.
	MemoryBytes int64
	// Limits are those that tasks of this node have in common. A task with others
	// starts cold. Processor, memory and time are set by the claim.
	Limits executors.Limits
}

const (
	// SlotCost is what one idle slot is reckoned to use: its shim and its init.
	SlotCost = 24 << 20
	// refillPause is how long after a claim a slot is made, if there is one left: making
	// one takes more of the processor than most tasks do.
	refillPause = 150 * time.Millisecond
	// failurePause follows a failure to make a slot.
	failurePause = 2 * time.Second
	// slotRoom is how many bytes must be free where containerd unpacks images: requests
	// need the rest.
	slotRoom = 256 << 20

	slotsLock = "slots.lock"
	// lockTries and lockPause let another Open look for leftovers.
	lockTries = 20
	lockPause = 25 * time.Millisecond
)

// pool keeps idle slots. What it holds is bound to no request.
type pool struct {
	e    *Executor
	lock *os.File // no other process keeps or reaps slots of this node

	stop   context.CancelFunc
	making sync.WaitGroup
	wake   chan struct{}

	mu     sync.Mutex
	models []model // the last used first
	ready  map[model][]*slot
	used   time.Time // when a slot was asked for
	closed bool
}

// openPool takes the node's slots for this process, removes those that an
// earlier one left, and begins to make new ones. Without the right to slots, or
// without memory for any, there is no pool and every task starts cold.
func (e *Executor) openPool(ctx context.Context) error {
	lock, err := lockSlots(filepath.Join(e.cfg.RunDir, slotsLock))
	if lock == nil {
		return err
	}
	if err := e.reapSlots(ctx); err != nil {
		return errors.Join(err, lock.Close())
	}
	if e.cfg.Slots.MemoryBytes < SlotCost || e.cfg.OwnKernel {
		return lock.Close()
	}
	if err := checkLimits(e.cfg.Slots.Limits); err != nil {
		return errors.Join(fmt.Errorf("%w: slots: %w", ErrConfig, err), lock.Close())
	}
	p := &pool{e: e, lock: lock, wake: make(chan struct{}, 1), ready: map[model][]*slot{}}
	if p.models = e.models(); len(p.models) == 0 {
		return lock.Close()
	}
	making, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.pool, p.stop = p, stop
	p.making.Add(1)
	go p.fill(making)
	return nil
}

// lockSlots returns nil if another process has the slots.
func lockSlots(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("slots: %w", err)
	}
	for range lockTries {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return f, nil
		}
		time.Sleep(lockPause)
	}
	if cerr := f.Close(); !errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("slots: lock: %w", err), cerr)
	}
	return nil, nil
}

// reapSlots removes every slot that no task has. The lock is held: no process
// keeps them.
func (e *Executor) reapSlots(ctx context.Context) error {
	conts, err := e.client.ContainerService().List(ctx,
		fmt.Sprintf("labels.%q==%q,labels.%q==%q", nodeLabel, e.cfg.Node, slotLabel, "1"))
	if err != nil {
		return fmt.Errorf("list slots: %w", err)
	}
	ids, err := e.runDirs()
	if err != nil {
		return err
	}
	claimed := map[string]bool{}
	for _, id := range ids {
		claimed[e.containerOf(id)] = true
	}
	var left []string
	for _, c := range conts {
		left = append(left, c.ID)
	}
	entries, err := os.ReadDir(filepath.Join(e.cfg.RunDir, slotsDir))
	if err != nil {
		return fmt.Errorf("list slots: %w", err)
	}
	for _, d := range entries {
		left = append(left, d.Name())
	}
	groups, err := cgroup.List(cgroup.Root, e.cfg.Cgroup)
	if err != nil {
		return fmt.Errorf("list slots: %w", err)
	}
	for _, id := range groups {
		if strings.HasPrefix(id, e.slotPrefix()) {
			left = append(left, id)
		}
	}
	slices.Sort(left)
	for _, id := range slices.Compact(left) {
		if claimed[id] || checkID(id) != nil {
			continue
		}
		if err := e.destroy(ctx, id, runDir(filepath.Join(e.cfg.RunDir, slotsDir, id))); err != nil {
			return fmt.Errorf("remove the slot %s of an earlier process: %w", id, err)
		}
	}
	return nil
}

// take gives the oldest sound slot of a model, or nil.
func (p *pool) take(m model) *slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.models, m)
	if p.closed || i < 0 {
		return nil
	}
	p.models = append([]model{m}, slices.Delete(p.models, i, i+1)...)
	p.used = time.Now()
	defer p.poke()
	for len(p.ready[m]) > 0 {
		s := p.ready[m][0]
		p.ready[m] = p.ready[m][1:]
		if p.e.sound(s) == nil {
			return s
		}
		p.making.Add(1)
		go func() { defer p.making.Done(); p.discard(s) }()
	}
	return nil
}

func (p *pool) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// discard destroys a slot; if it can't now, the next start does.
func (p *pool) discard(s *slot) { _ = p.e.destroySlot(context.Background(), s) }

// fill makes what is missing and destroys what is too much, one at a time.
func (p *pool) fill(ctx context.Context) {
	defer p.making.Done()
	reported := ""
	for ctx.Err() == nil {
		m, extra, pause := p.next()
		if extra != nil {
			p.discard(extra)
			continue
		}
		if m.image == "" || pause > 0 {
			p.idle(ctx, pause)
			continue
		}
		err := roomFor(p.e.cfg.Containerd.Private.Root, slotRoom)
		if err == nil {
			err = p.add(m)
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != "" && text != reported && p.e.cfg.SlotFailed != nil { // a task that starts cold goes on
			p.e.cfg.SlotFailed(err)
		}
		if reported = text; err != nil {
			p.idle(ctx, failurePause)
		}
	}
}

// idle waits until a slot is asked for, or for a time.
func (p *pool) idle(ctx context.Context, pause time.Duration) {
	timer := make(<-chan time.Time)
	if pause > 0 {
		timer = time.After(pause)
	}
	select {
	case <-ctx.Done():
	case <-p.wake:
	case <-timer:
	}
}

func (p *pool) add(m model) error {
	s, err := p.e.makeSlot(context.Background(), m)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.making.Add(1)
		go func() { defer p.making.Done(); p.discard(s) }()
		return nil
	}
	p.ready[m] = append(p.ready[m], s)
	return nil
}

// next says of which model a slot is to be made, and after what time, or which slot is too much.
func (p *pool) next() (missing model, extra *slot, pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	want := share(p.models, int(p.e.cfg.Slots.MemoryBytes/SlotCost))
	for m, ready := range p.ready {
		if last := len(ready) - 1; len(ready) > want[m] {
			p.ready[m] = ready[:last]
			return model{}, ready[last], 0
		}
	}
	least := slices.MinFunc(p.models, func(a, b model) int {
		return cmp.Compare(len(p.ready[a])-want[a],
			len(p.ready[b])-want[b])
	})
	if len(p.ready[least]) >= want[least] {
		return model{}, nil, 0
	}
	if len(p.ready[least]) > 0 {
		pause = max(refillPause-time.Since(p.used), 0)
	}
	return least, nil, pause
}

// share divides slots evenly; where that does not work out, who comes first has one more.
func share(models []model, slots int) map[model]int {
	want := map[model]int{}
	for i := range slots {
		want[models[i%len(models)]]++
	}
	return want
}

// roomFor fails if fewer bytes are free in dir; what can't be told does not.
func roomFor(dir string, bytes uint64) error {
	var st unix.Statfs_t
	if dir == "" || unix.Statfs(dir, &st) != nil {
		return nil
	}
	if free := st.Bavail * uint64(st.Bsize); free < bytes {
		return fmt.Errorf("no slots are made: %d MiB are free in %q, %d MiB must be: make room on that disk",
			free>>20, dir, bytes>>20)
	}
	return nil
}

// close destroys the idle slots and gives the node's slots back.
func (p *pool) close() error {
	p.mu.Lock()
	p.closed = true
	var idle []*slot
	for _, ready := range p.ready {
		idle = append(idle, ready...)
	}
	clear(p.ready)
	p.mu.Unlock()
	p.stop()
	var errs []error
	for _, s := range idle {
		errs = append(errs, p.e.destroySlot(context.Background(), s))
	}
	p.making.Wait()
	return errors.Join(append(errs, p.lock.Close())...)
}
