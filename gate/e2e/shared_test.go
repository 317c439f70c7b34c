package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/ledger"
)

const (
	sharedNodes    = 3
	sharedRequests = 60
	sharedKills    = 15
)

// sharing makes nodes that have one inbox in common, each served by a gate and a
// supervisor that starts it again.
func sharing(t *testing.T, inbox string) ([]*node, []*supervisor) {
	t.Helper()
	var nodes []*node
	var sups []*supervisor
	for range sharedNodes {
		n := newNode(t, fmt.Sprintf("inboxes:\n  - {name: shared, path: %s}\n", inbox))
		n.untilServed()
		n.kill()
		nodes, sups = append(nodes, n), append(sups, supervise(n))
	}
	return nodes, sups
}

// takenBy says of each request id which nodes did something of a kind with it.
func takenBy(nodes []*node, kind ledger.Type) map[string][]int {
	m := map[string][]int{}
	for i, n := range nodes {
		for _, e := range n.events() {
			switch {
			case e.Type == kind && e.Outcome != ledger.OutcomeRefused:
				m[e.RequestID] = append(m[e.RequestID], i)
			case e.Type == ledger.RunReturned && kind == ledger.RunStarted: // it takes back the start before it
				m[e.RequestID] = m[e.RequestID][:len(m[e.RequestID])-1]
			}
		}
	}
	return m
}

// TestNodesShareAnInbox: three whole nodes take requests from one inbox while
// their gates are killed over and over. Each request is claimed, run and delivered
// by exactly one of them.
func TestNodesShareAnInbox(t *testing.T) {
	inbox := filepath.Join(t.TempDir(), "inbox")
	if err := os.Mkdir(inbox, 0o770); err != nil {
		t.Fatal(err)
	}
	nodes, sups := sharing(t, inbox)
	var starts []*startCounter
	for _, n := range nodes {
		starts = append(starts, watchStarts(t, filepath.Join(n.cfg.RunDir(), "boxes")))
	}
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	var sent []request
	for k := range sharedKills {
		for len(sent) < sharedRequests*(k+1)/sharedKills {
			r := streamed(len(sent), rng)
			nodes[0].send(r)
			sent = append(sent, r)
		}
		nodes[rng.IntN(len(nodes))].moment(rng)
		i := rng.IntN(len(nodes))
		sups[i].pause()
		nodes[i].mustBeWhole()
		sups[i].resume()
	}
	nodes[0].until("all requests to be decided", func() bool {
		return len(takenBy(nodes,
			ledger.ResultDelivered)) == len(sent)
	})
	for i, n := range nodes {
		sups[i].pause()
		n.mustBeWhole()
		n.serve()
		n.untilServed()
		n.until("the last jobs to be put away", func() bool { return n.count("spool", "*", "*") == 0 })
		n.check()
		n.mustBeWhole()
	}
	if left := below(t, inbox); len(left) > 0 {
		t.Errorf("left in the inbox: %v", left)
	}
	share := make([]int, len(nodes))
	for _, kind := range []ledger.Type{ledger.DeliveryAttempted, ledger.RunStarted, ledger.ResultDelivered} {
		by := takenBy(nodes, kind)
		for _, r := range sent {
			if len(by[r.id]) != 1 {
				t.Errorf("%s: %s by nodes %v, want one", r.id, kind, by[r.id])
			} else if kind == ledger.ResultDelivered {
				share[by[r.id][0]]++
			}
		}
	}
	nonces := map[string]bool{}
	runs := 0
	for i, n := range nodes {
		for _, e := range n.events() {
			if e.Type != ledger.ResultDelivered {
				continue
			}
			if c := starts[i].of(e.RunID); c > 1 {
				t.Errorf("%s ran %d times", e.RequestID, c)
			}
			runs++
			out := readResult(t, filepath.Join(n.cfg.CoreInbound.Path, e.ResultID+".md")).Stdout.Text
			if len(strings.TrimSpace(out)) == 32 && nonces[out] {
				t.Errorf("%s shares a run with another", e.RequestID)
			}
			nonces[out] = true
		}
		if share[i] == 0 {
			t.Errorf("node %d took none", i)
		}
	}
	t.Logf("%d requests, %d kills, %d runs; the nodes delivered %v", len(sent), sharedKills, runs, share)
}

// TestARequestTwiceInASharedInbox: an id is unique for each node, and nodes do
// not know of each other. The same request put in again is a duplicate to a node
// that had it, and a request to one that had not.
func TestARequestTwiceInASharedInbox(t *testing.T) {
	inbox := filepath.Join(t.TempDir(), "inbox")
	if err := os.Mkdir(inbox, 0o770); err != nil {
		t.Fatal(err)
	}
	nodes, sups := sharing(t, inbox)
	r := era("TR-20260209-400000Z-again", "print('again')\n")
	const times = 4 * sharedNodes
	taken := func() int {
		c := 0
		for _, n := range nodes {
			for _, e := range n.events() {
				if e.Type == ledger.DeliveryAttempted {
					c++
				}
			}
		}
		return c
	}
	for i := range times {
		nodes[0].send(r)
		nodes[0].until("it to be taken", func() bool { return taken() == i+1 })
	}
	ran := 0
	for i, n := range nodes {
		n.until("its end", func() bool { return n.count("spool", "*", "*") == 0 })
		sups[i].pause()
		n.serve()
		n.untilServed()
		n.check() // no node ran it twice
		n.mustBeWhole()
		ran += len(takenBy([]*node{n}, ledger.ResultDelivered)[r.id])
	}
	refused := 0
	for _, n := range nodes {
		refused += n.count("quarantine", "requests", "*")
	}
	if ran < 1 || ran > sharedNodes || ran+refused != times {
		t.Errorf("put in %d times: %d ran, %d were refused", times, ran, refused)
	}
	t.Logf("put in %d times: %d ran, each on another node; %d were refused as duplicates", times, ran, refused)
}
