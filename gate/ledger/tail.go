package ledger

import (
	"bytes"
	"io"
)

// Tail reads the events in the last bytes of the record in dir, the oldest first, at a cost that does not grow with the
// record. They are for hints: the chain is not checked, and what can't be read is left out.
func Tail(dir string, size int64) []Event {
	segs, err := segments(dir)
	var events []Event
	for i := len(segs) - 1; err == nil && i >= 0 && size > 0; i-- {
		var found []Event
		found, size = tailOf(segs[i], size)
		events = append(found, events...)
	}
	return events
}

// tailOf reads the end of a segment, and returns how many bytes may still be read.
func tailOf(path string, size int64) (events []Event, left int64) {
	f, err := openSegment(path)
	if err != nil {
		return nil, 0
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0
	}
	from := max(0, info.Size()-size)
	data, err := io.ReadAll(io.NewSectionReader(f, from, size))
	if err != nil {
		return nil, 0
	}
	for i, line := range bytes.SplitAfter(data, []byte("\n")) {
		whole := bytes.HasSuffix(line, []byte("\n")) && (i > 0 || from == 0)
		if e, err := Parse(bytes.TrimSuffix(line, []byte("\n"))); whole && err == nil {
			events = append(events, e)
		}
	}
	return events, size - info.Size()
}
