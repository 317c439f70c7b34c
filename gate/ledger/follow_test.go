package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// appendTo adds n events.
func appendTo(t *testing.T, l *Ledger, n int) {
	t.Helper()
	for range n {
		if err := l.Append(Event{Type: NodeStarted}); err != nil {
			t.Fatal(err)
		}
	}
}

// seen reads on and returns the sequence numbers of what came.
func seen(t *testing.T, f *Follower) []int64 {
	t.Helper()
	var seqs []int64
	if err := f.Read(func(e Event) error { seqs = append(seqs, e.Seq); return nil }); err != nil {
		t.Fatal(err)
	}
	return seqs
}

func wantSeqs(t *testing.T, got []int64, from, to int64) {
	t.Helper()
	if int64(len(got)) != to-from+1 {
		t.Fatalf("read %v, want %d to %d", got, from, to)
	}
	for i, s := range got {
		if s != from+int64(i) {
			t.Fatalf("read %v, want %d to %d", got, from, to)
		}
	}
}

// Every event is read once, also over the end of a segment and half a line.
func TestFollowReadsOn(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, dir)
	defer l.Close()
	f := Follow(dir)
	wantSeqs(t, seen(t, f), 1, 0)
	appendTo(t, l, 3)
	wantSeqs(t, seen(t, f), 1, 3)
	wantSeqs(t, seen(t, f), 4, 3)

	// What was read is not read again: damage in it is not seen.
	file := l.file.Name()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte("x"), whole[1:]...)
	rewrite(t, file, damaged)
	appendTo(t, l, 2)
	wantSeqs(t, seen(t, f), 4, 5)
	whole, err = os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	whole[0] = '{'
	rewrite(t, file, whole)

	// Half a line is left until it is whole.
	half, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	if _, err := half.WriteString(`{"seq":6,`); err != nil {
		t.Fatal(err)
	}
	wantSeqs(t, seen(t, f), 6, 5)
	if err := half.Truncate(int64(len(whole))); err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, 1)
	l.mu.Lock()
	l.size = segmentBytes // the next one begins a segment
	l.mu.Unlock()
	appendTo(t, l, 2)
	if segs, err := filepath.Glob(filepath.Join(dir, "*.jsonl")); err != nil || len(segs) != 2 {
		t.Fatalf("segments %v, %v", segs, err)
	}
	wantSeqs(t, seen(t, f), 6, 8)
	appendTo(t, l, 1)
	wantSeqs(t, seen(t, f), 9, 9)
	seq, head := l.Head()
	if s, h := f.Head(); s != seq || h != head {
		t.Errorf("head %d %s, want %d %s", s, h, seq, head)
	}
	if s, h, err := Read(dir, func(Event) error { return nil }); err != nil || s != seq || h != head {
		t.Errorf("Read: %d %s, %v", s, h, err)
	}
}

// rewrite changes the bytes of a file and leaves it the same file.
func rewrite(t *testing.T, file string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// An event that could not be used is the first of the next look.
func TestFollowStopsWhereItWasStopped(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, dir)
	defer l.Close()
	appendTo(t, l, 4)
	f := Follow(dir)
	stop := errors.New("stop")
	err := f.Read(func(e Event) error {
		if e.Seq == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	wantSeqs(t, seen(t, f), 3, 4)
}

// A record that is not the one that was read so far is not gone on with.
func TestFollowNoticesAnotherRecord(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"shortened": func(file string) error { return os.Truncate(file, 10) },
		"removed":   os.Remove,
		"replaced": func(file string) error {
			data, err := os.ReadFile(file)
			return errors.Join(err, os.WriteFile(file+".new", data, 0o600), os.Rename(file+".new", file))
		},
	} {
		dir := t.TempDir()
		l, _ := open(t, dir)
		appendTo(t, l, 3)
		f := Follow(dir)
		wantSeqs(t, seen(t, f), 1, 3)
		if err := change(filepath.Join(dir, filepath.Base(l.file.Name()))); err != nil {
			t.Fatal(err)
		}
		if err := f.Read(func(Event) error { return nil }); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
		l.Close()
	}
}

// A folder that can't be listed is no empty record.
func TestWhatCannotBeListedIsNotEmpty(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if seq, _, err := Read(file, func(Event) error { return nil }); err == nil {
		t.Errorf("a record of %d events", seq)
	}
}

// TestFollowRequest: only events about the request are told, and a changed line of another is found all the same.
func TestFollowRequest(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, dir)
	for _, id := range []string{"TR-a", "TR-b", "TR-a"} {
		if err := l.Append(Event{Type: RunStarted, RunID: "j-" + id, RequestID: id}); err != nil {
			t.Fatal(err)
		}
	}
	read := func(f *Follower) (jobs []string, err error) {
		err = f.Read(func(e Event) error {
			jobs = append(jobs, fmt.Sprint(e.RunID, e.Seq))
			return nil
		})
		return jobs, err
	}
	for _, f := range []*Follower{FollowRequest(dir, "TR-a"), FollowJob(dir, "j-TR-a")} {
		if jobs, err := read(f); err != nil || fmt.Sprint(jobs) != "[j-TR-a1 j-TR-a3]" {
			t.Errorf("%v, %v", jobs, err)
		}
	}
	segs, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	raw, err := os.ReadFile(segs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(segs[0], bytes.Replace(raw, []byte("j-TR-b"), []byte("j-TR-c"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(FollowRequest(dir, "TR-a")); !errors.Is(err, ErrDamaged) {
		t.Errorf("a changed line: %v", err)
	}
}
