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
