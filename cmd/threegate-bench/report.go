package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/cgroup"
)

// coldConfig turns warm slots off.
const coldConfig = "slots:\n  memory_mb: 0\n"

func filepathBase(p string) string { return filepath.Base(p) }

// own is the cpu time of the node's own processes.
func (n *node) own() time.Duration { return cgroup.Read(cgroup.Root, n.group.path).CPU }

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

// stepRow is one step of a request.
type stepRow struct {
	Subject string  `json:"subject"`
	Step    string  `json:"step"`
	Micros  float64 `json:"us"`
	// Best is the 10th percentile: what it takes when others want little of the machine.
	Best float64 `json:"best_us"`
	// Count is how often it happens per request.
	Count float64 `json:"count"`
	// Disk and Part steps are parts of others.
	Part bool `json:"part,omitempty"`
}

// traced measures where the time of one request goes that comes when the node has
// nothing else to do, not even in the background.
func (r *report) traced(ctx context.Context, o options, dir string) error {
	for _, k := range []struct {
		name, config string
		r            request
	}{{"ERA python, warm", "", pythonRequest}, {"ERA python, cold", coldConfig, pythonRequest}, {"Monty, warm", "", montyRequest}} {
		if !o.wanted(k.name) {
			continue
		}
		n, err := startNode(ctx, o, dir, "traced-"+strings.ReplaceAll(strings.ReplaceAll(k.name, " ", "-"), ",", ""), 1, k.config, true)
		if err != nil {
			return err
		}
		var samples []sample
		for i := range o.traced + 3 {
			n.rest(ctx)
			s, err := n.run(ctx, k.r)
			if err != nil {
				_ = n.stop() // the first error is the one to tell
				return err
			}
			if i >= 3 { // the first ones import images
				samples = append(samples, s)
			}
		}
		n.rest(ctx)
		if err := n.stop(); err != nil {
			return err
		}
		all, err := n.steps()
		if err != nil {
			return err
		}
		r.Steps = append(r.Steps, breakdown(k.name, samples, all)...)
	}
	return nil
}

// breakdown makes medians of a trace, from visible to visible. A step of the
// trace belongs to the request that was under way when it began.
func breakdown(subject string, samples []sample, all []step) []stepRow {
	took := map[string][]float64{}
	count := map[string]int{}
	var order []string
	add := func(name string, d int64) {
		if took[name] == nil {
			order = append(order, name)
		}
		took[name] = append(took[name], float64(d)/1000)
	}
	slices.SortStableFunc(all, func(a, b step) int { return cmp.Compare(a.Began, b.Began) })
	for _, s := range samples {
		from, to := s.visible.UnixNano(), s.visible.Add(s.took).UnixNano()
		last := from
		sums := map[string]int64{}
		var names []string
		var disk waits
		for _, x := range all {
			if x.Began < from || x.Began > to {
				continue
			}
			name := x.Step
			if strings.HasPrefix(name, "disk.") || strings.Contains(name, ": ") {
				if strings.HasPrefix(name, "disk.") {
					disk.add(name, x)
					name = "disk." + name[strings.LastIndexByte(name, '.')+1:]
				}
				count[name]++
			} else {
				if gap := x.Began - last; gap > 0 {
					sums["before "+name] += gap
					names = append(names, "before "+name)
				}
				last = max(last, min(x.Began+x.Took, to))
				count[name]++
				x.Took = min(x.Took, to-x.Began)
			}
			if _, ok := sums[name]; !ok {
				names = append(names, name)
			}
			sums[name] += x.Took
		}
		for _, name := range names {
			add(name, sums[name])
		}
		add(diskWaits, disk.took)
		count[diskWaits] += disk.count
		if rest := to - last; rest > 0 {
			add("after the last", rest)
		}
		add("TOTAL", s.took.Nanoseconds())
	}
	var rows []stepRow
	for _, name := range order {
		v := took[name]
		slices.Sort(v)
		rows = append(rows, stepRow{Subject: subject, Step: name, Micros: at(v, 50), Best: at(v, 10), Count: float64(count[name]) / float64(len(samples)),
			Part: strings.HasPrefix(name, "disk") || strings.Contains(name, ": ")})
	}
	return rows
}

// diskWaits is the row of waits.
const diskWaits = "disk: waiting for syncs"

// waits is the time in which at least one sync was under way, and how often that
// began: syncs beside each other are one wait.
type waits struct {
	end, took int64
	count     int
}

// add takes in the next step, in the order of their beginning.
func (w *waits) add(name string, s step) {
	if !strings.HasSuffix(name, ".fsync") && !strings.HasSuffix(name, ".fsyncdir") {
		return
	}
	end := s.Began + s.Took
	if s.Began >= w.end {
		w.count++
		w.took += s.Took
		w.end = end
	} else if end > w.end {
		w.took += end - w.end
		w.end = end
	}
}

// write prints ratios and steps, and leaves bench.json and bench.svg.
func (r *report) write(o options) error {
	r.printRatios()
	last := ""
	for _, s := range r.Steps {
		if s.Subject != last {
			fmt.Printf("\nwhere the time goes: %s, one at a time, microseconds (median, 10th percentile, how often)\n", s.Subject)
			last = s.Subject
		}
		indent := ""
		if s.Part {
			indent = "    "
		}
		fmt.Printf("  %-34s %9.0f %9.0f  x%.1f\n", indent+s.Step, s.Micros, s.Best, s.Count)
	}
	for _, i := range r.Idle {
		fmt.Printf("idle node (%s), watched for %.0f s: memory %d MiB, cpu %.2f ms/s\n", i.Node, i.Seconds, i.Memory>>20, i.CPU)
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.out, "bench.json"), append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "bench.svg"), r.svg(), 0o644)
}

// printRatios compares the node with each peer of the same language.
func (r *report) printRatios() {
	fmt.Printf("\n%-34s %-28s %7s  %8s %8s\n", "subject", "compared with", "clients", "p50", "rate")
	for _, a := range r.Rows {
		if !strings.HasPrefix(a.Subject, "ERA ") {
			continue
		}
		language := strings.TrimPrefix(strings.Split(a.Subject, ",")[0], "ERA ")
		for _, b := range r.Rows {
			if b.Clients != a.Clients || b.Rested != a.Rested || !strings.HasSuffix(b.Subject, ", "+language) || b.P50 == 0 {
				continue
			}
			fmt.Printf("%-34s %-28s %7d  %7.2fx", a.name(), b.name(), a.Clients, a.P50/b.P50)
			if !a.Rested {
				fmt.Printf(" %7.2fx", a.Rate/b.Rate)
			}
			fmt.Println()
		}
		if a.P50 > 0 {
			fmt.Printf("%-34s %-28s %7d  %7.2fx\n", a.name(), "p99 to its own p50", a.Clients, a.P99/a.P50)
		}
	}
}
