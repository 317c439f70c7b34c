// Command threegate-bench measures a node as its users have it: from the moment
// a request is visible in the inbox to the moment its result is visible to CORE,
// all checks and syncs included, and beside it, in the same run and on the same
// machine, other ways to run the same program. Figures of different machines or
// different runs compare badly: look at the ratios.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are what the flags say.
type options struct {
	threegate string
	images    string
	out       string
	runs      int
	rounds    int
	clients   []int
	subjects  []string
	config    string
	parts     []string
	idleFor   time.Duration
	traced    int
	growth    int
	backlogs  []int
}

// The parts of a measurement.
const (
	partRest   = "rest"   // latency of everything, beside the peers, each run when nothing else is under way
	partRate   = "rate"   // latency and rate of everything, beside the peers, one run after the other
	partSteps  = "steps"  // where the time of one request goes
	partGrowth = "growth" // what a request costs beside many, with many inputs, with large outputs
	partIdle   = "idle"   // what a node costs that has nothing to do
)

var allParts = []string{partIdle, partRest, partRate, partSteps, partGrowth}

func (o options) does(part string) bool { return slices.Contains(o.parts, part) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "threegate-bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	o := options{}
	f := flag.NewFlagSet("threegate-bench", flag.ContinueOnError)
	f.StringVar(&o.threegate, "threegate", "bin/threegate", "the `program` to measure")
	f.StringVar(&o.images, "images", "build/images", "OCI layout `folder` with the images")
	f.StringVar(&o.out, "out", "build/bench", "`folder` for bench.json and bench.svg")
	f.IntVar(&o.runs, "runs", 40, "runs of each subject in each round")
	f.IntVar(&o.rounds, "rounds", 3, "rounds; subjects take turns within each")
	clients := f.String("clients", "1,2,4,8", "how many requests are under way at once, a list")
	subjects := f.String("only", "", "subjects to measure, name beginnings with ; between them (default: all)")
	parts := f.String("parts", strings.Join(allParts, ","), "what to measure, a list")
	f.DurationVar(&o.idleFor, "idle", 10*time.Second, "how long an idle node is watched")
	f.IntVar(&o.traced, "traced", 40, "runs that the breakdown into steps is made of")
	f.IntVar(&o.growth, "growth-runs", 20, "runs for each figure of the growth tables")
	backlogs := f.String("backlogs", "1,100,1000,10000,100000", "how many requests wait, for the growth table, a list")
	f.StringVar(&o.config, "config", "", "more lines for the node's threegate.yaml, \\n between them")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.clients, err = numbers(*clients); err != nil {
		return o, fmt.Errorf("--clients: %w", err)
	}
	if o.backlogs, err = numbers(*backlogs); err != nil {
		return o, fmt.Errorf("--backlogs: %w", err)
	}
	if *subjects != "" {
		o.subjects = strings.Split(*subjects, ";")
	}
	o.parts = strings.Split(*parts, ",")
	for _, p := range o.parts {
		if !slices.Contains(allParts, p) {
			return o, fmt.Errorf("--parts: there is no part %q; there are %s", p, strings.Join(allParts, ", "))
		}
	}
	for _, p := range []*string{&o.threegate, &o.images, &o.out} {
		abs, err := filepath.Abs(*p)
		if err != nil {
			return o, err
		}
		*p = abs
	}
	if os.Getuid() != 0 {
		return o, fmt.Errorf("it makes containers: run it as root")
	}
	return o, nil
}

func numbers(list string) (ns []int, err error) {
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number above 0", s)
		}
		ns = append(ns, n)
	}
	return ns, nil
}

// wanted says whether the flags ask for a subject.
func (o options) wanted(name string) bool {
	for _, s := range o.subjects {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	return len(o.subjects) == 0
}
