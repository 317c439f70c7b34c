// Package ledger is the append-only record of every decision of a node: lines
// of JSON, each holding the hash of the line before, in segment files.
//
// An event is durable when Append returns. The folder is trusted (only the gate
// writes there); what Verify proves is that no line was changed, removed or
// inserted since, given the last hash.
package ledger

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

const (
	// segmentBytes is the size at which a new segment is begun.
	segmentBytes = 64 << 20
	// maxLineBytes bounds one event.
	maxLineBytes = 64 << 10
	segmentName  = "events-%012d.jsonl" // by first seq
	segmentGlob  = "events-*.jsonl"
)

// zeroHash is the Prev of the first event.
const zeroHash = "0000000000000000000000000000000000000000000000000000000000000000"

// ErrUnusable is returned by every Append after the state of the file on disk
// became unknown: the process must stop, and the next start decides.
var ErrUnusable = errors.New("the ledger's state on disk is unknown")

// Ledger is a node's open record. It is safe for concurrent use.
type Ledger struct {
	dir  string
	now  func() time.Time
	seam spool.Seam
	each func(Event)

	mu      sync.Mutex
	synced  sync.Cond
	pending []*batch // batches in order; the first may be being written
	writing bool
	broken  error

	// The following belong to whoever is writing.
	file *os.File
	size int64
	base int64 // bytes of the segments before

	// Guarded by mu.
	seq  int64
	prev string
	last time.Time // of the last event
}

// ClockTolerance is by how much an event may be earlier than the one before it without a ClockSetBack: clocks are
// corrected by small steps all the time.
const ClockTolerance = time.Second

// batch is what one Append adds.
type batch struct {
	events []Event
	done   bool
	err    error
}

// Options are what a Ledger is opened with.
type Options struct {
	// Now defaults to time.Now.
	Now func() time.Time
	// Seam is for fault injection.
	Seam spool.Seam
}

// Open replays the record in dir, cuts off a torn last line (which no Append had
// acknowledged), and opens it for appending. It calls each with every event in order:
// those on record, and later those that were appended, before Append returns. A line
// that is damaged elsewhere is an error: nothing is skipped. What was replayed is durable
// when Open returns, also if the process that appended it died in between.
func Open(dir string, o Options, each func(Event)) (_ *Ledger, err error) {
	l := &Ledger{dir: dir, now: o.Now, seam: o.Seam, each: each}
	if l.now == nil {
		l.now = time.Now
	}
	l.synced.L = &l.mu
	f := Follow(dir)
	if err := f.Read(func(e Event) error { l.last = e.Time; each(e); return nil }); err != nil {
		return nil, err
	}
	l.seq, l.prev, l.base, l.size = f.at.seq, f.at.prev, f.at.base, f.at.size
	if f.path != "" {
		if l.file, err = os.OpenFile(f.path, os.O_RDWR, 0); err != nil {
			return nil, fmt.Errorf("open ledger: %w", err)
		}
	}
	defer func() {
		if err != nil && l.file != nil {
			_ = l.file.Close()
		}
	}()
	if err := l.repair(f.at.torn); err != nil {
		return nil, err
	}
	return l, nil
}

// repair cuts off a torn end and makes durable what was read.
func (l *Ledger) repair(torn int64) error {
	if l.file == nil {
		return nil
	}
	if torn > 0 {
		if err := l.truncate("ledger.torn"); err != nil {
			return fmt.Errorf("cut the torn end off the ledger: %w", err)
		}
	}
	if err := errors.Join(l.sync("ledger.open"), l.syncDir("ledger.open")); err != nil {
		return fmt.Errorf("open ledger: %w", err)
	}
	if torn > 0 {
		return l.Append(Event{Type: LedgerRecovered, Dropped: torn})
	}
	return nil
}

// Append makes the events durable, in order and next to each other. Appends
// that meet share one write and one fsync. An error other than ErrUnusable
// means that none of the events was recorded.
func (l *Ledger) Append(events ...Event) error {
	for i := range events {
		if err := events[i].check(); err != nil {
			return fmt.Errorf("append to ledger: %w", err)
		}
	}
	b := &batch{events: events}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, b)
	for !b.done {
		if l.writing {
			l.synced.Wait()
			continue
		}
		l.writing = true
		batches := l.pending
		l.pending = nil
		l.flush(batches)
		l.writing = false
		l.synced.Broadcast()
	}
	return b.err
}

// flush writes the batches. It is called with mu held and gives it back while
// it writes.
func (l *Ledger) flush(batches []*batch) {
	err := l.broken
	if err == nil {
		next := lines{seq: l.seq, prev: l.prev, last: l.last, offset: l.base + l.size}
		for _, b := range batches {
			before := next
			for i := range b.events {
				if b.err == nil {
					b.err = next.add(&b.events[i], l.now().UTC().Truncate(time.Microsecond))
				}
			}
			if b.err != nil { // it fails alone
				next = before
			}
		}
		if len(next.events) > 0 {
			first := l.seq + 1
			l.mu.Unlock()
			err = l.write(first, next.buf.Bytes())
			l.mu.Lock()
		}
		if err == nil {
			l.seq, l.prev, l.last = next.seq, next.prev, next.last
			for _, e := range next.events {
				l.each(e)
			}
		}
		if errors.Is(err, ErrUnusable) {
			l.broken = err
		}
	}
	for _, b := range batches {
		b.done, b.err = true, cmp.Or(b.err, err)
	}
}

