// Command threegate-payload is what the node itself runs inside of a sandbox. threegate-init starts it like any other
// payload: as the unprivileged user, within the limits of the run. It guards nothing: the sandbox does.
//
// `threegate-payload monty` runs the code of a Monty request, `threegate-payload posture` the attacks of the self-test,
// and `threegate-payload work` is what a run with a working folder begins with.

// A sandbox shows no control group in which to find out how many processors it may use.
//
//go:debug containermaxprocs=0
package main

import (
	"fmt"
	"os"

	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/monty"
	"github.com/threegate/tool-exec/executors/posture"
)

func main() {
	mode, args := "", []string(nil)
	if len(os.Args) >= 2 {
		mode, args = os.Args[1], os.Args[2:]
	}
	switch mode {
	case job.MontyMode:
		os.Exit(monty.Main())
	case job.PostureMode:
		os.Exit(posture.Main(args))
	case job.WorkMode:
		os.Exit(work(args))
	}
	fmt.Fprintln(os.Stderr, "threegate-payload runs in sandboxes only, and is told what to do: "+
		job.MontyMode+", "+job.PostureMode+" or "+job.WorkMode)
	os.Exit(job.ExitNotExec)
}
