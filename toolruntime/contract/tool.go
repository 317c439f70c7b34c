package contract

import (
	"context"
	"time"
)

// Tool is what a tool is to its host: a name, contracts, a limit of time, and the function that does it.
type Tool struct {
	Name    string
	Purpose string
	Args    *Schema
	Result  *Schema
	// Timeout bounds a call, unless its arguments may say otherwise.
	Timeout time.Duration
	// ReadOnly says that no call changes anything.
	ReadOnly bool
	// Prepare reads arguments as JSON. An error is E_VALIDATION_FAIL.
	Prepare func(raw []byte) (*Call, error)
}

// Call is a call whose arguments are known.
type Call struct {
	// Writes is the one file that the call writes. It is empty for a tool that writes no file
	// or, without ReadOnly, for one that may write anything.
	Writes  string
	Timeout time.Duration
	// Check holds the arguments to what can be said of them by themselves, before anything runs. Nil is nothing.
	Check func() error
	// Allowed holds the arguments to the registry, as far as can be said before. Nil is nothing.
	Allowed func() error
	args    any
	// Run does it. A result may come with an error.
	Run func(context.Context) (any, error)
}

// Timed is an argument of tools whose callers may say how long a call takes.
type Timed struct {
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
}

// Limit is the time that the call asks for.
func (t Timed) Limit() time.Duration { return time.Duration(t.TimeoutMS) * time.Millisecond }

// NewTool makes a tool of a function. defaults are the arguments that a caller need not give.
func NewTool[A, R any](name, purpose string, timeout time.Duration, defaults A,
	run func(context.Context, A) (R, error), adjust ...Adjust) Tool {
	t := Tool{Name: name, Purpose: purpose, Timeout: timeout,
		Args:   NewSchema(name+" arguments", &defaults, adjust...),
		Result: NewSchema[R](name+" result", nil)}
	t.Prepare = func(raw []byte) (*Call, error) {
		args := defaults
		if err := t.Args.Decode(raw, &args); err != nil {
			return nil, Errorf(Validation, "arguments of %s: %v", name, err).WithHint("it takes " + t.Args.describe())
		}
		c := &Call{Timeout: timeout, Run: func(ctx context.Context) (any, error) { return run(ctx, args) }}
		if w, ok := any(args).(interface{ Writes() string }); ok {
			c.Writes = w.Writes()
		}
		if l, ok := any(args).(interface{ Limit() time.Duration }); ok {
			c.Timeout = l.Limit()
		}
		if l, ok := any(args).(interface{ Check() error }); ok {
			c.Check = l.Check
		}
		c.args = args
		return c, nil
	}
	return t
}

// Policed lets a tool say whether the registry allows a call before it runs.
func Policed[A any](t Tool, allowed func(A) error) Tool {
	prepare := t.Prepare
	t.Prepare = func(raw []byte) (*Call, error) {
		c, err := prepare(raw)
		if err == nil {
			c.Allowed = func() error { return allowed(c.args.(A)) }
		}
		return c, err
	}
	return t
}

// Reads says of a tool that it changes nothing.
func (t Tool) Reads() Tool { t.ReadOnly = true; return t }

// WithError marks a result that a call keeps when it fails: what a command wrote until it
// failed is of use.
type WithError interface{ WithError() bool }
