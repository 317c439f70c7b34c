package monty

// Exit codes of the payload. They are a contract with whoever starts it.
const (
	// ExitOK: the code ran to its end.
	ExitOK = 0
	// ExitException: an exception ended the code; its traceback is on stderr.
	ExitException = 1
	// ExitValue: the code ran to its end, but its last value is of a type or
	// size that can't be delivered.
	ExitValue = 3
	// ExitJob: the job document is wrong. Nothing ran.
	ExitJob = 64
	// ExitTools: the tools could not be made, or have no room for a further call in their record.
	ExitTools = 69
	// ExitInterpreter: the interpreter broke the protocol or died.
	ExitInterpreter = 70
	// ExitOutput: stdout or the value's file could not be written.
	ExitOutput = 74
	// ExitTime: the interpreter stopped the code at its time limit.
	ExitTime = 124
	// ExitNotExecutable and ExitNotFound: the interpreter could not be started.
	ExitNotExecutable = 126
	ExitNotFound      = 127
	// ExitMemory: the interpreter stopped the code at its memory limit, its
	// allocator gave up, or it was killed.
	ExitMemory = 137
)
