package schemas

import "slices"

// Cause is why a run ended as it did, in one word. The outcome of a job, its event, its result, and every command say
// the same word. It is persisted: unknown values are errors.
type Cause string

// The causes.
const (
	CauseNone          Cause = "none"           // all went well; a result has no line for it
	CauseExit          Cause = "exit"           // the program ended with an exit code of its own other than 0
	CauseStart         Cause = "start"          // the program could not be started (not found, not executable)
	CauseSignal        Cause = "signal"         // a signal of the program's own making ended it
	CauseTime          Cause = "time"           // its wall clock time was up
	CauseCPU           Cause = "cpu"            // its cpu time was up
	CauseMemory        Cause = "memory"         // it needed more memory than it has
	CauseProcesses     Cause = "processes"      // it was refused more processes, and failed
	CauseDisk          Cause = "disk"           // /out or /tmp was full
	CauseOutput        Cause = "output"         // exit code 0, but stdout or stderr was cut
	CauseMissingOutput Cause = "missing-output" // exit code 0, but a declared output was not made
	CauseInterrupted   Cause = "interrupted"    // the node or its containers went down meanwhile
	CauseCancelled     Cause = "cancelled"      // a person cancelled the request meanwhile
)

// Causes lists every Cause.
var Causes = []Cause{CauseNone, CauseExit, CauseStart, CauseSignal, CauseTime, CauseCPU, CauseMemory, CauseProcesses,
	CauseDisk, CauseOutput, CauseMissingOutput, CauseInterrupted, CauseCancelled}

// CauseOf decides the cause of a run. ended is what the sandbox knows of its end. missing counts the declared outputs
// that it did not make; cut says that a stream went over its limit. The first of these decides: what ended the program,
// its exit code, a missing output, a cut stream. A cause other than none is returned as it is, so a second call changes
// nothing; a word of an older record becomes that of today.
func CauseOf(ended Cause, exitCode, missing int, cut bool) Cause {
	switch {
	case ended == "pids":
		return CauseProcesses
	case ended != CauseNone:
		return ended
	case exitCode != 0:
		return CauseExit
	case missing > 0:
		return CauseMissingOutput
	case cut:
		return CauseOutput
	}
	return CauseNone
}

// ByItself says whether the program ran to an end of its own, with whatever exit code.
func (c Cause) ByItself() bool {
	return slices.Contains([]Cause{CauseNone, CauseExit, CauseOutput, CauseMissingOutput}, c)
}

// Completed says whether the program ended by itself with exit code 0. What it left may be incomplete.
func (c Cause) Completed() bool { return c.ByItself() && c != CauseExit }

// Limit says whether a limit ended the program.
func (c Cause) Limit() bool {
	return slices.Contains([]Cause{CauseTime, CauseCPU, CauseMemory, CauseProcesses, CauseDisk}, c)
}
