package cputime

import (
	"testing"
	"time"
)

// Work counts, and waiting does not.
func TestOf(t *testing.T) {
	waited := Of(func() { time.Sleep(300 * time.Millisecond) })
	if waited > 150*time.Millisecond {
		t.Errorf("waiting took %v of processor time", waited)
	}
	worked := Of(func() {
		for end := used() + 50*time.Millisecond; used() < end; {
		}
	})
	if worked < 50*time.Millisecond {
		t.Errorf("work took %v of processor time", worked)
	}
}

// What is within a limit is, and what takes far more is not, on a slow processor either.
func TestWithin(t *testing.T) {
	work := func() { yardstick.FindAllStringIndex(yardstickText, -1) }
	if took, ok := Within(2*yardstickTime, work); !ok {
		t.Errorf("half of a limit took %v, and too long", took)
	}
	if took, ok := Within(yardstickTime/4, work); ok {
		t.Errorf("four times a limit took %v, and no longer than it", took)
	}
}
