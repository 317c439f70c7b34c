//go:build race

package gate_test

// shortShare is which share of all faults the short form injects: one in so many.
// The race detector makes each some ten times slower.
const shortShare = 251

// clockStride is at how many steps from each other TestClockJumps kills.
const clockStride = 85
