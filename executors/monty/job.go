package monty

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/threegate/tool-exec/executors/monty/wire"
)

// maxJob bounds the job document.
const maxJob = 32 << 20

// Job is what the payload reads from its stdin, as one JSON document.
type Job struct {
	// Code is the program.
	Code string `json:"code"`
	// Inputs is one JSON object, each key of which becomes a variable, or null.
	Inputs jsontext.Value `json:"inputs"`
	Limits Limits         `json:"limits"`
	// Monty is the path of the interpreter.
	Monty string `json:"monty"`
}

// Limits go to the interpreter. Both must be above zero.
type Limits struct {
	// MaxDurationSec counts interpreting only, not waiting for files.
	MaxDurationSec float64 `json:"max_duration_sec"`
	// MaxMemoryBytes is the interpreter's own count of its heap.
	MaxMemoryBytes int64 `json:"max_memory_bytes"`
}

// ReadJob reads one job and checks it. An unknown key is an error.
func ReadJob(r io.Reader) (Job, error) {
	doc, err := io.ReadAll(io.LimitReader(r, maxJob+1))
	if err != nil {
		return Job{}, err
	}
	if len(doc) > maxJob {
		return Job{}, fmt.Errorf("the document is larger than %d bytes", maxJob)
	}
	var j Job
	if err := json.Unmarshal(doc, &j, json.RejectUnknownMembers(true)); err != nil {
		return Job{}, err
	}
	switch {
	case j.Monty == "":
		return Job{}, errors.New("monty names no interpreter")
	case !(j.Limits.MaxDurationSec > 0) || j.Limits.MaxDurationSec > math.MaxInt32:
		return Job{}, fmt.Errorf("limits.max_duration_sec is %g, must be above 0", j.Limits.MaxDurationSec)
	case j.Limits.MaxMemoryBytes <= 0:
		return Job{}, fmt.Errorf("limits.max_memory_bytes is %d, must be above 0", j.Limits.MaxMemoryBytes)
	}
	return j, nil
}

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

// The pinned interpreter. Its image is deploy/images/recipes/monty.
const (
	// Version is what `monty --version` prints after "monty-runtime ".
	Version = wire.MontyVersion
	// BinaryPath is where the image has it.
	BinaryPath = "/usr/bin/monty"
)
