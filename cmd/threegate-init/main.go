// Command threegate-init is process 1 of every sandbox: it starts the payload
// as an unprivileged user, bounds its output and its time, and leaves the
// result in files that outlive both itself and the gate. See executors/job.
//
// It is small, for every sandbox pays for it twice: what the node runs as a payload is
// threegate-payload. `threegate-init trial` is what the node starts in a user
// namespace to see whether the host gives it one.

// How many processors its group may use need not be found out: GOMAXPROCS is set.
//
//go:debug containermaxprocs=0
package main

import (
	"os"

	"github.com/threegate/tool-exec/executors/job"
)

func main() {
	if len(os.Args) >= 2 && os.Args[1] == job.TrialMode {
		os.Exit(trial())
	}
	os.Exit(supervise(sandboxed))
}
