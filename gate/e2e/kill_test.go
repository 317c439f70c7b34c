package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// killsEnv says how many kills the long form makes, instead of shortKills;
// killsForEnv after what time it makes no more.
const (
	killsEnv    = "THREEGATE_KILLS"
	killsForEnv = "THREEGATE_KILLS_FOR"
)

const (
	shortKills = 16
	// roundKills are made of one node, then comes a new one: fsck reads all of it
	// after every kill of the gate.
	roundKills = 120
	// outstanding requests are kept in the node while there are kills to come.
	outstanding = 5
	// killPause is the longest time before a kill at any time.
	killPause = 2 * time.Second
	// startTime is about how long a gate takes to start.
	startTime = 1200 * time.Millisecond
	// stepTime is about how long a job is in a state that it goes through.
	stepTime = 40 * time.Millisecond
	// aimTime is how long a moment that is aimed at is waited for.
	aimTime = 3 * time.Second
)

// nonceScript leaves a number that no other run can leave, in two places.
const nonceScript = `import os, time
n = os.urandom(16).hex()
print(n)
time.sleep(%.1f)
open("/out/nonce.txt", "w").write(n)
`

const montyLoop = `total = 0
for i in range(%d):
    total = total + i %% 7
print("sum", total)
`

// A sandbox that has a task; another one may wait for one.
const (
	shimOfRun = "shim of a run"
	initOfRun = "process 1 of a run"
)

// slotKind is whether a node has slots. Nodes take turns, as each is killed at
// other places.
type slotKind struct{ name, config string }

var slotKinds = []slotKind{
	{"slots", ""},
	{"no slots", "slots:\n  memory_mb: 0\n"},
}

// tally adds up what rounds of kills came to.
type tally struct {
	rounds, kills, requests, whole, interrupted, unseen int

	by     map[string]int // kills by how the node makes its slots
	killed map[string]int // by what was killed, and when
}

func (a *tally) add(b tally) {
	a.rounds, a.kills, a.requests = a.rounds+b.rounds, a.kills+b.kills, a.requests+b.requests
	a.whole, a.interrupted, a.unseen = a.whole+b.whole, a.interrupted+b.interrupted, a.unseen+b.unseen
	for slots, n := range b.by {
		a.by[slots] += n
	}
	for what, n := range b.killed {
		a.killed[what] += n
	}
}

func (a *tally) String() string {
	return fmt.Sprintf(
		"%d kills %v %v of %d nodes, %d requests: %d ended by themselves (the starts of %d were not seen), "+
			"%d were interrupted",
		a.kills, a.by, a.killed, a.rounds, a.requests, a.whole, a.unseen, a.interrupted)
}

// TestKilledAtRandom kills the gate, its containerd, shims and sandboxes, over
// and over, while requests of both backends come in. Every request ends exactly
// once, none runs twice, and the node is whole after every single kill.
func TestKilledAtRandom(t *testing.T) {
	kills, until := shortKills, time.Now().Add(24*time.Hour)
	if s := os.Getenv(killsEnv); s != "" {
		var err error
		if kills, err = strconv.Atoi(s); err != nil || kills < 1 {
			t.Fatalf("%s=%q is no number of kills", killsEnv, s)
		}
	}
	if s := os.Getenv(killsForEnv); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			t.Fatalf("%s=%q is not a time", killsForEnv, s)
		}
		until = time.Now().Add(d)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	begun := time.Now()
	share := min(roundKills, (kills+len(slotKinds)-1)/len(slotKinds)) // each kind has its turn
	all := tally{by: map[string]int{}, killed: map[string]int{}}
	for all.kills < kills && time.Now().Before(until) && !t.Failed() {
		t.Run(fmt.Sprintf("node%d", all.rounds), func(t *testing.T) {
			all.add(killRound(t, rng, slotKinds[all.rounds%len(slotKinds)], min(kills-all.kills, share), until))
		})
		t.Logf("after %s: %s", time.Since(begun).Round(time.Second), &all)
	}
	if all.whole == 0 {
		t.Error("no run came to its own end")
	}
	if all.unseen > all.whole/20 {
		t.Errorf("the starts of %d runs were not seen: whether any ran twice is not known", all.unseen)
	}
}

// killRound makes kills on one node and waits for the end of all that was sent.
func killRound(t *testing.T, rng *rand.Rand, slots slotKind, kills int, until time.Time) tally {
	var n *node
	t.Cleanup(func() { // after the node's own: no process of it is left
		if left := processesOf(t, filepath.Dir(n.cfg.RunDir())); len(left) > 0 {
			t.Errorf("processes are left: %q", left)
		}
	})
	n = emptyNode(t, slots.config)
	starts := watchStarts(t, filepath.Join(n.cfg.RunDir(), "boxes"))
	n.kill()
	sup := supervise(n)
	var sent []request
	made := tally{rounds: 1, by: map[string]int{}, killed: map[string]int{}}
	for made.kills < kills && time.Now().Before(until) && !t.Failed() {
		for len(sent)-n.resulted() < outstanding {
			sent = append(sent, streamed(len(sent), rng))
			n.send(sent[len(sent)-1])
		}
		what := []string{"gate", "gate", "gate", "gate", "containerd", "containerd", "shim", shimOfRun,
			initOfRun}[rng.IntN(9)]
		when := n.moment(rng)
		done := false
		switch what {
		case "gate":
			sup.pause() // fsck must not meet the next one
			done = true
			n.mustBeWhole()
			sup.resume()
		case "shim", shimOfRun:
			done = killShim(n, rng, what == shimOfRun)
		case initOfRun:
			done = killInit(n, rng)
		case "containerd":
			done = signalContainerd(n)
		}
		if done {
			made.kills++
			made.killed[what+" "+when]++
		}
	}
	n.until("all requests to be decided", func() bool { return n.resulted() == len(sent) })
	sup.pause()
	n.mustBeWhole()
	n.serve()
	n.untilServed() // a start that is interrupted leaves its containerd to the next one
	n.until("the last jobs to be put away", func() bool { return n.count("spool", "*", "*") == 0 })
	n.check()
	n.threegate("fsck", "--node", n.dir)
	checkStream(t, n, sent, starts, &made)
	made.by[slots.name] = made.kills
	return made
}

