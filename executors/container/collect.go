package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/outtree"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/toolruntime/contract"
)

// Names below a Collect destination.
const (
	collectedStdout   = "stdout"
	collectedStderr   = "stderr"
	collectedOut      = "out"
	collectedTimeline = "timeline.jsonl"
)

// Collect copies what the task left behind into dst. The task must have ended, so that nothing changes while it is
// copied.
func (e *Executor) Collect(ctx context.Context, id, dst string) (executors.Collected, error) {
	var c executors.Collected
	b, err := e.runDirOf(id)
	if err != nil {
		return c, err
	}
	if !b.has(outcomeFile) { // which says that it has ended
		state, err := e.State(ctx, id)
		switch {
		case err != nil:
			return c, err
		case state == executors.StateAbsent, state == executors.StateUnstarted:
			return c, fmt.Errorf("collect %s: %w", id, ErrNoTask)
		case state != executors.StateExited:
			return c, fmt.Errorf("collect %s: it has not ended but is %s", id, state)
		}
	}
	var rec record
	if err := b.read(taskFile, &rec); err != nil {
		return c, fmt.Errorf("collect %s: %w", id, err)
	}
	l := rec.Task.Limits
	if c.Stdout, err = outtree.CopyStream(b.path(gateDir, job.StdoutFile), filepath.Join(dst, collectedStdout),
		l.StdoutBytes); err != nil {
		return c, fmt.Errorf("collect %s: %w", id, err)
	}
	if c.Stderr, err = outtree.CopyStream(b.path(gateDir, job.StderrFile), filepath.Join(dst, collectedStderr),
		l.StderrBytes); err != nil {
		return c, fmt.Errorf("collect %s: %w", id, err)
	}
	var exit job.Exit
	there, err := b.readIf(filepath.Join(gateDir, job.ExitFile), &exit)
	if err != nil {
		return c, fmt.Errorf("collect %s: %w", id, err)
	}
	if there { // only init knows how much was dropped
		c.Stdout.Total, c.Stderr.Total = max(exit.Stdout.Total, c.Stdout.Kept), max(exit.Stderr.Total, c.Stderr.Kept)
	}
	if rec.Tools {
		if c.Timeline, err = collectTimeline(b, dst, exit.Timeline.Total); err != nil {
			return c, fmt.Errorf("collect %s: %w", id, err)
		}
	}
	tree, err := outtree.Copy(b.path(outDir), filepath.Join(dst, collectedOut),
		outtree.Bounds{Bytes: l.OutBytes, Files: l.OutFiles})
	if err != nil {
		return c, fmt.Errorf("collect %s: %w", id, err)
	}
	c.Files, c.Refused = tree.Files, tree.Refused
	return c, nil
}

// collectTimeline copies the whole lines of a timeline, and says what they tell. total is how much was
// written, if init could count it.
func collectTimeline(b runDir, dst string, total int64) (*schemas.ToolCalls, error) {
	data, err := b.readText(filepath.Join(gateDir, job.TimelineFile), contract.MaxTimeline)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // it never came so far
		return nil, err
	}
	calls := &schemas.ToolCalls{}
	whole := bytes.LastIndexByte(data, '\n') + 1
	if total > int64(whole) || whole < len(data) {
		data, calls.Fault = data[:whole], schemas.TimelineCut
	}
	entries, err := contract.ParseTimeline(data)
	if err != nil {
		calls.Fault = schemas.TimelineMalformed
	}
	calls.SHA256, calls.Calls, calls.Codes = schemas.SHA256(data), len(entries), contract.CountCodes(entries)
	return calls, os.WriteFile(filepath.Join(dst, collectedTimeline), data, 0o640)
}

// StreamPaths are the files that hold what a task wrote so far, while it runs and until its
// sandbox is removed. Only threegate-init writes them; their bytes are hostile.
func StreamPaths(runDir, id string) (stdout, stderr string) {
	dir := filepath.Join(runDir, runDirsDir, id, gateDir)
	return filepath.Join(dir, job.StdoutFile), filepath.Join(dir, job.StderrFile)
}
