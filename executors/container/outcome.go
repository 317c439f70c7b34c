package container

import (
	"cmp"
	"fmt"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/executors/monty"
	"github.com/threegate/tool-exec/schemas"
)

// exitUnknown is the exit code of a run whose own is not known.
const exitUnknown = -1

// evidence is all that is known of a task that has ended.
type evidence struct {
	task    executors.Task
	ended   time.Time // when that was seen
	exit    *job.Exit // what init says, if it could
	started *job.Started
	told    *startRecord // that the host had told it to start
	end     *endRecord   // that the host ended it, and why
	failure string       // init's reason for not doing its work
	usage   cgroup.Usage

	outFull, tmpFull bool
}

// judge says how the task ended. It is a pure function.
func judge(ev evidence) executors.Outcome {
	out := executors.Outcome{PeakMemoryBytes: ev.usage.MemoryPeak, CPU: ev.usage.CPU}
	if ev.exit != nil {
		judgeExit(ev, &out)
	} else {
		judgeWithoutExit(ev, &out)
	}
	if ev.exit == nil || ev.exit.StartErrno == 0 {
		out.LimitsHit = limitsHit(ev, out.Cause)
	}
	return out
}

// judgeExit is the ordinary case: init saw the end and wrote it down.
func judgeExit(ev evidence, out *executors.Outcome) {
	r := ev.exit
	out.ExitCode, out.Cause = r.ExitCode, schemas.CauseNone
	out.StartedAt, out.FinishedAt, out.Wall = r.StartedAt, r.FinishedAt, r.Wall
	out.CPU = r.CPU
	out.PeakMemoryBytes = cmp.Or(out.PeakMemoryBytes, r.MaxRSS)
	failed := r.ExitCode != 0
	switch {
	case r.StartErrno != 0:
		out.Cause, out.Detail = schemas.CauseStart, startDetail(ev.task, r.StartErrno)
	case r.TimedOut, r.Stopped && ev.end != nil && ev.end.Deadline:
		out.Cause, out.ExitCode = schemas.CauseTime, job.ExitTime
		out.Detail = fmt.Sprintf("ended after its limit of %v", ev.task.Limits.Time)
	case r.Stopped:
		out.Cause, out.ExitCode, out.Detail = schemas.CauseInterrupted, exitUnknown, "ended by the node"
	case failed && ev.usage.OOMKills > 0:
		out.Cause = schemas.CauseMemory
		out.Detail = fmt.Sprintf("the kernel ended %s at the limit of %d MiB",
			plural(ev.usage.OOMKills, "process", "processes"), ev.task.Limits.MemoryBytes>>20)
	case usedUpCPU(ev):
		out.Cause = schemas.CauseCPU
		out.Detail = fmt.Sprintf("a process used up its %v of cpu time", cpuTime(ev.task.Limits).Round(time.Second))
	case syscall.Signal(r.Signal) == unix.SIGXFSZ:
		out.Cause, out.Detail = schemas.CauseDisk, "a file grew beyond what /out and /tmp can hold"
	case r.Signal != 0:
		out.Cause, out.Detail = schemas.CauseSignal, "ended by signal "+unix.SignalName(syscall.Signal(r.Signal))
	case failed && ev.usage.PidsMax > 0:
		out.Cause = schemas.CauseProcesses
		out.Detail = fmt.Sprintf("it was refused more than its %d processes and threads, and failed",
			ev.task.Limits.Pids)
	case failed && (ev.outFull || ev.tmpFull):
		out.Cause, out.Detail = schemas.CauseDisk, "it filled "+fullNames(ev)+" and failed"
	case failed && ev.task.Backend == schemas.BackendMonty:
		out.Cause, out.Detail = montyCause(r.ExitCode), montyDetail(r.ExitCode)
	}
}

// usedUpCPU: the kernel ended the program at its limit of cpu time, by the signal
// that tells so or, had that been ignored, for good. A program can send itself the
// signal, but it can't make up the time.
func usedUpCPU(ev evidence) bool {
	limit := cpuTime(ev.task.Limits)
	used := max(ev.exit.CPU, ev.usage.CPU)
	used += used / cpuInexact
	switch syscall.Signal(ev.exit.Signal) {
	case unix.SIGXCPU:
		return used >= limit
	case unix.SIGKILL:
		return used >= limit+job.CPUHardLater*time.Second
	}
	return false
}

// initUsedUpCPU reports whether init can have died of the limit of processor time,
// which it shares: it reads what the program prints.
func initUsedUpCPU(ev evidence) bool {
	return ev.task.Limits.CPUTime > 0 && ev.usage.CPU+ev.usage.CPU/cpuInexact >= cpuTime(ev.task.Limits)
}

// cpuInexact: what is counted and what the limit is held against differ by up to
// a fifth on a busy host.
const cpuInexact = 5

