package gate_test

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

var (
	crashLong  = flag.Bool("crash.long", false, "inject every fault, and every second fault in the recovery from a kill")
	crashTable = flag.Bool("crash.table", false, "print the whole matrix of steps and faults")
)

// trial is one fault at one step of one scenario.
type trial struct {
	sc   scenario
	name string // of the step
	nth  int
	kind faultKind
	// second is the number of the step of the recovery at which it is killed again.
	second int
}

// cell is one field of the matrix.
type cell struct {
	n int
	verdict
}

// matrix collects what came of the trials.
type matrix struct {
	mu    sync.Mutex
	rows  map[string]map[faultKind]*cell
	total cell
}

func (m *matrix) note(step string, kind faultKind, faults int, v verdict) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rows[step] == nil {
		m.rows[step] = map[faultKind]*cell{}
	}
	c := m.rows[step][kind]
	if c == nil {
		c = &cell{}
		m.rows[step][kind] = c
	}
	c.n += faults
	c.add(v)
	m.total.n += faults
	m.total.add(v)
}

// print writes the matrix: a row for every step, a column for every fault, in
// each field how often it was injected.
func (m *matrix) print(w io.Writer, took time.Duration) {
	kinds := append(slices.Clone(faultKinds), thenKill, thenCut)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "step")
	for _, k := range kinds {
		fmt.Fprintf(tw, "\t%s", k)
	}
	fmt.Fprintln(tw, "\tlost\ttwice\thalf seen")
	sums := map[faultKind]int{}
	row := func(name string, count func(faultKind) int, v verdict) {
		fmt.Fprint(tw, name)
		for _, k := range kinds {
			if n := count(k); n > 0 {
				fmt.Fprintf(tw, "\t%d", n)
			} else {
				fmt.Fprint(tw, "\t-")
			}
		}
		fmt.Fprintf(tw, "\t%d\t%d\t%d\n", v.lost, v.twice, v.half)
	}
	for _, step := range slices.Sorted(maps.Keys(m.rows)) {
		cells := m.rows[step]
		var v verdict
		for k, c := range cells {
			v.add(c.verdict)
			sums[k] += c.n
		}
		row(step, func(k faultKind) int {
			if c := cells[k]; c != nil {
				return c.n
			}
			return 0
		}, v)
	}
	row("all steps", func(k faultKind) int { return sums[k] }, m.total.verdict)
	_ = tw.Flush()
	fmt.Fprintf(w, "\n%d steps, %d faults injected in %s: %d lost, %d twice, %d half seen\n",
		len(m.rows), m.total.n, took.Round(time.Second), m.total.lost, m.total.twice, m.total.half)
}

// TestCrashMatrix serves nodes with several requests at once, one of each outcome,
// and makes every single step on the way go wrong in every way. After each fault
// the node as it lies there must pass fsck, and the next gate must bring everything
// to the end that there would have been without it, with not one run more.
func TestCrashMatrix(t *testing.T) {
	begun := time.Now()
	trials := trialsOf(t)
	m := &matrix{rows: map[string]map[faultKind]*cell{}}
	work := make(chan trial)
	var wg sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for tr := range work {
				faults, v := tr.run()
				if faults > 0 || len(v.notes) > 0 {
					m.note(tr.name, tr.kind, faults, v)
				}
				for _, n := range v.notes {
					t.Errorf("%s, %s at %s, time %d, second %d: %s", tr.sc.name, tr.kind, tr.name, tr.nth, tr.second, n)
				}
			}
		})
	}
	for _, tr := range trials {
		work <- tr
	}
	close(work)
	wg.Wait()
	if *crashTable || *crashLong {
		m.print(os.Stdout, time.Since(begun))
	} else {
		t.Logf("%d steps, %d faults: %d lost, %d twice, %d half seen", len(m.rows), m.total.n, m.total.lost,
			m.total.twice, m.total.half)
	}
	// Which step comes how often is up to the goroutines: a few trials find none.
	if m.total.n < len(trials)*9/10 {
		t.Errorf("only %d faults were injected in %d trials", m.total.n, len(trials))
	}
}

