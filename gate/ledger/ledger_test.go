package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

func fixed() time.Time { return time.Date(2026, 2, 9, 16, 5, 1, 0, time.UTC) }

func open(t *testing.T, dir string) (*Ledger, []Event) {
	t.Helper()
	var got []Event
	l, err := Open(dir, Options{Now: fixed}, func(e Event) { got = append(got, e) })
	if err != nil {
		t.Fatal(err)
	}
	return l, got
}

func TestAppendIsReadBackInOrder(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, dir)
	if err := l.Append(Event{Type: NodeStarted}, Event{Type: RunStarted, RunID: "j1"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(Event{Type: NodeStopped}); err != nil {
		t.Fatal(err)
	}
	seq, head := l.Head()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l2, got := open(t, dir)
	defer l2.Close()
	if len(got) != 3 || got[1].RunID != "j1" || got[2].Seq != 3 {
		t.Fatalf("got %+v", got)
	}
	if s, h := l2.Head(); s != seq || h != head {
		t.Fatalf("head moved over a restart: %d %s, was %d %s", s, h, seq, head)
	}
}

func TestConcurrentAppendsKeepTheirEventsTogether(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, dir)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := l.Append(Event{Type: RunStarted, RunID: "a"}, Event{Type: RunCompleted, RunID: "a"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_ = l.Close()
	var got []Event
	if _, _, err := Read(dir, func(e Event) error { got = append(got, e); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 40 {
		t.Fatalf("%d events, want 40", len(got))
	}
	for i := 0; i < len(got); i += 2 {
		if got[i].Type != RunStarted || got[i+1].Type != RunCompleted {
			t.Fatalf("events %d and %d were torn apart", i+1, i+2)
		}
	}
}

func TestATornEndIsCutAndReported(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, dir)
	if err := l.Append(Event{Type: NodeStarted}); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	segs, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	f, err := os.OpenFile(segs[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"seq":2,"type":"run.sta`); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	l, got := open(t, dir)
	if len(got) != 2 || got[1].Type != LedgerRecovered { // the second was appended
		t.Fatalf("got %+v", got)
	}
	_ = l.Close()
	_, got = open(t, dir)
	if len(got) != 2 || got[1].Type != LedgerRecovered || got[1].Dropped != 24 {
		t.Fatalf("got %+v", got)
	}
}

func TestAChangedRecordIsRefused(t *testing.T) {
	tests := map[string]func(string) string{
		"changed":  func(s string) string { return strings.Replace(s, "j1", "j9", 1) },
		"removed":  func(s string) string { i := strings.Index(s, "\n"); return s[i+1:] },
		"swapped":  func(s string) string { p := strings.SplitAfter(s, "\n"); return p[1] + p[0] + p[2] },
		"unknown":  func(s string) string { return strings.Replace(s, "run.started", "run.invented", 1) },
		"inserted": func(s string) string { p := strings.SplitAfter(s, "\n"); return p[0] + p[0] + p[1] + p[2] },
		"not json": func(s string) string { return "hello\n" + s },
		"too long": func(s string) string { return strings.Repeat("x", maxLineBytes+1) + "\n" + s },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l, _ := open(t, dir)
			for _, id := range []string{"j1", "j2", "j3"} {
				if err := l.Append(Event{Type: RunStarted, RunID: id}); err != nil {
					t.Fatal(err)
				}
			}
			_ = l.Close()
			segs, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
			raw, _ := os.ReadFile(segs[0])
			if err := os.WriteFile(segs[0], []byte(change(string(raw))), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, Options{Now: fixed}, func(Event) {}); !errors.Is(err, ErrDamaged) {
				t.Fatalf("opened: %v", err)
			}
			if _, _, err := Read(dir, func(Event) error { return nil }); !errors.Is(err, ErrDamaged) {
				t.Fatalf("read: %v", err)
			}
		})
	}
}

// TestAnEventThatCannotBeReadBackIsNotRecorded: the next start would refuse the record.
func TestAnEventThatCannotBeReadBackIsNotRecorded(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, dir)
	defer l.Close()
	if err := l.Append(Event{Type: RunStarted, RunID: strings.Repeat("j", maxLineBytes)}); err == nil {
		t.Fatal("recorded")
	}
	if err := l.Append(Event{Type: NodeStopped}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(dir, func(Event) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestOneBadAppendFailsAlone: of appends that meet while another is being written, only that whose event is too large
// fails, and none of its events is recorded.
func TestOneBadAppendFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		first, goOn := true, make(chan bool)
		l, err := Open(dir, Options{Seam: func(step spool.Step, do func() error) error {
			if step.Name == "ledger.append.write" && first {
				first = false
				<-goOn
			}
			return do()
		}}, func(Event) {})
		if err != nil {
			t.Fatal(err)
		}
		jobs := [][]string{{"first"}, {"small"}, {"before", strings.Repeat("j", 2<<20)}, {"last"}}
		errs := make([]error, len(jobs))
		var all sync.WaitGroup
		for i, ids := range jobs {
			all.Go(func() {
				var events []Event
				for _, id := range ids {
					events = append(events, Event{Type: RunStarted, RunID: id})
				}
				errs[i] = l.Append(events...)
			})
			synctest.Wait() // the first is being written, the others wait for it
		}
		close(goOn)
		all.Wait()
		for i, err := range errs {
			if (err != nil) != (len(jobs[i]) > 1) {
				t.Errorf("%.20q: %v", jobs[i], err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		var recorded []string
		if _, _, err := Read(dir, func(e Event) error { recorded = append(recorded, e.RunID); return nil }); err != nil ||
			!slices.Equal(recorded, []string{"first", "small", "last"}) {
			t.Errorf("recorded: %.200q, %v", recorded, err)
		}
	})
}

func TestAnUnknownEventIsNotRecorded(t *testing.T) {
	l, _ := open(t, t.TempDir())
	defer l.Close()
	if err := l.Append(Event{Type: "run.invented"}); err == nil {
		t.Fatal("recorded")
	}
	if seq, _ := l.Head(); seq != 0 {
		t.Fatalf("seq %d", seq)
	}
}

func TestAFullDiskLeavesTheRecordWhole(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, dir)
	if err := l.Append(Event{Type: NodeStarted}); err != nil {
		t.Fatal(err)
	}
	// A read-only descriptor makes the next write fail before anything is written,
	// and the truncate that follows too: the state counts as unknown.
	segs, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	ro, err := os.Open(segs[0])
	if err != nil {
		t.Fatal(err)
	}
	_ = l.file.Close()
	l.file = ro
	if err := l.Append(Event{Type: NodeStopped}); !errors.Is(err, ErrUnusable) {
		t.Fatalf("got %v", err)
	}
	if err := l.Append(Event{Type: NodeStopped}); !errors.Is(err, ErrUnusable) {
		t.Fatalf("went on after that: %v", err)
	}
	_ = l.Close()
	_, got := open(t, dir)
	if len(got) != 1 {
		t.Fatalf("%d events", len(got))
	}
}

func TestOpenWantsItsFolder(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none"), Options{Now: fixed}, func(Event) {}); err == nil {
		t.Fatal("opened")
	}
}

// TestNothingElseIsWrittenToTheRecord does what a rotation of logs would do.
func TestNothingElseIsWrittenToTheRecord(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"removed": os.Remove,
		"moved":   func(p string) error { return os.Rename(p, p+".1") },
		"emptied": func(p string) error { return os.Truncate(p, 0) },
		"replaced": func(p string) error {
			b, err := os.ReadFile(p)
			return errors.Join(err, os.Remove(p), os.WriteFile(p, b, 0o640))
		},
	} {
		dir := t.TempDir()
		l, _ := open(t, dir)
		if err := l.Append(Event{Type: NodeStarted}); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%q, %v", files, err)
		}
		if err := spoil(files[0]); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(Event{Type: NodeStopped}); !errors.Is(err, ErrUnusable) {
			t.Errorf("%s: an event was recorded where nobody will read it: %v", name, err)
		}
		_ = l.Close()
	}
}

// Head returns the last sequence number and the hash of its line.
func (l *Ledger) Head() (int64, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seq, l.prev
}

// TestOlderCauses: what older nodes wrote is read with the words of today.
func TestOlderCauses(t *testing.T) {
	dir, three := t.TempDir(), 3
	l, _ := open(t, dir)
	for _, cause := range []schemas.Cause{"pids", "none", "time"} {
		if err := l.Append(Event{Type: RunFailed, RunID: "a", ExitCode: &three, Cause: cause}); err != nil {
			t.Fatal(err)
		}
	}
	_ = l.Close()
	var read []schemas.Cause
	_, _, err := Read(dir, func(e Event) error { read = append(read, e.EndCause()); return nil })
	if want := []schemas.Cause{"processes", "exit", "time"}; err != nil || !slices.Equal(read, want) {
		t.Errorf("%v, %v", read, err)
	}
}
