package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// otherBuild is added to the subjects of the other build.
	otherBuild = ", other build"
	// coldConfig turns slots off: each run makes its own container.
	coldConfig = "slots:\n  memory_mb: 0\n"
	// restTime is longer than a node works on after a result, so that a run begins at rest.
	restTime = 500 * time.Millisecond
	// warmUp runs of each subject come before the measurement: the first import images.
	warmUp = 3
	// maxFailed is how many runs of a peer may fail before there is no sense in it.
	maxFailed = 20
)

// row is what was measured of one subject at one number of clients.
type row struct {
	Subject string `json:"subject"`
	// Clients is 0 for runs at rest: nothing else was under way.
	Clients int     `json:"clients"`
	Runs    int     `json:"runs"`
	P50     float64 `json:"p50_ms"`
	P90     float64 `json:"p90_ms"`
	P99     float64 `json:"p99_ms"`
	Rate    float64 `json:"runs_per_s,omitempty"`
	// Failed counts runs of a peer that went wrong; they are in no other figure. A run of a
	// node that goes wrong ends the measurement.
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
}

// subject is one thing to measure: a request of a node, or a peer.
type subject struct {
	name string
	ours bool // a node's
	run  func(ctx context.Context) (time.Duration, error)
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
	subjects, stop, err := o.start(ctx, dir)
	defer func() { err = errors.Join(err, stop()) }()
	if err != nil {
		return err
	}
	r := newReport()
	if err := r.measure(subjects, 0, o.rest, func(s subject, x *row) error { return s.once(ctx, x) }); err != nil {
		return err
	}
	for _, clients := range o.clients {
		if err := r.measure(subjects, clients, o.rounds, func(s subject, x *row) error {
			return s.sustain(ctx, x, o.runs)
		}); err != nil {
			return err
		}
	}
	r.printRatios()
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "bench.json"), append(data, '\n'), 0o644)
}

func newReport() *report {
	r := &report{At: time.Now().UTC(), CPUs: runtime.NumCPU()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		r.Host = "Linux " + unix.ByteSliceToString(u.Release[:])
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		r.Load = strings.TrimSpace(string(load))
	}
	return r
}