// trialsOf makes the list of faults from the steps that calm runs take.
func trialsOf(t *testing.T) []trial {
	var all []trial
	for _, sc := range mixed {
		calm := &injector{}
		w := mustWorld(t, sc)
		if err := w.process(calm); err != nil {
			t.Fatalf("%s: %v", sc.name, err)
		}
		if v := w.atEnd(false); len(v.notes) > 0 {
			t.Fatalf("%s: without any fault: %v", sc.name, v.notes)
		}
		if len(calm.steps) < 200 {
			t.Fatalf("%s: only %d steps were seen", sc.name, len(calm.steps))
		}
		nth := map[string]int{}
		for at, s := range calm.steps {
			nth[s.Name]++
			for _, k := range faultKinds {
				if k.applies(s) {
					all = append(all, trial{sc: sc, name: s.Name, nth: nth[s.Name], kind: k})
				}
			}
			for n := range seconds {
				second := 1 + (at+n*secondStride)%secondSteps
				all = append(all, trial{sc: sc, name: s.Name, nth: nth[s.Name], kind: thenKill, second: second},
					trial{sc: sc, name: s.Name, nth: nth[s.Name], kind: thenCut, second: second})
			}
		}
	}
	if *crashLong {
		return all
	}
	// Every kind still comes: their number does not divide the share.
	var some []trial
	steps, kinds := map[string]bool{}, map[faultKind]bool{}
	for i, tr := range all {
		if i%shortShare == 0 {
			some = append(some, tr)
			steps[tr.name], kinds[tr.kind] = true, true
		}
	}
	for _, tr := range all {
		if shortShare <= fewestFaults && (!steps[tr.name] || !kinds[tr.kind]) {
			t.Fatalf("the share holds no %s, or no %s", tr.name, tr.kind)
		}
	}
	return some
}

// fewestFaults are injected at each step of the long form. A share of one in so many holds every step.
const fewestFaults = 13

// Of the first secondSteps steps of the recovery from each kill, this many get a
// second fault.
const (
	secondSteps  = 60
	seconds      = 2
	secondStride = 7
)

// run makes the trial and tells how many faults that took.
func (tr trial) run() (faults int, v verdict) {
	w, err := newWorld(tr.sc)
	if err != nil {
		v.note(&v.lost, "%v", err)
		return 0, v
	}
	defer w.remove()
	first := &injector{name: tr.name, nth: tr.nth, kind: tr.kind}
	switch tr.kind {
	case thenKill:
		first.kind = killAfter
	case thenCut:
		first.kind, first.loose = killAfter, &loose{dirty: map[string]int64{}}
	}
	err = w.process(first)
	if first.hit {
		faults++
	}
	if first.hit && first.kind.dies() != first.dead {
		v.note(&v.lost, "the process did not die: %v", err)
	}
	if !first.kind.dies() && err != nil {
		v.note(&v.lost, "a fault that has passed still fails: %v", err)
	}
	if tr.second > 0 {
		second := &injector{at: tr.second, kind: killBefore}
		if tr.kind == thenCut {
			second.kind, second.loose = cutPerDir, first.loose
		}
		if _ = w.process(second); second.hit {
			faults++
		}
	}
	if tr.kind.reboots() {
		if err := w.recorder(first).reboot(); err != nil {
			v.note(&v.lost, "%v", err)
		}
	}
	now, _ := w.look()
	v.add(now)
	w.agree(&v)
	v.add(w.recover(tr))
	w.agree(&v)
	return faults, v
}

// recover lets two more gates do what is left.
func (w *world) recover(tr trial) (v verdict) {
	for range 2 { // the second time there is nothing left to do
		if err := w.process(&injector{}); err != nil {
			v.note(&v.lost, "the next gate: %v", err)
		}
	}
	v.add(w.atEnd(tr.kind.reboots()))
	return v
}
