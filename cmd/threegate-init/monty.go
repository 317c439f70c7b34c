package main

import (
	"os"

	"github.com/threegate/tool-exec/executors/job"
)

// monty is wired to the Monty driver once that exists.
func monty() int {
	os.Stderr.WriteString("threegate-init: this build has no Monty driver\n")
	return job.ExitNotFound
}
