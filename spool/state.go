package spool

import "slices"

// State is where a job stands. It is persisted: as the folder that the job lies
// in, and in what the node prints for programs.
type State string

// The states of a job in progress are folders below NODE/spool.
const (
	StateClaimed  State = "claimed"  // the node's own; no verdict yet
	StateAdmitted State = "admitted" // accepted; nothing of it has run
	StateRunning  State = "running"  // its start is on record: it is started at most once
	StateFinished State = "finished" // its outcome is known
)

// The states of a job that has ended.
const (
	StateDelivered      State = "archive"             // its result was delivered
	StateRequestRefused State = DirQuarantineRequests // the request was refused
	StateResultRefused  State = DirQuarantineResults  // it ran; its result was refused
)

// States lists the states of a job in progress, in order.
var States = []State{StateClaimed, StateAdmitted, StateRunning, StateFinished}

// transitions are the steps that a sound job can take.
var transitions = map[State][]State{
	StateClaimed:  {StateAdmitted, StateRequestRefused},
	StateAdmitted: {StateRunning, StateRequestRefused},
	StateRunning:  {StateFinished, StateAdmitted},
	StateFinished: {StateDelivered, StateResultRefused},
	// A person released it, and it is judged again.
	StateRequestRefused: {StateClaimed},
	StateResultRefused:  {StateFinished},
}

// Step is the next state on the way from st to the state to.
func (st State) Step(to State) State {
	if slices.Contains(transitions[st], to) || len(transitions[st]) == 0 {
		return to
	}
	return transitions[st][0]
}

// MayBecome reports whether a sound job in st can go to the state to.
func (st State) MayBecome(to State) bool { return slices.Contains(transitions[st], to) }

// Ended reports whether a job in st has come to its end, unless a person releases it.
func (st State) Ended() bool {
	return st == StateDelivered || st == StateRequestRefused || st == StateResultRefused
}
