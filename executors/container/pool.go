package container

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// Slots says how many sandboxes are made ahead of need.
type Slots struct {
	// MemoryBytes bounds what idle slots use together, at SlotCost each; below
	// that of one slot there are none.
	MemoryBytes int64
	// Limits are those that tasks of this node have in common. A task with others
	// starts cold. Processor, memory and time are set by the claim.
	Limits executors.Limits
	// Direct makes them without a container runtime, where that is possible.
	Direct bool
}

const (
	// SlotCost is what one idle slot is reckoned to use: its shim and its init.
	SlotCost = 24 << 20
	// demandHalf is the time after which a claim counts half.
	demandHalf = 5 * time.Minute
	// calmWait is how long the making of a slot waits for tasks that have one to be
	// done with, while there is another for the next task: it takes more cpu than
	// most of them.
	calmWait = 150 * time.Millisecond
	// makePause follows a failure to make a slot.
	makePause = 2 * time.Second
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
	calm   chan struct{} // no task has a slot any more

	mu    sync.Mutex
	kinds map[model]*kind
	off   bool
	busy  int             // tasks that have a slot
	last  time.Time       // when a slot was asked for
	told  map[string]bool // that there is no room for an image
}

// kind is what the pool has of one model.
type kind struct {
	ready  []*slot
	demand float64 // claims, each counting less as it ages
	at     time.Time
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
	making, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &pool{e: e, lock: lock, stop: stop, wake: make(chan struct{}, 1), calm: make(chan struct{}, 1), kinds: map[model]*kind{}}
	models := []model{{image: e.cfg.Monty}}
	for language, image := range e.cfg.Images {
		models = append(models, model{image, e.cfg.ExecTmp[language]})
	}
	for _, m := range models {
		if m.image != "" && e.available(m.image) == nil {
			p.kinds[m] = &kind{at: time.Now()}
		}
	}
	e.pool = p
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
	conts, err := e.client.ContainerService().List(ctx, fmt.Sprintf("labels.%q==%q,labels.%q==%q", nodeLabel, e.cfg.Node, slotLabel, "1"))
	if err != nil {
		return fmt.Errorf("list slots: %w", err)
	}
	ids, err := e.boxes()
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
	groups, err := cgroup.List(cgroup.Root, cgroupParent)
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
		if err := e.destroy(ctx, id, box(filepath.Join(e.cfg.RunDir, slotsDir, id))); err != nil {
			return fmt.Errorf("remove the slot %s of an earlier process: %w", id, err)
		}
	}
	return nil
}

// take returns a sound idle slot of a model, or nil, and counts the demand. Who
// gets one calls done when its task is done with it.
func (p *pool) take(m model) *slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kinds[m]
	if k == nil || p.off {
		return nil
	}
	k.decay()
	k.demand++
	p.last = time.Now()
	defer p.poke()
	for len(k.ready) > 0 {
		s := k.ready[0]
		k.ready[0], k.ready = nil, k.ready[1:]
		if s.sound() == nil {
			p.busy++ // before another is thought of
			return s
		}
		p.drop(s)
	}
	return nil
}

// has says whether an idle slot of a model waits.
func (p *pool) has(m model) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kinds[m]
	return k != nil && !p.off && len(k.ready) > 0
}

// use counts a task that has a slot of its own making.
func (p *pool) use() {
	p.mu.Lock()
	p.busy++
	p.mu.Unlock()
}

func (k *kind) decay() {
	now := time.Now()
	k.demand *= math.Exp2(-float64(now.Sub(k.at)) / float64(demandHalf))
	k.at = now
}

func (p *pool) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// drop destroys a slot in the background.
func (p *pool) drop(s *slot) {
	p.making.Add(1)
	go func() { defer p.making.Done(); p.discard(s) }()
}

// discard destroys a slot; if it can't now, the next start does.
func (p *pool) discard(s *slot) {
	_ = p.e.destroySlot(context.Background(), s)
}

