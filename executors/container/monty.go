package container

import (
	"github.com/threegate/tool-exec/executors/monty"
	"github.com/threegate/tool-exec/schemas"
)

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