// start starts the nodes and the peers, and runs each subject a few times.
func (o options) start(ctx context.Context, dir string) (subjects []subject, stop func() error, err error) {
	var stops []func() error
	stop = func() error {
		var errs []error
		for _, f := range slices.Backward(stops) {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	most := slices.Max(o.clients)
	var first *node
	for i, p := range o.programs {
		for _, kind := range []struct{ name, config string }{{"", ""}, {", cold", coldConfig}} {
			var n *node
			for _, q := range []struct {
				name    string
				request request
			}{{"python", pythonRequest}, {"monty", montyRequest}} {
				name := q.name + kind.name + p.label
				if !o.wanted(name) {
					continue
				}
				if n == nil {
					folder := filepath.Join(dir, fmt.Sprintf("node-%d%s", i, strings.TrimPrefix(kind.name, ", ")))
					if n, err = startNode(ctx, p, o.images, folder, most, kind.config); err != nil {
						return nil, stop, err
					}
					stops = append(stops, n.stop)
				}
				run := func(ctx context.Context) (time.Duration, error) { return n.run(ctx, q.request) }
				subjects = append(subjects, subject{name, true, run})
				if first == nil {
					first = n
				}
			}
		}
	}
	if first == nil {
		return nil, stop, errors.New("--only leaves no node to measure")
	}
	if err := subjects[0].warm(ctx); err != nil { // its containerd serves from now on
		return nil, stop, err
	}
	ps, err := peers(ctx, o.images, first.socket(), dir, most)
	if err != nil {
		return nil, stop, err
	}
	for _, p := range ps {
		if p.close != nil {
			stops = append(stops, p.close)
		}
		subjects = append(subjects, subject{name: p.name, run: func(ctx context.Context) (time.Duration, error) {
			began := time.Now()
			err := p.run(ctx)
			return time.Since(began), err
		}})
	}
	for _, s := range subjects[1:] {
		if err := s.warm(ctx); err != nil {
			return nil, stop, err
		}
	}
	return subjects, stop, nil
}

func (s subject) warm(ctx context.Context) error {
	for range warmUp {
		if _, err := s.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// measure has each subject take its turn in each round, after a pause, so that none finds the processor's
// caches as it left them.
func (r *report) measure(subjects []subject, clients, rounds int, turn func(subject, *row) error) error {
	rows := make([]*row, len(subjects))
	for i, s := range subjects {
		rows[i] = &row{Subject: s.name, Clients: clients}
	}
	for range rounds {
		for i, s := range subjects {
			time.Sleep(restTime)
			if err := turn(s, rows[i]); err != nil {
				return fmt.Errorf("%s, %s: %w", s.name, rows[i].when(), err)
			}
		}
	}
	r.add(rows, rounds)
	return nil
}

// sustain adds runs to a row, one after the other for each client.
func (s subject) sustain(ctx context.Context, x *row, runs int) error {
	left := make(chan struct{}, runs)
	for range runs {
		left <- struct{}{}
	}
	close(left)
	errs := make([]error, x.Clients)
	before, began := len(x.took), time.Now()
	var wg sync.WaitGroup
	for i := range x.Clients {
		wg.Go(func() {
			for range left {
				if errs[i] = s.once(ctx, x); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	x.Rate += float64(len(x.took)-before) / time.Since(began).Seconds()
	return errors.Join(errs...)
}

// once adds one run to a row. A peer's run may go wrong, a node's is an error.
func (s subject) once(ctx context.Context, x *row) error {
	took, err := s.run(ctx)
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case err == nil:
		x.took = append(x.took, float64(took.Microseconds())/1000)
		return nil
	case !s.ours && ctx.Err() == nil && x.Failed < maxFailed:
		x.Failed++
		fmt.Fprintln(os.Stderr, "threegate-bench:", s.name+":", err)
		return nil
	}
	return err
}

// add makes figures of rows that are complete, and prints them.
func (r *report) add(rows []*row, rounds int) {
	for _, x := range rows {
		slices.Sort(x.took)
		x.Runs = len(x.took)
		x.P50, x.P90, x.P99 = x.percentile(50), x.percentile(90), x.percentile(99)
		x.Rate /= float64(rounds)
		s := fmt.Sprintf("%-28s %-10s p50 %7.2f  p90 %7.2f  p99 %7.2f ms", x.Subject, x.when(), x.P50, x.P90, x.P99)
		if x.Rate > 0 {
			s += fmt.Sprintf("  %6.1f/s", x.Rate)
		}
		if x.Failed > 0 {
			s += fmt.Sprintf("  %d failed", x.Failed)
		}
		fmt.Println(s)
	}
	r.Rows = append(r.Rows, rows...)
}

func (x *row) when() string {
	if x.Clients == 0 {
		return "at rest"
	}
	return fmt.Sprintf("%d at once", x.Clients)
}

func (x *row) percentile(p int) float64 {
	if len(x.took) == 0 {
		return 0
	}
	return x.took[min(len(x.took)*p/100, len(x.took)-1)]
}

// printRatios compares the measured build with the peers and with the other build.
func (r *report) printRatios() {
	fmt.Printf("\n%-20s %-28s %-10s %8s %8s\n", "subject", "compared with", "", "p50", "rate")
	for _, a := range r.Rows {
		node := strings.HasPrefix(a.Subject, "python") || strings.HasPrefix(a.Subject, "monty")
		if !node || strings.HasSuffix(a.Subject, otherBuild) {
			continue
		}
		for _, b := range r.Rows {
			name, other := strings.CutSuffix(b.Subject, otherBuild)
			ours := strings.HasPrefix(b.Subject, "python") || strings.HasPrefix(b.Subject, "monty")
			if b.Clients != a.Clients || b.P50 == 0 || ours && !(other && name == a.Subject) {
				continue
			}
			fmt.Printf("%-20s %-28s %-10s %7.2fx", a.Subject, b.Subject, a.when(), a.P50/b.P50)
			if b.Rate > 0 {
				fmt.Printf(" %7.2fx", a.Rate/b.Rate)
			}
			fmt.Println()
		}
	}
}
