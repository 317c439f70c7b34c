package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// ErrChanged says that a record which is followed is not the one that was read so
// far: its file was shortened, replaced or removed.
var ErrChanged = errors.New("the record was shortened, replaced or removed while it was being read")

// Follower reads the record in a folder, and goes on where it was: each event is
// read and checked once, however often it looks. It is not safe for concurrent use.
type Follower struct {
	dir   string
	about []byte
	path  string      // the segment that it stands in; "" before the first
	file  os.FileInfo // of path, as it was last
	at    replayed    // size: of what was read of path
	wrong func(error) error
}

// Follow begins at the start of the record in dir.
func Follow(dir string) *Follower {
	return &Follower{dir: dir, at: replayed{prev: zeroHash}, wrong: func(err error) error { return err }}
}

// FollowRequest is Follow of the events about a request id. Of all others only the chain is checked, which takes a
// small part of the time.
func FollowRequest(dir, id string) *Follower { return followField(dir, "requestId", id) }

// FollowPrefix is FollowRequest of the events about all request ids that begin with prefix.
func FollowPrefix(dir, prefix string) *Follower {
	f := FollowRequest(dir, prefix)
	f.about = bytes.TrimSuffix(f.about, []byte(`"`))
	return f
}

// FollowJob is FollowRequest of the events of a job.
func FollowJob(dir, id string) *Follower { return followField(dir, "runId", id) }

// FollowType is FollowRequest of the events of a type.
func FollowType(dir string, t Type) *Follower { return followField(dir, "type", string(t)) }

func followField(dir, name, id string) *Follower {
	f := Follow(dir)
	value, _ := json.Marshal(id) // of a string
	f.about = fmt.Appendf(nil, "%q:%s", name, value)
	return f
}

// Read calls each with every event that was recorded since the last Read, in
// order, checking the chain; a torn last line, which a running gate may just be
// writing, is left for the next Read. After an error of each, that event is the
// first of the next Read.
func (f *Follower) Read(each func(Event) error) error {
	segs, err := segments(f.dir)
	if err != nil {
		return err
	}
	at := 0
	if f.path != "" {
		if at = slices.Index(segs, f.path); at < 0 {
			return fmt.Errorf("read ledger: %s: %w", filepath.Base(f.path), ErrChanged)
		}
	}
	for i, seg := range segs[at:] {
		if seg != f.path {
			f.path, f.file, f.at.base, f.at.size = seg, nil, f.at.base+f.at.size, 0
		}
		if err := f.readOn(at+i == len(segs)-1, each); err != nil {
			return err
		}
	}
	return nil
}

// Head returns the number and hash of the last event that was read.
func (f *Follower) Head() (int64, string) { return f.at.seq, f.at.prev }

// readOn reads what came to the segment.
func (f *Follower) readOn(last bool, each func(Event) error) error {
	file, err := openSegment(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read ledger: %w", err)
	}
	if f.file != nil && !os.SameFile(f.file, info) || info.Size() < f.at.size {
		return fmt.Errorf("read ledger: %s: %w", filepath.Base(f.path), ErrChanged)
	}
	f.file = info
	if _, err := file.Seek(f.at.size, io.SeekStart); err != nil {
		return fmt.Errorf("read ledger: %w", err)
	}
	f.at, err = readLines(file, f.path, f.at, last, f.about, each, f.wrong)
	return err
}

// Read is one look of a Follower at the whole record. It returns the last sequence
// number and hash.
func Read(dir string, each func(Event) error) (int64, string, error) {
	f := Follow(dir)
	err := f.Read(each)
	seq, head := f.Head()
	return seq, head, err
}

// ReadOn is Read of a record that may be damaged: wrong is told what is, and the reading goes on behind it. An error
// says that the record can't be read at all.
func ReadOn(dir string, each func(Event) error, wrong func(error)) (int64, string, error) {
	f := Follow(dir)
	f.wrong = func(err error) error { wrong(err); return nil }
	err := f.Read(each)
	seq, head := f.Head()
	return seq, head, err
}
