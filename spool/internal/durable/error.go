package durable

import (
	"errors"
	"fmt"
)

// ErrUncertain marks a step that failed although it may have happened: what is
// on the disk is known only after the folders are read again. Errors without
// this mark mean that the step did not happen.
var ErrUncertain = errors.New("the step failed, but may have happened")

// StepError says which step failed on which path.
type StepError struct {
	Step Step
	// Uncertain says that the effect of the step may be there.
	Uncertain bool
	Err       error
}

// Error names the step, the path and the reason.
func (e *StepError) Error() string {
	note := ""
	if e.Uncertain {
		note = " (it may have happened)"
	}
	if e.Step.To != "" {
		return fmt.Sprintf("%s: %q to %q: %v%s", e.Step.Name, e.Step.Path, e.Step.To, e.Err, note)
	}
	return fmt.Sprintf("%s: %q: %v%s", e.Step.Name, e.Step.Path, e.Err, note)
}

// Unwrap gives the reason, and ErrUncertain if the step may have happened.
func (e *StepError) Unwrap() []error {
	if e.Uncertain {
		return []error{e.Err, ErrUncertain}
	}
	return []error{e.Err}
}
