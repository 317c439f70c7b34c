package ledger

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool/durable"
)

// ErrDamaged says that the record is not as it was written: a line was changed,
// removed or inserted, or is none.
var ErrDamaged = errors.New("the record is damaged")

// damage is an error that matches ErrDamaged and says where.
type damage struct{ error }

func (damage) Is(target error) bool { return target == ErrDamaged }
func (d damage) Unwrap() error      { return d.error }

// segments lists the segment files in order. A folder that can't be listed is an
// error: a record that may not be read is not empty.
func segments(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if ok, _ := filepath.Match(segmentGlob, e.Name()); ok { // the pattern is sound
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

type replayed struct {
	seq  int64
	prev string
	size int64 // of the whole lines
	torn int64 // bytes after them
	base int64 // bytes of the segments before
}

// readLines reads whole lines from where r says that f stands. Of those without the text about, if it is not empty,
// only the place in the chain is checked. What is damaged is told to wrong. If that returns nil, the reading goes on
// behind it. Both events between which the chain breaks are given to each: one of them was changed, or what was between
// them is gone.
func readLines(f io.Reader, path string, r replayed, last bool, about []byte, each func(Event) error,
	wrong func(error) error) (replayed, error) {
	br := bufio.NewReaderSize(f, maxLineBytes)
	damaged := func(err error) error {
		return wrong(damage{fmt.Errorf("ledger %s: event %d: %w", filepath.Base(path), r.seq+1, err)})
	}
	for {
		line, size, err := nextLine(br)
		switch {
		case errors.Is(err, io.EOF):
			r.torn = size
			if size > 0 && !last {
				return r, damaged(errors.New("is only half a line"))
			}
			return r, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return r, fmt.Errorf("ledger %s: after event %d: %w", filepath.Base(path), r.seq, err)
		}
		seq := r.seq + 1
		if err != nil || len(about) == 0 || bytes.Contains(line, about) || !seemsNext(line, seq, r.prev) {
			var e Event
			if err == nil {
				e, err = Parse(line)
			}
			if err != nil {
				if err := damaged(err); err != nil {
					return r, err
				}
				r.seq, r.prev, r.size = seq, "", r.size+size // nobody knows what the next one must follow
				continue
			}
			if err := e.follows(seq, cmp.Or(r.prev, e.Prev)); err != nil {
				if err := damaged(err); err != nil {
					return r, err
				}
			}
			seq, e.Offset = e.Seq, r.base+r.size
			if err := each(e); err != nil {
				return r, err
			}
		}
		r.seq, r.prev, r.size = seq, schemas.SHA256(line), r.size+size
	}
}

// nextLine is the next line without its end, and its length with that. io.EOF comes with half a line, if there is one.
// What is longer than an event can be is passed over, with bufio.ErrBufferFull.
func nextLine(br *bufio.Reader) (line []byte, size int64, err error) {
	line, err = br.ReadSlice('\n')
	size = int64(len(line))
	if !errors.Is(err, bufio.ErrBufferFull) {
		return bytes.TrimSuffix(line, []byte("\n")), size, err
	}
	rest := err
	for errors.Is(rest, bufio.ErrBufferFull) {
		line, rest = br.ReadSlice('\n')
		size += int64(len(line))
	}
	if rest != nil && !errors.Is(rest, io.EOF) {
		err = rest
	}
	return nil, size, err
}

// seemsNext says whether a line holds the number and the hash by which it follows on, without reading it as JSON.
func seemsNext(line []byte, seq int64, prev string) bool {
	return bytes.Contains(line, []byte(`"prev":"`+prev+`"`)) &&
		bytes.Contains(line, append(strconv.AppendInt([]byte(`"seq":`), seq, 10), ','))
}

// Parse reads one line of a record strictly, without its newline.
func Parse(line []byte) (Event, error) {
	var e Event
	if err := schemas.DecodeStrict(line, &e); err != nil {
		return e, fmt.Errorf("is damaged: %w", err)
	}
	return e, e.check()
}

// follows checks the place of an event in the chain.
func (e *Event) follows(seq int64, prev string) error {
	if e.Seq != seq {
		return fmt.Errorf("has sequence number %d: an event is missing or was inserted", e.Seq)
	}
	if e.Prev != prev {
		return errors.New("does not fit the event before it: one of the two was changed")
	}
	return nil
}

// EventAt reads again the event whose line begins at an offset of the record in dir. Its place in the chain is not
// checked: whoever has the offset read it before.
func EventAt(dir string, offset int64) (Event, error) {
	segs, err := segments(dir)
	if err != nil {
		return Event{}, err
	}
	at := offset
	for _, seg := range segs {
		info, err := os.Stat(seg)
		if err != nil {
			return Event{}, fmt.Errorf("read ledger: %w", err)
		}
		if at >= info.Size() {
			at -= info.Size()
			continue
		}
		f, err := openSegment(seg)
		if err != nil {
			return Event{}, err
		}
		defer f.Close()
		line, err := bufio.NewReaderSize(io.NewSectionReader(f, at, maxLineBytes), 1<<10).ReadBytes('\n')
		if err != nil {
			return Event{}, damage{fmt.Errorf("ledger %s: no event lies at %d: %w", filepath.Base(seg), at, err)}
		}
		e, err := Parse(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			return Event{}, damage{fmt.Errorf("ledger %s: the event at %d %w", filepath.Base(seg), at, err)}
		}
		e.Offset = offset
		return e, nil
	}
	return Event{}, damage{fmt.Errorf("the ledger ends before byte %d", offset)}
}

// openSegment opens a segment to read it. A pipe in its place is not waited for, and no link is followed.
func openSegment(path string) (*os.File, error) {
	f, err := durable.OpenRegular(path)
	switch {
	case errors.Is(err, durable.ErrNotRegular):
		return nil, damage{fmt.Errorf("ledger %w", err)}
	case err != nil:
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	return f, nil
}

// eachLine reads the whole lines of one file.
func eachLine(path string, each func(line []byte) error) error {
	f, err := openSegment(path)
	if err != nil {
		return err
	}
	defer f.Close()
	br := bufio.NewReaderSize(f, maxLineBytes)
	for {
		line, _, err := nextLine(br)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return damage{fmt.Errorf("ledger %s: %w", filepath.Base(path), err)}
		}
		if err := each(line); err != nil {
			return err
		}
	}
}
