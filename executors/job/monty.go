package job

import "time"

// Monty is what the Monty driver reads from its standard input, as one JSON value.
type Monty struct {
	Code string `json:"code"`
	// InputsJSON is one JSON object, each key of which becomes a variable, or empty.
	InputsJSON []byte `json:"inputs_json,omitempty"`
	// Time and MemoryBytes are also given to the interpreter, which can then
	// end with an exception of its own before the sandbox ends it from outside.
	Time        time.Duration `json:"time"`
	MemoryBytes int64         `json:"memory_bytes"`
}
