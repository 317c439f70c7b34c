package spool_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/spool"
)

// drive does with every request what a gate would: a small one, but with the
// same rule, that a step is repeated until it worked and then never again.
// TR-good is delivered, TR-bad is refused.
type drive struct {
	*node
	pub *spool.Publisher
}

func openDrive(t *testing.T, dir string, inj *Injector) (*drive, error) {
	return openDriveWith(t, dir, inj.Seam)
}

func openDriveWith(t *testing.T, dir string, seam spool.Seam) (*drive, error) {
	n := &node{t: t, dir: dir, inbox: filepath.Join(dir, spool.DefaultInbox), clock: time.Now()}
	s, err := spool.Open(dir, n.options(func(o *spool.Options) { o.Seam = seam }))
	if err != nil {
		return nil, err
	}
	s.SetNow(func() time.Time { return n.clock })
	n.Spool = s
	pub, err := spool.NewPublisher(filepath.Join(dir, spool.DirCoreInbound))
	mustNot(t, err)
	pub.Seam = seam
	return &drive{n, pub}, nil
}

// once takes every job as far as it gets and returns the first error.
func (d *drive) once() error {
	d.later()
	as, err := d.Pending(10)
	if err != nil {
		return err
	}
	var first error
	for _, a := range as {
		_, err := d.Claim(a.Inbox, a.Name)
		if errors.Is(err, spool.ErrUncertain) {
			return err
		}
		if err != nil && !errors.Is(err, spool.ErrGone) && first == nil {
			first = err
		}
	}
	for _, st := range slices.Backward(spool.States) {
		jobs, err := d.Jobs(st)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			err := d.toEnd(j)
			if errors.Is(err, spool.ErrUncertain) {
				return err
			}
			first = cmp.Or(first, err)
		}
	}
	return cmp.Or(first, d.EmptyTrashOnce())
}

func (d *drive) toEnd(j *spool.Job) error {
	if j.Damage != nil {
		return refuse(j, spool.StateRequestRefused)
	}
	if j.Origin.Name == "TR-bad.md" {
		return refuse(j, spool.StateRequestRefused)
	}
	for j.State != spool.StateFinished {
		next := map[spool.State]spool.State{spool.StateClaimed: spool.StateAdmitted,
			spool.StateAdmitted: spool.StateRunning, spool.StateRunning: spool.StateFinished}[j.State]
		if j.State == spool.StateRunning {
			if err := j.WriteFile("outcome.json", []byte(j.ID)); err != nil {
				return err
			}
		}
		if err := j.Move(next); err != nil {
			return err
		}
	}
	if err := d.deliver(j); err != nil {
		return err
	}
	return j.Archive(time.Date(2026, 2, 9, 0, 0, 0, 0, time.UTC))
}

const resultName = "TS-good.md"

func (d *drive) deliver(j *spool.Job) error {
	_, err := j.ReadFile("delivery.json", 100)
	if errors.Is(err, fs.ErrNotExist) {
		in := j.Inputs()
		arts := []spool.Artifact{{RelPath: "d/x.csv", SourcePath: j.Path("inputs", "x.csv"), SHA256: in[0].SHA256}}
		if err := d.pub.Stage(resultName, []byte("result"), arts); err != nil {
			return err
		}
		if err = j.WriteFile("delivery.json", []byte("{}")); err == nil {
			err = j.Sync()
		}
	}
	if err != nil {
		return err
	}
	return d.pub.Commit(resultName, "")
}

func faultNode(t *testing.T) string {
	dir := memoryDir(t)
	fillFaultNode(t, dir)
	return dir
}

func fillFaultNode(t *testing.T, dir string) {
	mustNot(t, spool.Init(dir))
	n := &node{t: t, inbox: filepath.Join(dir, spool.DefaultInbox)}
	n.put("TR-good.inputs/x.csv", "1,2")
	n.put("TR-good.md.sig", "signature")
	n.put("TR-good.md", "good")
	n.put("TR-bad.md", "bad")
}

