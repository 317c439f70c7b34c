package egress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool/durable"
)

// usageStep is how many bytes a run may move before the log is written again. It
// is written first: after a crash it says more than was used, never less.
const usageStep = 1 << 20

// logLine is one line of the log: a decision, if there is one, and what the run
// has used.
type logLine struct {
	Decision
	Usage
}

// recorder keeps the decisions of one run, in memory and in its log. The limit
// of requests bounds both. It is safe for concurrent use.
type recorder struct {
	mu     sync.Mutex
	seen   map[Decision]bool
	used   Usage
	logged Usage // what the log says of it
	file   *os.File
	size   int64 // of the whole lines in file
}

// openRecorder goes on with what the log holds. Nobody but the gate may be able
// to write into the log's folder.
func openRecorder(path string) (*recorder, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("egress log: %w", err)
	}
	r := &recorder{seen: map[Decision]bool{}, file: f}
	err = r.load(f)
	if err == nil {
		err = f.Truncate(r.size)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("egress log: %w", err)
	}
	return r, nil
}

// ReadLog reports what the log at path says. A log that is not there is an
// empty one: nothing was asked for.
func ReadLog(path string) (Report, error) {
	f, err := durable.OpenRegular(path)
	if errors.Is(err, os.ErrNotExist) {
		return Report{}, nil
	}
	if err != nil {
		return Report{}, fmt.Errorf("egress log: %w", err)
	}
	defer f.Close()
	r := &recorder{seen: map[Decision]bool{}}
	if err := r.load(f); err != nil {
		return Report{}, fmt.Errorf("egress log: %w", err)
	}
	return r.report(), nil
}

// load reads the log. A last line without its end is one that a crash cut short:
// what it would have announced was never done.
func (r *recorder) load(f *os.File) error {
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		r.size += int64(len(line))
		var l logLine
		if schemas.DecodeStrict(line, &l) != nil || !l.Decision.valid() {
			r.seen[Decision{Cause: CauseUnreadable}] = true
			continue
		}
		if l.Cause != "" {
			r.seen[l.Decision] = true
		}
		r.used, r.logged = l.Usage, l.Usage
	}
	return nil
}

// valid says whether a decision that was read is one that is written.
func (d Decision) valid() bool {
	if d.Host == "" {
		return d.Port == 0 && (d.Cause == "" || texts[d.Cause] != "")
	}
	want := endpoint{d.Host, d.Port}
	e, err := parseEndpoint(want.String(), 0)
	return err == nil && e == want && texts[d.Cause] != ""
}

// note records a decision. It is in the log when note returns nil.
func (r *recorder) note(e endpoint, c Cause) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := Decision{e.host, e.port, c}
	if r.seen[d] {
		return nil
	}
	if err := r.write(d); err != nil {
		return err
	}
	r.seen[d] = true
	return nil
}

// request takes one of at most limit requests and says whether there was one.
func (r *recorder) request(limit int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used.Requests >= limit {
		return false
	}
	r.used.Requests++
	r.logged.Requests = r.used.Requests
	return r.write(Decision{}) == nil
}

// sent takes up to n of at most limit bytes to hosts, and returns how many may pass.
func (r *recorder) sent(n int, limit int64) int {
	return r.spend(&r.used.Up, &r.logged.Up, int64(n), limit)
}

// received is sent, for bytes from hosts.
func (r *recorder) received(n int, limit int64) int {
	return r.spend(&r.used.Down, &r.logged.Down, int64(n), limit)
}

func (r *recorder) spend(used, logged *int64, n, limit int64) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	granted := max(0, min(n, limit-*used))
	if *used+granted > *logged {
		before := *logged
		*logged = min(*used+granted+usageStep, limit)
		if r.write(Decision{}) != nil {
			*logged = before
			return 0
		}
	}
	*used += granted
	return int(granted)
}

// write appends one line. It must be called with the lock held.
func (r *recorder) write(d Decision) error {
	if r.file == nil {
		return ErrClosed
	}
	line, err := json.Marshal(logLine{d, r.logged})
	if err != nil {
		return fmt.Errorf("egress log: %w", err)
	}
	if _, err := r.file.Write(append(line, '\n')); err != nil {
		return errors.Join(fmt.Errorf("egress log: %w", err), r.file.Truncate(r.size)) // no half line stays
	}
	r.size += int64(len(line)) + 1
	return nil
}

// report leaves out that a destination was asked for if it is known what came of it.
func (r *recorder) report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	rep := Report{Usage: r.used}
	for d := range r.seen {
		known := false
		if d.Cause == CauseAsked {
			for _, c := range []Cause{CauseReached, CauseUnresolved, CauseUnreachable, CauseAddress} {
				known = known || r.seen[Decision{d.Host, d.Port, c}]
			}
		}
		if !known {
			rep.Decisions = append(rep.Decisions, d)
		}
	}
	slices.SortFunc(rep.Decisions, compareDecisions)
	return rep
}

// close writes what was used in the end. It may be called again.
func (r *recorder) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	r.logged = r.used
	err := errors.Join(r.write(Decision{}), r.file.Close())
	r.file = nil
	return err
}
