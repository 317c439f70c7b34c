package spool_test

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/threegate/tool-exec/spool"
)

// olden gives a job's folder what the layout of before 1.0 had in it until the job
// ended: the intent as the name of a file, and all that was claimed.
func olden(t *testing.T, dir, name string) {
	t.Helper()
	intent := "1\n2026-02-09T00:00:00Z\ndefault\n6\n/gone/" + name
	mustNot(t, os.WriteFile(filepath.Join(dir, "intent,"+url.PathEscape(intent)), nil, 0o600))
	mustNot(t, os.MkdirAll(filepath.Join(dir, "raw/inputs"), 0o700))
	mustNot(t, os.WriteFile(filepath.Join(dir, "raw/inputs/x"), []byte("x"), 0o644))
	mustNot(t, os.WriteFile(filepath.Join(dir, "raw/request.md"), []byte("a"), 0o644))
}

// TestTakeOver opens a node of the layout of before 1.0 with a job in every state.
func TestTakeOver(t *testing.T) {
	n := newNode(t)
	job := func(name string, states ...spool.State) *spool.Job {
		n.put(name, "a")
		n.put(name[:len(name)-3]+".inputs/x", "x")
		j := n.claimOne()
		for _, st := range states {
			mustNot(t, j.Move(st))
		}
		return j
	}
	claimed := job("TR-claimed.md")
	admitted := job("TR-admitted.md", spool.StateAdmitted)
	running := job("TR-running.md", spool.StateAdmitted, spool.StateRunning)
	undone := job("TR-undone.md")
	mustNot(t, n.EmptyTrashOnce())
	mustNot(t, n.Close())

	mustNot(t, os.Remove(filepath.Join(n.dir, spool.DirTrash)))
	states := filepath.Join(n.dir, spool.DirSpool)
	spare := filepath.Join(states, "claimed", ".spare-3")
	mustNot(t, os.MkdirAll(filepath.Join(spare, "raw"), 0o700))
	mustNot(t, os.WriteFile(filepath.Join(spare, ".intent.tmp"), nil, 0o600))
	for _, j := range []*spool.Job{claimed, admitted, running, undone} {
		olden(t, j.Path(), j.Origin.Name)
	}
	mustNot(t, os.Rename(undone.Path("raw", "request.md"), filepath.Join(n.inbox, "TR-undone.md")))
	mustNot(t, os.RemoveAll(undone.Path("raw", "inputs")))
	unfinished := filepath.Join(states, "claimed", "."+halfDone)
	mustNot(t, os.Mkdir(unfinished, 0o700))
	olden(t, unfinished, "TR-unfinished.md")

	for range 2 {
		n.open()
		jobs, err := n.Jobs(spool.StateClaimed)
		mustNot(t, err)
		got := map[string]string{}
		for _, j := range jobs {
			mustNot(t, j.Damage)
			got[j.Origin.Name] = j.ID
		}
		if len(got) != 2 || got["TR-claimed.md"] != claimed.ID || got["TR-unfinished.md"] != halfDone {
			t.Fatalf("claimed are %v", got)
		}
		mustNot(t, n.Close())
	}
	n.open()
	if j := n.job(spool.StateClaimed, halfDone); len(j.Findings()) > 0 || len(j.Inputs()) != 1 {
		t.Errorf("the unfinished claim has findings %v, inputs %v", j.Findings(), j.Inputs())
	}
	again := n.claimOne()
	if again.Origin.Name != "TR-undone.md" || again.ID == undone.ID {
		t.Errorf("claimed again: %s as %s", again.Origin.Name, again.ID)
	}
	for _, j := range []*spool.Job{again, n.job(spool.StateClaimed, claimed.ID), n.job(spool.StateClaimed, halfDone)} {
		mustNot(t, j.Move(spool.StateAdmitted))
	}
	mustNot(t, n.job(spool.StateAdmitted, admitted.ID).Move(spool.StateRunning))
	mustNot(t, n.job(spool.StateRunning, running.ID).Move(spool.StateFinished))
	mustNot(t, n.EmptyTrashOnce())
	if places := n.check(); len(places) != 5 {
		t.Errorf("jobs lie in %v", places)
	}
}

// TestTakesOverOrders: what an older node keeps by the names of orders is found by their digests.
func TestTakesOverOrders(t *testing.T) {
	n := newNode(t)
	done := filepath.Join(n.dir, spool.DirOrdersDone)
	const name, order = "or-01789563000000000000", "an order"
	for file, text := range map[string]string{name + ".json": order, name + ".json.sig": "a signature",
		name + ".answer": "an answer"} {
		mustNot(t, os.WriteFile(filepath.Join(done, file), []byte(text), 0o600))
	}
	mustNot(t, os.Mkdir(filepath.Join(done, "or-01789563000000000001.json"), 0o700)) // was no order
	n.reopen()
	n.reopen()
	for file, want := range map[string]string{".json": order, ".sig": "a signature", ".answer": "an answer"} {
		if got, err := os.ReadFile(filepath.Join(done, sum(order)+file)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	if undone, err := n.Orders().Unanswered(); len(undone) > 0 || err != nil {
		t.Errorf("unanswered: %v, %v", undone, err)
	}
}
