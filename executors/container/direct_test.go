package container

import (
	"os"
	"strings"
	"testing"
	"time"
)

func openDirect(t *testing.T) *Executor {
	t.Helper()
	c := slotConfig()
	c.Slots.Direct = true
	e, err := Open(t.Context(), c)
	must(t, "Open", err)
	t.Cleanup(func() { e.Close() })
	if e.maker == nil {
		t.Fatal("slots can't be made without containerd here")
	}
	e.awaitReady(t, testSlots)
	return e
}

// Slots that can't be made without containerd, time after time, are containers again,
// and that is there to be seen until the node is started anew.
func TestDirectGivesUp(t *testing.T) {
	e := openDirect(t)
	told := make(chan bool, 100)
	e.cfg.SlotFailed = func(err error, givenUp bool) {
		if err == nil {
			t.Error("it is not said why")
		}
		told <- givenUp
	}
	if why := SlotsFailure(e.cfg.RunDir); why != "" {
		t.Errorf("before anything has failed: %s", why)
	}
	must(t, "break the maker", e.maker.Close())
	for end := time.Now().Add(60 * time.Second); ; {
		if r := run(t, e, newTask("echo", "all the same")); r.stdout(t) != "all the same\n" {
			t.Fatalf("stdout %q", r.stdout(t))
		}
		if idle := e.idle(); len(idle) > 0 && idle[0].own == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no slot is a container after %d failures", e.fails.Load())
		}
	}
	for n := 1; n <= makerTries; n++ {
		if givenUp := <-told; givenUp != (n == makerTries) {
			t.Errorf("failure %d: given up: %v", n, givenUp)
		}
	}
	if why := SlotsFailure(e.cfg.RunDir); !strings.Contains(why, "make a sandbox") {
		t.Errorf("why slots are containers: %q", why)
	}
	_ = e.Close() // the maker is closed already
	if why := SlotsFailure(e.cfg.RunDir); why != "" {
		t.Errorf("after the end: %s", why)
	}
}

// What an earlier process left of a slot is removed also if its box is gone: its
// group tells whose it was.
func TestSlotWithoutBox(t *testing.T) {
	e := openDirect(t)
	s := e.idle()[0]
	e.pool.stop()
	e.pool.making.Wait()
	must(t, "remove the box", s.box.remove())
	must(t, "unlock", e.pool.lock.Close())
	next, err := Open(t.Context(), slotConfig())
	must(t, "Open", err)
	defer next.Close()
	select {
	case <-s.gone:
	case <-time.After(10 * time.Second):
		t.Fatal("its init still lives")
	}
	for _, h := range []string{"pids", "memory", "unified"} {
		if _, err := os.Stat("/sys/fs/cgroup/" + h + cgroupOf(s.id)); err == nil {
			t.Errorf("its group in %s is still there", h)
		}
	}
}
