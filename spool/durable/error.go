package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrUncertain is the error of a step that failed although it may have happened: what is
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

// verbs are what an operator reads of a step; its name is for tests.
var verbs = map[Op]string{
	OpMkdir: "make the folder", OpCreate: "make the file", OpWrite: "write", OpSync: "make durable", OpClose: "write",
	OpRename: "rename", OpRemove: "remove", OpSyncDir: "make the folder durable", OpOpen: "open",
}

// Error says what could not be done, with which path and why.
func (e *StepError) Error() string {
	verb, ok := verbs[e.Step.Op]
	if !ok {
		verb = "change"
	}
	what := fmt.Sprintf("can't %s %q", verb, e.Step.Path)
	if e.Step.To != "" {
		what += fmt.Sprintf(" to %q", e.Step.To)
	}
	if e.Uncertain {
		return fmt.Sprintf("%s: %v (it may have happened)", what, bare(e.Err))
	}
	return fmt.Sprintf("%s: %v", what, bare(e.Err))
}

// bare leaves of an error of package os the reason alone.
func bare(err error) error {
	switch x := err.(type) {
	case *fs.PathError:
		return x.Err
	case *os.LinkError:
		return x.Err
	case *os.SyscallError:
		return x.Err
	}
	return err
}

// Unwrap gives the reason, and ErrUncertain if the step may have happened.
func (e *StepError) Unwrap() []error {
	if e.Uncertain {
		return []error{e.Err, ErrUncertain}
	}
	return []error{e.Err}
}

// Uncertain wraps the error of a step that followed a change already made.
func Uncertain(err error) error {
	if err == nil || errors.Is(err, ErrUncertain) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUncertain, err)
}