// moment waits for the moment of the next kill and says what it was: any time,
// while the gate starts after the last kill, or while a job is in a state.
func (n *node) moment(rng *rand.Rand) string {
	upTo := func(d time.Duration) { time.Sleep(time.Duration(rng.Int64N(int64(d)))) }
	aim := rng.IntN(2 + 2*len(spool.States))
	switch {
	case aim == 0:
		upTo(killPause)
		return "at any time"
	case aim == 1:
		upTo(startTime)
		return "at a start"
	}
	st := spool.States[aim%len(spool.States)]
	for end := time.Now().Add(aimTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if n.count("spool", string(st), "*")+n.count("spool", string(st), ".*") > 0 {
			upTo(stepTime)
			return "in " + string(st)
		}
	}
	return "at any time"
}

// streamed is the i-th request of the stream.
func streamed(i int, rng *rand.Rand) request {
	id := fmt.Sprintf("TR-20260209-%06dZ-kill", i)
	if i%3 == 2 {
		code := fmt.Sprintf(montyLoop, 300_000+rng.IntN(2_000_000))
		return request{id: id, backend: "monty", code: code, timeSec: 60}
	}
	r := era(id, fmt.Sprintf(nonceScript, rng.Float64()*2))
	r.outputs = []string{"nonce.txt"}
	return r
}

// resulted counts the results that are on record.
func (n *node) resulted() int {
	c := 0
	for _, e := range n.events() {
		if e.Type == ledger.ResultDelivered || e.Type == ledger.ResultQuarantined {
			c++
		}
	}
	return c
}

func (n *node) mustBeWhole() {
	n.t.Helper()
	r, err := fsck.Run(context.Background(), n.cfg, fsck.Options{})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, f := range r.Found {
		n.t.Errorf("fsck: %+v", f)
	}
	if r.Balance.Missing() != 0 {
		n.t.Errorf("missing: %+v", r.Balance)
	}
}

// checkStream looks at each request's end: delivered once, started at most once
// by what init itself says, and interrupted only if its shim or container died.
func checkStream(t *testing.T, n *node, sent []request, starts *startCounter, made *tally) {
	t.Helper()
	nonces := map[string]string{}
	made.requests = len(sent)
	for _, r := range sent {
		f := n.await(r.id)
		res := n.result(f)
		n.oneAnswer(r.id)
		runs := starts.of(f.Job)
		if runs > 1 {
			t.Errorf("%s ran %d times", r.id, runs)
		}
		if f.Cause == schemas.CauseInterrupted || res.ExitCode != 0 {
			made.interrupted++
			if f.Cause != schemas.CauseInterrupted {
				t.Errorf("%s ended with exit code %d, cause %s", r.id, res.ExitCode, f.Cause)
			}
			continue
		}
		made.whole++
		if runs == 0 && !starts.missed(n, f.Job) {
			made.unseen++
		}
		if r.backend == "monty" {
			if !strings.HasPrefix(res.Stdout.Text, "sum ") {
				t.Errorf("%s printed %q", r.id, res.Stdout.Text)
			}
			continue
		}
		nonce := strings.TrimSpace(res.Stdout.Text)
		file := filepath.Join(strings.TrimSuffix(f.ResultPath, ".md")+".artifacts", "nonce.txt")
		if kept := read(t, file); kept != nonce || len(nonce) != 32 {
			t.Errorf("%s printed %q and wrote %q: two runs are mixed", r.id, nonce, kept)
		}
		if other, ok := nonces[nonce]; ok {
			t.Errorf("%s and %s share a run", r.id, other)
		}
		nonces[nonce] = r.id
	}
}

// oneAnswer wants CORE to have one result of a request that ran, and no notice.
func (n *node) oneAnswer(id string) {
	n.t.Helper()
	var all []string
	for _, pattern := range []string{
		filepath.Join(n.cfg.CoreInbound.Path, "TS-*"+id+".md"),
		filepath.Join(n.cfg.CoreNotices.Path, "TN-*"+id+"*"),
	} {
		found, err := filepath.Glob(pattern)
		must(n.t, err)
		all = append(all, found...)
	}
	if len(all) != 1 {
		n.t.Errorf("the answers to %s are %q, want one", id, all)
	}
}
