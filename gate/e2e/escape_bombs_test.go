package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/schemas"
)

// bomb is a program of testdata/escape/bombs and what must come of it.
type bomb struct {
	file    string
	code    int // anyCode: not told
	cause   schemas.Cause
	limits  []schemas.Cause // that the ledger must name
	stdout  []string        // that stdout must hold
	outputs []string        // that are declared
	want    []string        // of these, those that must be delivered
	seconds int             // 20 if 0
	check   func(t *testing.T, f *view.RequestStatus, r *schemas.Result)
}

const anyCode = -1000

// bombSlack is how much longer than its limit a run may be seen to last: process
// start, a throttled processor, a machine that runs other tests.
const bombSlack = time.Minute

var bombs = []bomb{
	{file: "fork.py", code: 124, cause: "time", limits: []schemas.Cause{"time", "processes"}, seconds: 2},
	{file: "threads.py", code: 5, cause: "processes", limits: []schemas.Cause{"processes"},
		stdout: []string{"can't start new thread"}},
	{file: "zombies.py", code: 3, cause: "processes", limits: []schemas.Cause{"processes"}, stdout: []string{"EAGAIN"}},
	{file: "orphans.py", code: 0, cause: "none", stdout: []string{"done"}},
	{file: "memory.py", code: 137, cause: "memory", limits: []schemas.Cause{"memory"}, stdout: []string{"hoarding"}},
	{file: "memory.js", code: anyCode, cause: "memory", limits: []schemas.Cause{"memory"}},
	{file: "memory_children.py", code: 1, cause: "memory", limits: []schemas.Cause{"memory"},
		stdout: []string{"killed:"}},
	{file: "memory_cache.py", code: 137, cause: "memory", limits: []schemas.Cause{"memory"},
		stdout: []string{"hoarding"}},
	{file: "descriptors.py", code: 0, cause: "none", stdout: []string{"EMFILE after 1"}},
	{file: "pipes.py", code: 0, cause: "none", stdout: []string{"EMFILE after"}},
	{file: "inotify.py", code: 0, cause: "none", stdout: []string{"ENOSYS after 0"}},
	{file: "inodes.py", code: 1, cause: "disk", limits: []schemas.Cause{"disk"},
		stdout: []string{"/out ENOSPC", "/tmp ENOSPC", "/dev/shm ENOSPC"}},
	{file: "disk.py", code: 1, cause: "disk", limits: []schemas.Cause{"disk"},
		stdout: []string{"/out ENOSPC", "/tmp ENOSPC", "/dev/shm ENOSPC"}},
	{file: "attributes.py", code: 0, cause: "none", stdout: []string{"ENOSPC after"}},
	{file: "timers.py", code: 0, cause: "none", stdout: []string{"EAGAIN after 10"}},
	{file: "locks.py", code: 124, cause: "time", stdout: []string{"locking"}, seconds: 2},
	{file: "sockets.py", code: 0, cause: "none", stdout: []string{"EMFILE after"}},
	{file: "mappings.py", code: anyCode, cause: "memory", limits: []schemas.Cause{"memory"},
		stdout: []string{"mapping"}},
	{file: "renames.py", code: 0, // whether its file is there at the end is chance
		outputs: []string{"a/b/file"}, stdout: []string{"renamed"}, check: honest},
	{file: "sparse.py", code: 0, cause: "none", stdout: []string{"EFBIG", "sparse 1048576"}},
	{file: "signals.py", code: 0, cause: "none", stdout: []string{"denied 100000", "survived"}},
	{file: "daemon.py", code: 0, cause: "missing-output", stdout: []string{"main ends"},
		outputs: []string{"began", "late"}, want: []string{"began"}},
	{file: "holder.py", code: 9, cause: "exit", check: quick},
	{file: "stopped.py", code: 124, cause: "time", stdout: []string{"stopping"}, seconds: 2},
	{file: "stubborn.py", code: 124, cause: "time", stdout: []string{"ready"}, seconds: 2},
	{file: "spin.py", code: 124, cause: "time", seconds: 4},
	{file: "spin.js", code: 124, cause: "time", seconds: 2},
	{file: "flood.py", code: 124, cause: "time", limits: []schemas.Cause{"output", "time"}, seconds: 2},
	{file: "terminal.py", code: 0, cause: "none", check: harmless},
	{file: "markup.py", code: 0, cause: "none", check: inert},
	{file: "swap.py", code: 0, // whether its files are there at the end is chance
		outputs: []string{"result.txt", "dir/a"}, check: honest},
	{file: "links.py", code: 0, cause: "missing-output",
		outputs: []string{"plain.txt", "passwd", "job", "self", "root", "host", "fifo"}, want: []string{"plain.txt"},
		check: honest},
	{file: "deep.py", code: 0, cause: "none", stdout: []string{"made"}},
	{file: "abort.py", code: 134, cause: "signal"},
	{file: "forged.py", code: 124, cause: "exit"},
	{file: "suicide.py", code: 137, cause: "signal"},
}

// TestEscapeBombs sends programs through the gate that use up what there is, or
// try to outlive their run. Each must be bounded, its cause named, the gate
// unharmed, and nothing left on the host.
func TestEscapeBombs(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) { throwBombs(t, newNode(t, escapeConfig, mode.config), mode.slots) })
	}
}