// balance asserts that every request came to its end, once, and whole.
func balance(t *testing.T, dir string) {
	t.Helper()
	places, err := Check(dir)
	mustNot(t, err)
	got := map[string]int{}
	for _, p := range places {
		got[p]++
	}
	if len(places) != 2 || got[spool.DirArchive] != 1 || got[spool.DirQuarantineRequests] != 1 {
		t.Fatalf("jobs lie in %v, want one archived and one quarantined", got)
	}
	for name, want := range map[string]string{resultName: "result", "TS-good.artifacts/d/x.csv": "1,2"} {
		data, err := os.ReadFile(filepath.Join(dir, spool.DirCoreInbound, name))
		if err != nil || string(data) != want {
			t.Fatalf("CORE sees %s as %q, %v", name, data, err)
		}
	}
	for folder, want := range map[string]int{spool.DirCoreInbound: 2, spool.DefaultInbox: 0,
		spool.DirSpool: len(spool.States) + 2, spool.DirTrash: 0, spool.DirOutbox: 0} {
		if es, err := os.ReadDir(filepath.Join(dir, folder)); err != nil || len(es) != want {
			t.Fatalf("%s holds %v, want %d entries (%v)", folder, es, want, err)
		}
	}
}

// TestEveryStepCanFail takes two requests to their end, and makes each single
// step on the way go wrong in each way, one at a time. Afterwards everything must
// be as if nothing had happened.
func TestEveryStepCanFail(t *testing.T) {
	calm := &Injector{SkipSync: true}
	dir := faultNode(t)
	d, err := openDrive(t, dir, calm)
	mustNot(t, err)
	mustNot(t, d.once())
	mustNot(t, d.Close())
	balance(t, dir)
	steps := calm.Steps()
	if len(steps) < 100 {
		t.Fatalf("only %d steps were seen", len(steps))
	}
	injected := 0
	for at, step := range steps {
		for _, mode := range Modes {
			if (mode == Torn || mode == CrashTorn) && step.Torn == nil {
				continue
			}
			errs := []error{unix.EIO, unix.ENOSPC, unix.EDQUOT, unix.EMFILE}
			if mode != Unapplied {
				errs = errs[:1]
			}
			for _, e := range errs {
				t.Run(fmt.Sprintf("%03d %s %s %v", at+1, step.Name, mode, e), func(t *testing.T) {
					oneFault(t, at+1, mode, e)
				})
				injected++
			}
		}
	}
	t.Logf("%d steps, %d faults", len(steps), injected)
}

func oneFault(t *testing.T, at int, mode Mode, e error) {
	dir := faultNode(t)
	inj := &Injector{At: at, Mode: mode, Err: e, SkipSync: true}
	d, err := openDrive(t, dir, inj)
	opened := err == nil // a fault in the start ends it: the next one goes on
	if opened {
		// A process that lives on tries again, unless it can't know where it stands.
		for range 4 {
			if err = d.once(); err == nil || inj.Crashed() || errors.Is(err, spool.ErrUncertain) {
				break
			}
		}
		mustNot(t, d.Close())
	}
	if !inj.Hit() {
		t.Fatal("the fault was not injected")
	}
	if opened && err != nil && !inj.Crashed() && !errors.Is(err, spool.ErrUncertain) {
		t.Errorf("a fault that has passed still fails: %v", err)
	}
	if d, err = openDrive(t, dir, &Injector{SkipSync: true}); err != nil {
		t.Fatalf("the node can't be opened again: %v", err)
	}
	for range 2 { // the second time there is nothing left to do
		mustNot(t, d.once())
	}
	mustNot(t, d.Close())
	balance(t, dir)
}

// TestRecoveryCanFailToo lets a claim die at every step and the start that
// follows die at every one of its steps.
func TestRecoveryCanFailToo(t *testing.T) {
	claim := func(t *testing.T, dir string, inj *Injector) {
		d, err := openDrive(t, dir, inj)
		if err != nil {
			return
		}
		_ = d.once()
		mustNot(t, d.Close())
	}
	calm := &Injector{SkipSync: true}
	claim(t, faultNode(t), calm)
	for at, step := range calm.Steps() {
		if step.Name == "move.admitted.rename" {
			break // from here on there is nothing that a start goes on with
		}
		for second := 1; ; second++ {
			dir := faultNode(t)
			claim(t, dir, &Injector{At: at + 1, Mode: CrashAfter, SkipSync: true})
			again := &Injector{At: second, Mode: CrashBefore, SkipSync: true}
			d, err := openDrive(t, dir, again)
			if err == nil {
				mustNot(t, d.Close())
			}
			if !again.Hit() {
				break
			}
			claim(t, dir, &Injector{SkipSync: true})
			balance(t, dir)
		}
	}
}
