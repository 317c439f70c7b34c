// Package monty names the interpreter that this node runs, and what its exit codes mean. The payload
// itself is package driver, the protocol package wire, the image deploy/images/recipes/monty.
package monty

import (
	"github.com/threegate/tool-exec/executors/monty/driver"
	"github.com/threegate/tool-exec/executors/monty/wire"
	"github.com/threegate/tool-exec/schemas"
)

// The pinned interpreter.
const (
	// Version is what `monty --version` prints after "monty-runtime ".
	Version = wire.MontyVersion
	// BinaryPath is where the image has it.
	BinaryPath = "/usr/bin/monty"
)

// Cause says why a payload ended that exited with code. It is for payloads that
// no limit of the sandbox ended: a cause that the sandbox knows goes first.
func Cause(code int) schemas.Cause {
	switch code {
	case driver.ExitTime:
		return schemas.CauseTime
	case driver.ExitMemory:
		return schemas.CauseMemory
	case driver.ExitNotExecutable, driver.ExitNotFound:
		return schemas.CauseStart
	}
	return schemas.CauseNone
}

// Detail is one line for people about an exit code of the payload's, or empty
// when the code says nothing of its own.
func Detail(code int) string {
	switch code {
	case driver.ExitException:
		return "an exception ended the code"
	case driver.ExitValue:
		return "the code ran to its end, but the value of its last expression can't be delivered"
	case driver.ExitJob:
		return "the job was refused before anything ran"
	case driver.ExitTools:
		return "the tools could not be made, or not go on"
	case driver.ExitInterpreter:
		return "the interpreter died or broke its protocol"
	case driver.ExitOutput:
		return "the output could not be written"
	case driver.ExitTime:
		return "the interpreter's time limit"
	case driver.ExitMemory:
		return "the interpreter's memory limit"
	case driver.ExitNotExecutable, driver.ExitNotFound:
		return "the interpreter could not be started"
	}
	return ""
}
