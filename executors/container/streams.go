package container

import (
	"path/filepath"

	"github.com/threegate/tool-exec/executors/job"
)

// StreamPaths are the files that hold what a task wrote so far, while it runs and until its
// sandbox is removed. Only threegate-init writes them; their bytes are hostile.
func StreamPaths(runDir, id string) (stdout, stderr string) {
	dir := filepath.Join(runDir, runDirsDir, id, gateDir)
	return filepath.Join(dir, job.StdoutFile), filepath.Join(dir, job.StderrFile)
}
