// Command threegate-init is process 1 of every sandbox: it starts the payload
// as an unprivileged user, bounds its output and its time, and leaves the
// result in files that outlive both itself and the gate. See executors/job.
//
// `threegate-init monty` is the payload of a Monty run, `threegate-init posture`
// that of a self-test; neither is process 1. `threegate-init trial` is what the
// node starts in a user namespace to see whether the host gives it one, and
// `threegate-init forker` helps it to start process 1 of others.

// How many processors its group may use need not be found out: GOMAXPROCS is set.
//
//go:debug containermaxprocs=0
package main

import (
	"os"

	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/posture"
)

func main() {
	if len(os.Args) >= 2 && os.Args[1] == job.MontyMode {
		os.Exit(monty())
	}
	if len(os.Args) >= 2 && os.Args[1] == job.PostureMode {
		os.Exit(posture.Main(os.Args[2:]))
	}
	if len(os.Args) == 2 && os.Args[1] == job.TrialMode {
		os.Exit(trial())
	}
	if len(os.Args) == 2 && os.Args[1] == job.ForkerMode {
		os.Exit(forker())
	}
	if len(os.Args) == 2 && os.Args[1] == job.MadeMode {
		os.Exit(supervise(made()))
	}
	os.Exit(supervise(sandboxed))
}
