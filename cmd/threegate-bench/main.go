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
	"strconv"
	"strings"
	"syscall"
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
}

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
	subjects := f.String("only", "", "subjects to measure, a list of name beginnings (default: all)")
	f.StringVar(&o.config, "config", "", "more lines for the node's threegate.yaml, \\n between them")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for _, s := range strings.Split(*clients, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return o, fmt.Errorf("--clients: %q is no number of clients", s)
		}
		o.clients = append(o.clients, n)
	}
	if *subjects != "" {
		o.subjects = strings.Split(*subjects, ",")
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

// wanted says whether the flags ask for a subject.
func (o options) wanted(name string) bool {
	for _, s := range o.subjects {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	return len(o.subjects) == 0
}
