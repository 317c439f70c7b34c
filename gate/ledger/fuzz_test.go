package ledger

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzRead: whatever lies in the folder, only a record whose chain holds is read,
// and no event of another one.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	l, err := Open(dir, Options{Now: fixed}, func(Event) {})
	if err != nil {
		f.Fatal(err)
	}
	if err := l.Append(Event{Type: NodeStarted}, Event{Type: RunStarted, RunID: "j1"},
		Event{Type: NodeStopped}); err != nil {
		f.Fatal(err)
	}
	if err := l.Close(); err != nil {
		f.Fatal(err)
	}
	segs, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(segs) != 1 {
		f.Fatal(segs, err)
	}
	name := filepath.Base(segs[0])
	whole, err := os.ReadFile(segs[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-9])
	f.Add(bytes.Replace(whole, []byte("j1"), []byte("j2"), 1))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		seq, _, err := Read(dir, func(e Event) error {
			if n++; e.Seq != n {
				t.Fatalf("event %d has the number %d", n, e.Seq)
			}
			return nil
		})
		if err == nil && seq != n {
			t.Fatalf("%d events, the last has the number %d", n, seq)
		}
	})
}
