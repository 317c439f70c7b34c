package monty

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