// fill makes what is missing and destroys what is too much, one at a time.
func (p *pool) fill(ctx context.Context) {
	defer p.making.Done()
	for ctx.Err() == nil {
		m, extra := p.next()
		switch {
		case extra != nil:
			p.discard(extra)
			continue
		case m.image == "":
			select {
			case <-ctx.Done():
			case <-p.wake:
			case <-time.After(demandHalf): // demand may have gone
			}
			continue
		}
		if !p.awaitCalm(ctx, m) {
			continue // things may have changed
		}
		var s *slot
		err := p.e.mayMakeAhead(m.image)
		p.tell(m.image, err)
		if err == nil {
			s, err = p.e.makeSlot(ctx, m, p.e.cfg.Slots.Limits)
		}
		if err != nil {
			// A cold start says what is wrong, if it is wrong for that too.
			select {
			case <-ctx.Done():
			case <-time.After(makePause):
			}
			continue
		}
		p.mu.Lock()
		if k := p.kinds[m]; !p.off {
			k.ready = append(k.ready, s)
			s = nil
		}
		p.mu.Unlock()
		if s != nil {
			p.discard(s)
		}
	}
}

// tell says once of an image that there is no room to make slots of it.
func (p *pool) tell(image string, err error) {
	p.mu.Lock()
	again := p.told[image]
	if p.told == nil {
		p.told = map[string]bool{}
	}
	p.told[image] = err != nil
	p.mu.Unlock()
	if err != nil && !again && p.e.cfg.SlotFailed != nil {
		p.e.cfg.SlotFailed(err, false)
	}
}

// done says that a task has no slot any more.
func (p *pool) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	if p.busy == 0 {
		select {
		case p.calm <- struct{}{}:
		default:
		}
	}
}

// awaitCalm says whether a slot of the model may be made now. If not it waits
// until that could have changed.
func (p *pool) awaitCalm(ctx context.Context, m model) bool {
	p.mu.Lock()
	wait := calmWait - time.Since(p.last)
	now := p.busy == 0 || wait <= 0 || len(p.kinds[m].ready) == 0
	p.mu.Unlock()
	if now {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-p.calm:
	case <-timer.C:
	}
	return false
}

// next says of which model a slot is missing most, or which slot is too much.
func (p *pool) next() (most model, extra *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	want := p.wanted()
	highest := 0
	for m, k := range p.kinds {
		missing := want[m] - len(k.ready)
		if missing < 0 {
			extra, k.ready = k.ready[len(k.ready)-1], k.ready[:len(k.ready)-1]
			return model{}, extra
		}
		if missing > highest {
			most, highest = m, missing
		}
	}
	return most, nil
}

// wanted shares the memory among the models: one slot for each while there is
// room, those in demand first, the rest by demand, or evenly if there is none.
func (p *pool) wanted() map[model]int {
	total := int(p.e.cfg.Slots.MemoryBytes / SlotCost)
	models := make([]model, 0, len(p.kinds))
	sum := 0.0
	for m, k := range p.kinds {
		k.decay()
		models = append(models, m)
		sum += k.demand
	}
	slices.SortFunc(models, func(a, b model) int {
		if p.kinds[a].demand != p.kinds[b].demand {
			if p.kinds[a].demand > p.kinds[b].demand {
				return -1
			}
			return 1
		}
		if a.image != b.image {
			return strings.Compare(a.image, b.image)
		}
		if a.execTmp {
			return 1
		}
		return -1
	})
	want := map[model]int{}
	left := total
	for _, m := range models {
		if left > 0 {
			want[m]++
			left--
		}
	}
	const noise = 0.5 // half a claim is none
	for _, m := range models {
		share := 1 / float64(len(models))
		if sum > noise {
			share = p.kinds[m].demand / sum
		}
		want[m] += int(float64(left) * share)
	}
	return want
}

// close destroys the idle slots and gives the node's slots back.
func (p *pool) close() error {
	p.mu.Lock()
	p.off = true
	var idle []*slot
	for _, k := range p.kinds {
		idle = append(idle, k.ready...)
		k.ready = nil
	}
	p.mu.Unlock()
	p.stop()
	var errs []error
	for _, s := range idle {
		errs = append(errs, p.e.destroySlot(context.Background(), s))
	}
	p.making.Wait()
	return errors.Join(append(errs, p.lock.Close())...)
}