// lines are those that are written next.
type lines struct {
	buf    bytes.Buffer
	events []Event
	seq    int64
	prev   string
	last   time.Time
	offset int64 // in the record, of the next line
}

// add gives an event its place and its time. A clock that was set back comes on record first.
func (n *lines) add(e *Event, at time.Time) error {
	if back := n.last.Sub(at); back > ClockTolerance {
		n.last = at
		if err := n.add(&Event{Type: ClockSetBack, BackMS: back.Milliseconds()}, at); err != nil {
			return err
		}
	}
	e.Seq, e.Prev, e.Time, e.Offset = n.seq+1, n.prev, at, n.offset
	line, err := encode(e)
	if err == nil && len(line) >= maxLineBytes {
		err = fmt.Errorf("an event of %d bytes", len(line))
	}
	if err != nil {
		return fmt.Errorf("append to ledger: %w", err)
	}
	n.seq, n.prev, n.last = e.Seq, schemas.SHA256(line), at
	n.buf.Write(append(line, '\n'))
	n.offset += int64(len(line)) + 1
	n.events = append(n.events, *e)
	return nil
}

// write appends p durably or leaves the file as it was; if neither is certain
// it returns ErrUnusable.
func (l *Ledger) write(first int64, p []byte) error {
	if l.file == nil || l.size >= segmentBytes {
		if err := l.roll(first); err != nil {
			return err
		}
	}
	if err := l.inPlace(); err != nil {
		return err
	}
	err := l.take(spool.Step{Name: "ledger.append.write", Op: spool.OpWrite, Path: l.file.Name(), Torn: func() error {
		_, err := l.file.WriteAt(p[:len(p)/2], l.size)
		return err
	}}, func() error {
		_, err := l.file.WriteAt(p, l.size)
		return err
	})
	if err != nil {
		// Nothing was acknowledged: take back what may have been written.
		if terr := errors.Join(l.truncate("ledger.undo"), l.sync("ledger.undo")); terr != nil {
			return fmt.Errorf("%w: append: %w; truncate: %w", ErrUnusable, err, terr)
		}
		return fmt.Errorf("append to ledger: %w", err)
	}
	// After a failed fsync the kernel may have dropped the pages: unknown.
	if err := l.sync("ledger.append"); err != nil {
		return fmt.Errorf("%w: fsync: %w", ErrUnusable, err)
	}
	l.size += int64(len(p))
	return nil
}

// inPlace makes sure that what is written now will be read later: somebody may have
// removed, replaced or emptied the file, as a rotation of logs does.
func (l *Ledger) inPlace() error {
	path := l.file.Name()
	there, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	mine, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	if !os.SameFile(there, mine) || mine.Size() < l.size {
		return fmt.Errorf("%w: %s was replaced or shortened by somebody else; put back what it held", ErrUnusable, path)
	}
	return nil
}

func (l *Ledger) roll(first int64) error {
	path := filepath.Join(l.dir, fmt.Sprintf(segmentName, first))
	var f *os.File
	err := l.take(spool.Step{Name: "ledger.segment.create", Op: spool.OpCreate, Path: path}, func() (err error) {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
		return err
	})
	if err == nil {
		err = l.syncDir("ledger.segment")
	}
	if err != nil {
		if f != nil {
			_ = f.Close()
		}
		return fmt.Errorf("begin a ledger segment: %w", err)
	}
	if l.file != nil {
		_ = l.file.Close() // all of it is fsynced
	}
	l.file, l.base, l.size = f, l.base+l.size, 0
	return nil
}

// opTruncate is a kind of step that only the ledger takes.
const opTruncate spool.Op = "truncate"

func (l *Ledger) truncate(step string) error {
	return l.take(spool.Step{Name: step + ".truncate", Op: opTruncate, Path: l.file.Name()},
		func() error { return l.file.Truncate(l.size) })
}

func (l *Ledger) sync(step string) error {
	return l.take(spool.Step{Name: step + ".fsync", Op: spool.OpSync, Path: l.file.Name()}, l.file.Sync)
}

func (l *Ledger) syncDir(step string) error {
	return l.take(spool.Step{Name: step + ".fsyncdir", Op: spool.OpSyncDir, Path: l.dir}, func() error {
		d, err := os.Open(l.dir)
		if err != nil {
			return err
		}
		return errors.Join(d.Sync(), d.Close())
	})
}

func (l *Ledger) take(s spool.Step, apply func() error) error {
	if l.seam == nil {
		return apply()
	}
	return l.seam(s, apply)
}

// Close closes the record; everything in it is durable already.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = errors.New("the ledger is closed")
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
