// Package posture attacks a sandbox from inside, and reports what was blocked. It is the payload of a node's
// self-test and of the escape suite: `threegate-payload posture`.
//
// Every technique is made to do no harm where it succeeds: files are opened and not written to, system calls are
// given arguments that change nothing. Bombs, which would use up what a sandbox has, are not among them.
package posture

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Possible is the outcome of a technique that worked.
const Possible = "POSSIBLE"

// Verdict says how an attempt compares with what is meant.
type Verdict string

// The verdicts.
const (
	// Denied: refused, and by the means that is meant to refuse it.
	Denied Verdict = "denied"
	// Otherwise: refused, but with another error than is meant. With a kernel
	// of its own (gVisor) that is ordinary; else something differs on this host.
	Otherwise Verdict = "denied-otherwise"
	// Inside: it worked, but reached no further than the sandbox's own kernel.
	Inside Verdict = "inside"
	// Waived: it worked, and the node was told to do without what refuses it.
	Waived Verdict = "waived"
	// Allowed: it worked.
	Allowed Verdict = "allowed"
)

// Finding is what came of one technique.
type Finding struct {
	Group   string  `json:"group"`
	Name    string  `json:"name"`
	What    string  `json:"what"`
	Outcome string  `json:"outcome"` // an errno's name, a word of ours, or Possible
	Want    string  `json:"want"`
	Verdict Verdict `json:"verdict"`
}

// Sandbox says what kind of sandbox the techniques are tried in.
type Sandbox struct {
	// Networked: it has an egress proxy.
	Networked bool
	// OwnKernel: its kernel is its own, not the host's.
	OwnKernel bool
	// Unmapped: it was to do without a user namespace.
	Unmapped bool
}

// insideOwnKernel are the techniques that tell and change nothing of a host whose
// kernel the sandbox does not share. A kernel of one's own shows its processes to
// each other (it knows no hidepid), and has priorities and terminals of its own.
var insideOwnKernel = []string{
	"lower-oom-score", "cmdline", "init-environ", "init-cmdline", "init-mountinfo", "init-fd", "foreign-processes",
	"dev-ptmx", "map-exec-tmp", "protect-exec-tmp", "nice", "init-priority", "init-affinity", "init-robust-list",
	"foreign-devices", "foreign-mounts", hostIDs,
}

// Run tries everything.
func Run(in Sandbox) []Finding {
	var out []Finding
	for _, t := range techniques() {
		want := t.want
		if in.Networked && t.networked != "" {
			want = t.networked
		}
		f := Finding{Group: t.group, Name: t.name, What: t.what, Want: want, Outcome: word(t.try())}
		switch {
		case f.Outcome == Possible && in.OwnKernel && slices.Contains(insideOwnKernel, t.name):
			f.Verdict = Inside
		case f.Outcome == Possible && in.Unmapped && t.name == hostIDs:
			f.Verdict = Waived
		case f.Outcome == Possible:
			f.Verdict = Allowed
		case slices.Contains(strings.Split(want, "|"), f.Outcome):
			f.Verdict = Denied
		default:
			f.Verdict = Otherwise
		}
		out = append(out, f)
	}
	return out
}

// Count is how many techniques Run tries.
func Count() int { return len(techniques()) }

// found is the outcome of techniques that look for something.
type found string

func (f found) Error() string { return string(f) }

// none is what a search is meant to end with.
const none = found("none")

// word is an error in one word.
func word(err error) string {
	var errno syscall.Errno
	var f found
	switch {
	case err == nil:
		return Possible
	case errors.As(err, &f):
		return string(f)
	case errors.As(err, &errno):
		if name := unix.ErrnoName(errno); name != "" {
			return name
		}
		return errno.Error()
	}
	return "error"
}

// Words after the mode's own.
const (
	ArgNetworked = "networked"  // Sandbox.Networked
	ArgOwnKernel = "own-kernel" // Sandbox.OwnKernel
	ArgUnmapped  = "unmapped"   // Sandbox.Unmapped
)

// Main is the payload: it writes a [Finding] a line to stdout and returns the
// exit code: 0 if nothing worked, 1 if something did, 2 on wrong usage.
func Main(args []string) int {
	var in Sandbox
	for _, a := range args {
		switch a {
		case ArgNetworked:
			in.Networked = true
		case ArgOwnKernel:
			in.OwnKernel = true
		case ArgUnmapped:
			in.Unmapped = true
		default:
			fmt.Fprintln(os.Stderr, "posture takes no arguments but "+ArgNetworked+", "+ArgOwnKernel+" and "+
				""+ArgUnmapped)
			return 2
		}
	}
	code := 0
	enc := json.NewEncoder(os.Stdout)
	for _, f := range Run(in) {
		if err := enc.Encode(f); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		if f.Verdict == Allowed {
			code = 1
		}
	}
	return code
}
