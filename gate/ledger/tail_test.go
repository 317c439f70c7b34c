package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Tail returns the last whole events, however long the record is, and over a change of its file.
func TestTail(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, Options{}, func(Event) {})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const count = 100
	for i := range count {
		if i == 40 || i == 95 {
			l.size = segmentBytes // the next one begins a segment
		}
		if err := l.Append(Event{Type: RunStarted, RunID: fmt.Sprint("j", i)}); err != nil {
			t.Fatal(err)
		}
	}
	segs, err := filepath.Glob(filepath.Join(dir, "events-*.jsonl"))
	if err != nil || len(segs) < 3 {
		t.Fatalf("%d segments, %v", len(segs), err)
	}
	all := Tail(dir, 1<<20)
	if len(all) != count || all[0].Seq != 1 || all[count-1].Seq != count {
		t.Fatalf("of all: %d events", len(all))
	}
	some := Tail(dir, 3000)
	if len(some) < 2 || len(some) >= count || some[len(some)-1].Seq != count {
		t.Fatalf("of 3000 bytes: %d events", len(some))
	}
	for i := range some {
		if some[i].Seq != int64(count-len(some)+1+i) {
			t.Errorf("event %d of %d is number %d", i, len(some), some[i].Seq)
		}
	}
	if got := Tail(filepath.Join(dir, "none"), 100); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	// What is torn or damaged is left out.
	f, err := os.OpenFile(segs[len(segs)-1], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("damaged\n{\"seq\":"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := Tail(dir, 1<<20); len(got) != count {
		t.Errorf("with a torn end: %d events", len(got))
	}
}
