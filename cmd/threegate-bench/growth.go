package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// growthRow is what one request costs when something has a certain size.
type growthRow struct {
	What string  `json:"what"`
	Size int     `json:"size"`
	Runs int     `json:"runs"`
	P50  float64 `json:"p50_ms"` // of the backlog: time from one result to the next
	P99  float64 `json:"p99_ms"`
	CPU  float64 `json:"cpu_ms"`
	// Memory is the proportional set size of the node's processes.
	Memory int64 `json:"memory_bytes"`
}

func (g growthRow) String() string {
	return fmt.Sprintf("%-24s %8d  p50 %8.2f  p99 %8.2f ms  cpu %7.1f ms  memory %4d MiB  (%d runs)", g.What, g.Size, g.P50, g.P99, g.CPU, g.Memory>>20, g.Runs)
}

var (
	outputSizes = []int{1 << 10, 64 << 10, 1 << 20, 16 << 20}
	inputCounts = []int{0, 1, 8, 64}
)

// growth measures what a request costs beside many that wait, with large outputs
// and with many inputs.
func (r *report) growth(ctx context.Context, o options, dir string) error {
	note := func(g growthRow) {
		r.Growth = append(r.Growth, g)
		fmt.Println(g)
	}
	fmt.Println()
	n, err := startNode(ctx, o, dir, "growth", 1, "", false)
	if err != nil {
		return err
	}
	for _, size := range outputSizes {
		q := request{language: "python", command: fmt.Sprintf("python3 -c 'open(\"/out/x.txt\",\"w\").write((\"x\" * 63 + chr(10)) * %d)'", size/64), outputs: []string{"x.txt"}}
		g, err := n.grown(ctx, "bytes of output", size, o.growth, q)
		if err != nil {
			return errors.Join(err, n.stop())
		}
		note(g)
	}
	for _, count := range inputCounts {
		q := pythonRequest
		q.inputs = map[string][]byte{}
		for i := range count {
			q.inputs[fmt.Sprintf("%d.csv", i)] = []byte(fmt.Sprintf("name,value\nx,%d\n", i))
		}
		g, err := n.grown(ctx, "inputs", count, o.growth, q)
		if err != nil {
			return errors.Join(err, n.stop())
		}
		note(g)
	}
	if err := n.stop(); err != nil {
		return err
	}
	for _, waiting := range o.backlogs {
		g, err := backlog(ctx, o, dir, waiting)
		if err != nil {
			return err
		}
		note(g)
	}
	return nil
}

// grown runs a request some times, each when the node is at rest.
func (n *node) grown(ctx context.Context, what string, size, runs int, q request) (growthRow, error) {
	g := growthRow{What: what, Size: size, Runs: runs}
	if _, err := n.run(ctx, q); err != nil { // the first one mounts the image
		return g, err
	}
	var took []float64
	n.rest(ctx)
	before := n.group.cpu()
	for range runs {
		n.rest(ctx)
		s, err := n.run(ctx, q)
		if err != nil {
			return g, err
		}
		took = append(took, ms(s.took))
	}
	n.rest(ctx)
	g.CPU = ms(n.group.cpu()-before) / float64(runs)
	slices.Sort(took)
	g.P50, g.P99, g.Memory = at(took, 50), at(took, 99), n.group.memory()
	return g, nil
}

// backlogRuns is how many of the waiting requests are timed.
const backlogRuns = 200

// backlog measures a node that finds requests waiting when it starts.
func backlog(ctx context.Context, o options, dir string, waiting int) (growthRow, error) {
	g := growthRow{What: "requests waiting", Size: waiting}
	name := fmt.Sprintf("backlog-%d", waiting)
	n, err := prepareNode(ctx, o, dir, name, 2, "")
	if err != nil {
		return g, err
	}
	stamp := time.Now().UTC().Format("20060102-150405Z")
	for i := range waiting {
		id := fmt.Sprintf("TR-%s-waiting-%d", stamp, i)
		if err := os.WriteFile(filepath.Join(n.cfg.Inboxes[0].Path, id+".md"), montyRequest.document(id), 0o640); err != nil {
			return g, err
		}
	}
	n.seen = make(chan time.Time, waiting)
	if err := n.serve(o, false); err != nil {
		return g, err
	}
	var took []float64
	var last time.Time
	var cpu time.Duration
	want := min(waiting, backlogRuns)
	for range want {
		select {
		case at := <-n.seen:
			if last.IsZero() {
				cpu = n.group.cpu()
			} else {
				took = append(took, ms(at.Sub(last)))
			}
			last = at
		case <-ctx.Done():
			return g, errors.Join(ctx.Err(), n.stop())
		case <-time.After(patience):
			return g, errors.Join(fmt.Errorf("no result for %v\n%s", patience, n.log.String()), n.stop())
		}
	}
	g.Runs = want
	g.CPU, g.Memory = ms(n.group.cpu()-cpu)/float64(max(len(took), 1)), n.group.memory()
	slices.Sort(took)
	g.P50, g.P99 = at(took, 50), at(took, 99)
	if waiting <= backlogRuns {
		n.rest(ctx) // what is half made would be left behind
	}
	return g, errors.Join(n.stop(), os.RemoveAll(n.cfg.Dir))
}