func throwBombs(t *testing.T, n *node, slots bool) {
	host := takeInventory(t, n)
	id := func(i int) string { return fmt.Sprintf("TR-20260209-32%04dZ-bomb", i) }
	for i, b := range bombs {
		r := era(id(i), hostileFile(t, "bombs/"+b.file))
		if filepath.Ext(b.file) == ".js" {
			r = javascript(id(i), hostileFile(t, "bombs/"+b.file))
		}
		r.timeSec, r.outputs, r.cpu = or(b.seconds, 20), b.outputs, "0.5"
		n.send(r)
	}
	var table strings.Builder
	for i, b := range bombs {
		t.Run(b.file, func(t *testing.T) {
			f := n.await(id(i))
			r := readResultOf(t, f)
			e := endOf(t, n, f)
			var hit []string
			for _, e := range n.events() {
				if e.Type == ledger.CapBreached && e.RunID == f.Job {
					hit = append(hit, string(e.Cause))
				}
			}
			fmt.Fprintf(&table, "%-20s exit %4d  cause %-8s limits %-22s wall %6.2fs cpu %6.2fs peak %4d MiB\n", b.file,
				r.ExitCode, f.Cause,
				strings.Join(hit, ","), float64(e.WallMS)/1e3, float64(e.CPUMS)/1e3, e.PeakBytes>>20)
			if b.code != anyCode && r.ExitCode != b.code || b.cause != "" && f.Cause != b.cause {
				t.Errorf("exit code %d, cause %s, want %d, %s\n%s%s", r.ExitCode, f.Cause, b.code, b.cause,
					r.Stdout.Text, r.Stderr.Text)
			}
			for _, c := range b.limits {
				if !slices.Contains(hit, string(c)) {
					t.Errorf("the ledger does not say that limit %s was hit: %v", c, hit)
				}
			}
			contains(t, "stdout", r.Stdout.Text, b.stdout)
			for _, name := range b.want {
				if !slices.ContainsFunc(r.Artifacts, func(a schemas.Artifact) bool { return a.Path == name }) {
					t.Errorf("%s was not delivered: %v", name, r.Artifacts)
				}
			}
			wall, limit := time.Duration(e.WallMS)*time.Millisecond, time.Duration(or(b.seconds, 20))*time.Second
			if wall > limit+bombSlack {
				t.Errorf("it lasted %s, its limit was %s", wall, limit)
			}
			// Half a processor, whatever it does; the start has a period of its own.
			if most := e.WallMS/2 + e.WallMS/10 + 300; e.CPUMS > most {
				t.Errorf("it used %d ms of cpu in %d ms with half a processor", e.CPUMS, e.WallMS)
			}
			if b.check != nil {
				b.check(t, f, r)
			}
		})
	}
	t.Logf("what came of %d bombs:\n%s", len(bombs), table.String())
	// Slots are used up faster than they are made: some runs start cold all the same.
	if taken := len(n.slots.taken(n.slots.look())); slots && taken < len(bombs)/3 || !slots && taken != 0 {
		t.Errorf("%d of %d runs took a slot", taken, len(bombs))
	}
	unharmed(t, n)
	n.check()
	host.compare(t, n)
	nothingAfterwards(t, n)
}

// endOf is the event that says how the run ended.
func endOf(t *testing.T, n *node, f *view.RequestStatus) ledger.Event {
	t.Helper()
	for _, e := range n.events() {
		if e.RunID == f.Job && (e.Type == ledger.RunCompleted || e.Type == ledger.RunFailed) {
			return e
		}
	}
	t.Fatal("the ledger does not say how it ended")
	return ledger.Event{}
}

// quick: what still ran did not keep the run from ending before its limit.
func quick(t *testing.T, _ *view.RequestStatus, r *schemas.Result) {
	if r.RuntimeSec > 15 {
		t.Errorf("it lasted %.1f s", r.RuntimeSec)
	}
}

// harmless: neither a terminal nor a Markdown reader is addressed.
func harmless(t *testing.T, f *view.RequestStatus, r *schemas.Result) {
	doc := read(t, f.ResultPath)
	for _, bad := range []string{"\x1b", "\x9b", "\x07", "\x08", "\x00", "\u202e", "\u200b"} {
		if strings.Contains(doc, bad) {
			t.Errorf("the result holds %q", bad)
		}
	}
	if r.ExitCode != 0 || r.Summary.WhatRan == "nothing" {
		t.Errorf("the program has written the result itself: %+v", r.Summary)
	}
}

// inert: markers stand where a viewer would have run or fetched something.
func inert(t *testing.T, _ *view.RequestStatus, r *schemas.Result) {
	if len(r.Stdout.Withheld) == 0 {
		t.Error("nothing is withheld")
	}
	for _, bad := range []string{"<script>", "javascript:", "data:text", "curl"} {
		if strings.Contains(r.Stdout.Text, bad) {
			t.Errorf("the result holds %q: %s", bad, r.Stdout.Text)
		}
	}
}

// honest: no artifact shows a file of the host or of the image.
func honest(t *testing.T, f *view.RequestStatus, r *schemas.Result) {
	for _, a := range r.Artifacts {
		if a.Path == r.ResultID+schemas.SpansSuffix { // the gate's own
			continue
		}
		text := read(t, filepath.Join(strings.TrimSuffix(f.ResultPath, ".md")+".artifacts", a.Path))
		if strings.Contains(text, "root:") || strings.Contains(text, "argv") || len(text) > 100 {
			t.Errorf("artifact %s holds what the program could not write: %.100q", a.Path, text)
		}
	}
}
