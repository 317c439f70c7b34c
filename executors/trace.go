package executors

import "time"

// Trace receives how long one step of a job took, as soon as it has ended. It is
// called by several goroutines. A nil Trace costs nothing.
type Trace func(job, step string, began time.Time, took time.Duration)

func noStep() {}

// Step begins a step; calling what it returns ends it.
func (t Trace) Step(job, step string) (end func()) {
	if t == nil {
		return noStep
	}
	began := time.Now()
	return func() { t(job, step, began, time.Since(began)) }
}
