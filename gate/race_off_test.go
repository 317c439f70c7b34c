//go:build !race

package gate_test

// shortShare is which share of all faults the short form injects: one in so many.
const shortShare = 13

// clockStride is at how many steps from each other TestClockJumps kills.
const clockStride = 17