// judgeWithoutExit: init itself did not live to write one.
func judgeWithoutExit(ev evidence, out *executors.Outcome) {
	out.ExitCode, out.Cause = exitUnknown, schemas.CauseInterrupted
	switch {
	case ev.started != nil:
		out.StartedAt = ev.started.At
	case ev.told != nil:
		out.StartedAt = ev.told.At
	}
	out.FinishedAt = ev.ended.UTC()
	if !out.StartedAt.IsZero() {
		out.Wall = max(out.FinishedAt.Sub(out.StartedAt), 0)
	}
	switch {
	case ev.end != nil && ev.end.Deadline:
		out.Cause, out.ExitCode = schemas.CauseTime, job.ExitTime
		out.Detail = fmt.Sprintf("ended after its limit of %v", ev.task.Limits.Time)
	case ev.end != nil:
		out.Detail = "ended by the node"
	case ev.usage.OOMKills > 0:
		out.Cause, out.ExitCode = schemas.CauseMemory, job.ExitSignalBase+int(unix.SIGKILL)
		out.Detail = fmt.Sprintf("the kernel ended the sandbox at the limit of %d MiB", ev.task.Limits.MemoryBytes>>20)
	case initUsedUpCPU(ev):
		out.Cause, out.ExitCode = schemas.CauseCPU, job.ExitSignalBase+int(unix.SIGKILL)
		out.Detail = fmt.Sprintf("reading its output took the %v of cpu time that each process has",
			cpuTime(ev.task.Limits).Round(time.Second))
	case ev.failure != "":
		out.Detail = "threegate-init could not do its work: " + ev.failure
	default:
		out.Detail = "the sandbox was killed from outside; how the program ended is not known"
	}
}

// limitsHit names every limit that was touched, in the order of schemas.Causes.
func limitsHit(ev evidence, cause schemas.Cause) []schemas.Cause {
	hit := map[schemas.Cause]bool{
		schemas.CauseMemory:    ev.usage.OOMKills > 0,
		schemas.CauseProcesses: ev.usage.PidsMax > 0,
		schemas.CauseDisk:      ev.outFull || ev.tmpFull,
	}
	if r := ev.exit; r != nil {
		hit[schemas.CauseOutput] = r.Stdout.Total > r.Stdout.Kept || r.Stderr.Total > r.Stderr.Kept
	}
	if cause.Limit() {
		hit[cause] = true
	}
	var names []schemas.Cause
	for _, c := range schemas.Causes {
		if hit[c] {
			names = append(names, c)
		}
	}
	return slices.Clip(names)
}

// startDetail says in our words why a program could not be executed.
func startDetail(t executors.Task, errno syscall.Errno) string {
	what := "the program"
	if t.Backend == schemas.BackendMonty {
		what = "the interpreter's driver"
	}
	switch errno {
	case unix.ENOENT, unix.ENOTDIR:
		return what + " was not found in the image"
	case unix.EACCES, unix.EPERM:
		return what + " is not executable"
	case unix.ENOEXEC:
		return what + " is in no format that can be executed"
	case unix.E2BIG:
		return "the arguments are too long"
	case unix.EAGAIN, unix.ENOMEM:
		return what + " could not be started within its limits"
	default:
		return what + " could not be started: " + errno.Error()
	}
}

func fullNames(ev evidence) string {
	switch {
	case ev.outFull && ev.tmpFull:
		return "/out and /tmp"
	case ev.outFull:
		return "/out"
	default:
		return "/tmp"
	}
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// montyCause says why a payload ended that exited with code. It is for payloads that
// no limit of the sandbox ended: a cause that the sandbox knows goes first.
func montyCause(code int) schemas.Cause {
	switch code {
	case monty.ExitTime:
		return schemas.CauseTime
	case monty.ExitMemory:
		return schemas.CauseMemory
	case monty.ExitNotExecutable, monty.ExitNotFound:
		return schemas.CauseStart
	}
	return schemas.CauseNone
}

// montyDetail is one line for people about an exit code of the payload's, or empty
// when the code says nothing of its own.
func montyDetail(code int) string {
	switch code {
	case monty.ExitException:
		return "an exception ended the code"
	case monty.ExitValue:
		return "the code ran to its end, but the value of its last expression can't be delivered"
	case monty.ExitJob:
		return "the job was refused before anything ran"
	case monty.ExitTools:
		return "the tools could not be made, or not go on"
	case monty.ExitInterpreter:
		return "the interpreter died or broke its protocol"
	case monty.ExitOutput:
		return "the output could not be written"
	case monty.ExitTime:
		return "the interpreter's time limit"
	case monty.ExitMemory:
		return "the interpreter's memory limit"
	case monty.ExitNotExecutable, monty.ExitNotFound:
		return "the interpreter could not be started"
	}
	return ""
}
