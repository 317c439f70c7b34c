package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// row is what was measured of one subject at one number of clients.
type row struct {
	Subject string `json:"subject"`
	Clients int    `json:"clients"`
	// Rested says that nothing else was under way at each run's beginning.
	Rested bool    `json:"rested,omitempty"`
	Runs   int     `json:"runs"`
	P50    float64 `json:"p50_ms"`
	P90    float64 `json:"p90_ms"`
	P99    float64 `json:"p99_ms"`
	Rate   float64 `json:"runs_per_s"`
	// CPU is of the whole node and its sandboxes per run; of peers it is not counted.
	CPU float64 `json:"cpu_ms,omitempty"`
	// Memory is the proportional set size of the node's processes while it works.
	Memory int64 `json:"memory_bytes,omitempty"`
	// Failed counts runs of a peer that went wrong; they are in no other figure.
	// A run of the node that goes wrong ends the measurement.
	Failed int `json:"failed,omitempty"`

	mu   sync.Mutex // holds took and Failed together while runs are under way
	took []float64
}

// report is bench.json.
type report struct {
	At   time.Time `json:"at"`
	Host string    `json:"host"`
	CPUs int       `json:"cpus"`
	Load string    `json:"load"`
	Rows []*row    `json:"rows"`
	// Idle says what a node uses that has nothing to do.
	Idle []idle `json:"idle,omitempty"`
	// Growth says what a request costs as something grows.
	Growth []growthRow `json:"growth,omitempty"`
	// Steps say where the time of one request goes, in microseconds (medians).
	Steps []stepRow `json:"steps,omitempty"`
}

type idle struct {
	Node    string  `json:"node"`
	Seconds float64 `json:"watched_s"`
	Memory  int64   `json:"memory_bytes"`
	CPU     float64 `json:"cpu_ms_per_s"`
}

// subject is one thing to measure: a request of a node, or a peer.
type subject struct {
	name string
	node *node // nil for a peer
	run  func(ctx context.Context) error
}

// bench measures everything that was asked for.
func bench(ctx context.Context, args []string) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.out, "nodes-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := newReport()
	defer func() { err = errors.Join(err, r.write(o)) }()

	if o.does(partRest) || o.does(partRate) || o.does(partIdle) {
		if err := r.rates(ctx, o, dir); err != nil {
			return err
		}
	}
	if o.does(partSteps) {
		if err := r.traced(ctx, o, dir); err != nil {
			return err
		}
	}
	if o.does(partGrowth) {
		return r.growth(ctx, o, dir)
	}
	return nil
}

// rates measures idle nodes, then everything at each number of clients.
func (r *report) rates(ctx context.Context, o options, dir string) (err error) {
	subjects, stop, err := o.start(ctx, dir)
	defer func() { err = errors.Join(err, stop()) }()
	if err != nil {
		return err
	}
	if o.does(partIdle) {
		for _, n := range nodesOf(subjects) {
			r.Idle = append(r.Idle, n.idle(o.idleFor))
		}
	}
	if o.does(partRest) {
		if err := r.rested(ctx, o, subjects); err != nil {
			return err
		}
	}
	if !o.does(partRate) {
		return nil
	}
	for _, clients := range o.clients {
		rows := map[string]*row{}
		for range o.rounds {
			for _, s := range subjects {
				x := rows[s.name]
				if x == nil {
					x = &row{Subject: s.name, Clients: clients}
					rows[s.name] = x
					r.Rows = append(r.Rows, x)
				}
				if err := s.measure(ctx, x, o.runs); err != nil {
					return fmt.Errorf("%s, %d clients: %w", s.name, clients, err)
				}
			}
		}
		for _, s := range subjects {
			rows[s.name].finish(o.rounds)
			fmt.Println(rows[s.name])
		}
	}
	return nil
}

// rested measures one run at a time, each when no node has anything to do, not even in the
// background. The subjects take turns, so that none finds the processor's caches as it left them.
func (r *report) rested(ctx context.Context, o options, subjects []subject) error {
	rows := make([]*row, len(subjects))
	for i, s := range subjects {
		rows[i] = &row{Subject: s.name, Clients: 1, Rested: true}
	}
	nodes := nodesOf(subjects)
	for range o.runs {
		for i, s := range subjects {
			for _, n := range nodes {
				n.rest(ctx)
			}
			if err := s.once(ctx, rows[i]); err != nil {
				return fmt.Errorf("%s, at rest: %w", s.name, err)
			}
		}
	}
	for _, x := range rows {
		x.finish(1)
		fmt.Println(x)
	}
	r.Rows = append(r.Rows, rows...)
	return nil
}

