// Command threegate-init is process 1 of every sandbox: it starts the payload
// as an unprivileged user, bounds its output and its time, and leaves the
// result in files that outlive both itself and the gate. See executors/job.
//
// `threegate-init monty` is the payload of a Monty run, `threegate-init posture`
// that of a self-test, `threegate-init work` what a run with a working folder
// begins with; none of them is process 1. `threegate-init trial` is what the
// node starts in a user namespace to see whether the host gives it one.

// How many processors its group may use need not be found out: GOMAXPROCS is set.
//
//go:debug containermaxprocs=0
package main

import (
	"os"

	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/monty/driver"
	"github.com/threegate/tool-exec/executors/posture"
	"github.com/threegate/tool-exec/executors/workdir"
)

func main() {
	mode := ""
	if len(os.Args) >= 2 {
		mode = os.Args[1]
	}
	switch mode {
	case job.MontyMode:
		os.Exit(driver.Main())
	case job.PostureMode:
		os.Exit(posture.Main(os.Args[2:]))
	case job.WorkMode:
		os.Exit(workdir.Main(os.Args[2:]))
	case job.TrialMode:
		os.Exit(trial())
	}
	os.Exit(supervise(sandboxed))
}
