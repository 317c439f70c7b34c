package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/job"
)

// unstarted says whether it is certain that no instruction of the task ran or ever
// will, and why: the host has not told it to start, or init left word that it gave
// up, and not that it was about to start the payload. Both are written before
// what they announce, on a tmpfs that is gone as a whole or not at all. A task
// that anything else is known of, or of which this can't be read, counts as started.
func (b box) unstarted() (why string, certain bool) {
	for _, name := range []string{outcomeFile, endFile, filepath.Join(gateDir, job.StartedFile), filepath.Join(gateDir, job.ResultFile)} {
		if !b.lacks(name) {
			return "", false
		}
	}
	switch {
	case !b.has(taskFile): // a box in the making, or half removed
		return "", false
	case b.lacks(startFile):
		return "its sandbox ended before it was told to start", true
	case b.has(filepath.Join(gateDir, job.FailureFile)):
		return "threegate-init could not do its work: " + b.failure(), true
	}
	return "", false
}

// notStarted is an error that matches executors.ErrNotStarted if that is certain.
func (b box) notStarted() error {
	if why, certain := b.unstarted(); certain {
		return executors.WithMend(fmt.Errorf("%w: %s", executors.ErrNotStarted, why),
			"threegate doctor and threegate posture say whether this host can isolate; the request is tried again by itself")
	}
	return nil
}

// lacks says whether the file is certainly not there.
func (b box) lacks(name string) bool {
	var st unix.Stat_t
	return errors.Is(unix.Lstat(b.path(name), &st), os.ErrNotExist)
}