// start starts the nodes and the peers.
func (o options) start(ctx context.Context, dir string) (subjects []subject, stop func() error, err error) {
	var stops []func() error
	stop = func() error {
		var errs []error
		for _, f := range slices.Backward(stops) {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	requests := []struct {
		name string
		r    request
	}{{"ERA python", pythonRequest}, {"ERA javascript", javascriptRequest}, {"Monty", montyRequest}}
	for _, kind := range []struct{ name, config string }{{"warm", ""}, {"cold", coldConfig}} {
		var n *node
		for _, q := range requests {
			name := q.name + ", " + kind.name
			if !o.wanted(name) {
				continue
			}
			if n == nil {
				if n, err = startNode(ctx, o, dir, kind.name, slicesMax(o.clients), kind.config, false); err != nil {
					return nil, stop, err
				}
				stops = append(stops, n.stop)
			}
			m := n
			subjects = append(subjects, subject{name, m, func(ctx context.Context) error { _, err := m.run(ctx, q.r); return err }})
		}
	}
	nodes := nodesOf(subjects)
	if len(nodes) == 0 {
		return nil, stop, errors.New("--only leaves no node to measure")
	}
	// Roots are mounted by the first run of each language.
	for _, s := range subjects {
		for range 3 {
			if err := s.run(ctx); err != nil {
				return nil, stop, err
			}
		}
	}
	for _, l := range []struct {
		language string
		argv     []string
	}{{"python", pythonArgv}, {"javascript", javascriptArgv}} {
		if !slices.ContainsFunc(subjects, func(s subject) bool { return strings.HasPrefix(s.name, "ERA "+l.language) }) {
			continue
		}
		ps, err := peers(o, nodes[0], dir, l.language, l.argv)
		if err != nil {
			return nil, stop, err
		}
		for _, p := range ps {
			if p.close != nil {
				stops = append(stops, p.close)
			}
			subjects = append(subjects, subject{name: p.name, run: p.run})
		}
	}
	return subjects, stop, nil
}

func nodesOf(subjects []subject) []*node {
	var ns []*node
	for _, s := range subjects {
		if s.node != nil && !slices.Contains(ns, s.node) {
			ns = append(ns, s.node)
		}
	}
	return ns
}

// maxFailed is how many runs of a peer may fail before there is no sense in it.
const maxFailed = 20

// measure adds runs to a row, as many at once as it has clients.
func (s subject) measure(ctx context.Context, x *row, runs int) error {
	if s.node != nil {
		s.node.rest(ctx)
	}
	var mu sync.Mutex
	var errs []error
	left, had := runs, len(x.took)
	began := time.Now()
	var cpu time.Duration
	if s.node != nil {
		cpu = s.node.group.cpu()
	}
	var wg sync.WaitGroup
	for range x.Clients {
		wg.Go(func() {
			for {
				mu.Lock()
				if left == 0 || len(errs) > 0 {
					mu.Unlock()
					return
				}
				left--
				mu.Unlock()
				if err := s.once(ctx, x); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	x.Rate += float64(len(x.took)-had) / time.Since(began).Seconds()
	if s.node != nil {
		x.Memory = max(x.Memory, s.node.group.memory())
		s.node.rest(ctx) // what is done in the background is a cost of the runs too
		x.CPU += ms(s.node.group.cpu()-cpu) / float64(runs)
	}
	return errors.Join(errs...)
}

// once adds one run to a row. A peer's run may go wrong, a node's is an error.
func (s subject) once(ctx context.Context, x *row) error {
	at := time.Now()
	err := s.run(ctx)
	took := time.Since(at)
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case err == nil:
		x.took = append(x.took, ms(took))
		return nil
	case s.node == nil && ctx.Err() == nil && x.Failed < maxFailed:
		x.Failed++
		fmt.Fprintln(os.Stderr, "threegate-bench:", s.name+":", err)
		return nil
	default:
		return err
	}
}

// finish makes figures of what was measured in some rounds.
func (x *row) finish(rounds int) {
	slices.Sort(x.took)
	x.Runs = len(x.took)
	x.P50, x.P90, x.P99 = at(x.took, 50), at(x.took, 90), at(x.took, 99)
	x.Rate /= float64(rounds)
	x.CPU /= float64(rounds)
}

// at is a percentile of sorted values.
func at(sorted []float64, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (x *row) name() string {
	if x.Rested {
		return x.Subject + ", at rest"
	}
	return x.Subject
}

func (x *row) String() string {
	s := fmt.Sprintf("%-34s %2d at once  p50 %7.2f  p90 %7.2f  p99 %7.2f ms", x.name(), x.Clients, x.P50, x.P90, x.P99)
	if x.Rate > 0 {
		s += fmt.Sprintf("  %6.1f/s", x.Rate)
	}
	if x.CPU > 0 {
		s += fmt.Sprintf("  cpu %6.1f ms  memory %4d MiB", x.CPU, x.Memory>>20)
	}
	if x.Failed > 0 {
		s += fmt.Sprintf("  %d failed", x.Failed)
	}
	return s
}

const (
	restPoll = 50 * time.Millisecond
	restMost = 10 * time.Second
	// calmPolls in a row without work are rest: longer than a node puts off what
	// it does in the background.
	calmPolls = 6
	// quiet is cpu time per poll that counts as rest.
	quiet = 2 * time.Millisecond
)

// rest waits until the node has done what it does in the background.
func (n *node) rest(ctx context.Context) {
	calm := 0
	for end := time.Now().Add(restMost); calm < calmPolls && time.Now().Before(end) && ctx.Err() == nil; {
		before := n.own()
		time.Sleep(restPoll)
		if n.own()-before < quiet {
			calm++
		} else {
			calm = 0
		}
	}
}

func (n *node) idle(watch time.Duration) idle {
	n.rest(context.Background())
	before := n.own()
	time.Sleep(watch)
	return idle{Node: filepathBase(n.cfg.Dir), Seconds: watch.Seconds(), Memory: n.group.memory(), CPU: ms(n.own()-before) / watch.Seconds()}
}
