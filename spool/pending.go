package spool

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds on what is kept in memory of one inbox.
const (
	// maxQueued names are taken from one reading of an inbox; the rest stays for
	// the next reading.
	maxQueued = 1 << 17
	// maxStuck names that can't be claimed are remembered.
	maxStuck = 4096
)

// inboxState is what is known of one inbox. Spool.mu guards it.
type inboxState struct {
	Inbox
	queue []waiting // oldest first
	// unread says that the folder must be read again once the queue is empty.
	unread bool
	// due are its unfinished claims that may be tried again; namesTurn says that a
	// new name comes before them.
	due       []*openClaim
	namesTurn bool
	// mayRead keeps one call of Pending from reading after it handed out from
	// the queue: all of that is still there.
	mayRead     bool
	stuck       map[string]*retry // what can't be renamed out of it
	failed      error             // why the folder can't be read
	failedSince time.Time
	fails       int
	readings    int // how often the folder was read
}

// waiting is one name, when it came into its folder, and whose it is.
type waiting struct {
	name string
	at   int64 // ctime: unlike mtime, nobody can set it
	uid  uint32
}

func (w waiting) compare(o waiting) int {
	return cmp.Or(cmp.Compare(w.at, o.at), cmp.Compare(w.name, o.name))
}

// Pending returns up to limit requests to claim, in turn from every inbox, so that
// a flood in one delays no other: by turns a claim that was begun and could not be
// finished, and the new name that came first. While a Watch runs, a new name is
// offered again only after a failed Claim, an event or a sweep; without one an inbox
// is read whenever nothing of it is left. A folder is read once for all that waits
// in it, not once per request.
func (s *Spool) Pending(limit int) ([]Arrival, error) {
	if s.lock == nil {
		return nil, errClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.inboxes {
		in.mayRead = len(in.queue) == 0
		in.unread = in.unread || s.watchers == 0
		in.due = nil
	}
	s.findDue()
	var out []Arrival
	for len(out) < limit {
		a, ok := s.nextInTurn()
		if !ok {
			break
		}
		out = append(out, a)
	}
	return out, nil
}

// Skip makes Pending offer nothing of the inboxes that skip names.
func (s *Spool) Skip(skip func(inbox string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skip = skip
}

// SkipSenders makes Pending offer no request of those users that full names: those wait in their inbox.
func (s *Spool) SkipSenders(full func(uid uint32) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = full
}

// findDue sorts the unfinished claims that are due by inbox. The first inbox has
// those of an inbox that is no longer configured, too.
func (s *Spool) findDue() {
	if len(s.inboxes) == 0 {
		return
	}
	for _, h := range s.open {
		if h.busyNow || h.attempts == 0 || s.now().Before(h.next) {
			continue
		}
		in := s.inbox(h.Inbox.Name)
		if in == nil {
			in = s.inboxes[0]
		}
		in.due = append(in.due, h)
	}
	for _, in := range s.inboxes {
		slices.SortFunc(in.due, func(a, b *openClaim) int { return a.next.Compare(b.next) })
	}
}

// nextInTurn takes one request from the next inbox that has one.
func (s *Spool) nextInTurn() (Arrival, bool) {
	for range s.inboxes {
		in := s.inboxes[s.turn%len(s.inboxes)]
		s.turn++
		if s.skip != nil && s.skip(in.Name) {
			continue
		}
		in.namesTurn = !in.namesTurn
		if in.namesTurn || len(in.due) == 0 {
			if name, ok := s.nextName(in); ok {
				return Arrival{Inbox: in.Inbox, Name: name}, true
			}
		}
		if len(in.due) > 0 {
			h := in.due[0]
			in.due = in.due[1:]
			return Arrival{h.Inbox, "." + h.id}, true
		}
	}
	return Arrival{}, false
}

// nextName takes the next new name of an inbox.
func (s *Spool) nextName(in *inboxState) (string, bool) {
	for {
		if len(in.queue) == 0 && !s.refill(in) {
			return "", false
		}
		w := in.queue[0]
		in.queue[0] = waiting{}
		in.queue = in.queue[1:]
		if s.full != nil && s.full(w.uid) {
			continue // the next sweep finds it again
		}
		if st := in.stuck[w.name]; st == nil || !s.now().Before(st.next) {
			return w.name, true
		}
	}
}

// refill gets more names; false means that there are none.
func (s *Spool) refill(in *inboxState) bool {
	if !in.unread || !in.mayRead {
		return false
	}
	in.mayRead = false
	in.readings++
	names, more, err := s.read(in)
	if err != nil {
		if in.failed == nil { // once, not at every sweep
			in.failedSince = time.Now()
			s.log.Warn("nothing can be taken in from an inbox", "inbox", in.Name, "err", inboxReason(err))
		}
		in.failed = err
		in.fails++
		in.unread = false // until the next sweep
		return false
	}
	if in.failed != nil {
		s.log.Warn("an inbox can be read again", "inbox", in.Name, "since", in.failedSince.UTC().Format(time.RFC3339))
	}
	in.failed, in.fails = nil, 0
	in.unread = more
	in.queue = names
	return len(names) > 0
}

// read reads an inbox: at most maxQueued requests that are not stuck, oldest first,
// and whether there are more.
func (s *Spool) read(in *inboxState) (found []waiting, more bool, err error) {
	f, err := os.Open(in.Dir)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	seen := map[string]bool{}
	err = readDirNames(f, func(name string) bool {
		if !isRequestName(name) {
			return true
		}
		if st := in.stuck[name]; st != nil {
			seen[name] = true
			if s.now().Before(st.next) {
				return true
			}
		}
		var st unix.Stat_t
		if unix.Fstatat(int(f.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			return true // gone meanwhile
		}
		found = append(found, waiting{name, st.Ctim.Nano(), st.Uid})
		more = len(found) >= maxQueued
		return !more
	})
	if err != nil {
		return nil, false, err
	}
	for name := range in.stuck {
		if !seen[name] && !more {
			delete(in.stuck, name)
		}
	}
	slices.SortFunc(found, waiting.compare)
	return found, more, nil
}

// Waiting counts the requests that lie in an inbox, reading it by parts: it may
// hold a million files.
func Waiting(dir string) (int, error) {
	f, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	count := 0
	err = readDirNames(f, func(name string) bool {
		if isRequestName(name) {
			count++
		}
		return true
	})
	return count, err
}

// Sweep makes the next Pending read every inbox. Watch does it by itself.
func (s *Spool) Sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.inboxes {
		in.unread = true
	}
}

// arrived tells that an inbox has something new.
func (s *Spool) arrived(in *inboxState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.unread = true
}

// Stuck lists what can't be taken in now, in a stable order.
func (s *Spool) Stuck() []Stuck {
	s.mu.Lock()
	defer s.mu.Unlock()
	ts := []Stuck{} // printed as JSON
	for _, in := range s.inboxes {
		if in.failed != nil {
			ts = append(ts, Stuck{Inbox: in.Name, Reason: inboxReason(in.failed), Since: in.failedSince,
				Attempts: in.fails})
		}
		for name, st := range in.stuck {
			ts = append(ts, Stuck{in.Name, Quote(name), st.err.Error(), false, st.since, st.attempts, st.next})
		}
	}
	for _, h := range s.open {
		if h.err != nil {
			ts = append(ts, Stuck{h.Inbox.Name, Quote(h.Name), h.err.Error(), true, h.since, h.attempts, h.next})
		}
	}
	slices.SortFunc(ts, func(a, b Stuck) int {
		return cmp.Or(cmp.Compare(a.Inbox, b.Inbox), cmp.Compare(a.Name, b.Name))
	})
	return ts
}

func inboxReason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "the inbox is missing; make its folder again or mount it: " + err.Error()
	}
	return "the inbox can't be read: " + err.Error()
}

// noteStuck remembers a request that stays in its inbox.
func (s *Spool) noteStuck(a Arrival, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &ClaimError{Inbox: a.Inbox.Name, Name: Quote(a.Name), Err: err}
	in := s.inbox(a.Inbox.Name)
	if in == nil {
		return out
	}
	st := in.stuck[a.Name]
	if st == nil {
		if len(in.stuck) >= maxStuck {
			return out
		}
		st = &retry{since: s.now()}
		in.stuck[a.Name] = st
	}
	st.failed(s.now(), err, s.o.Retry, maxDelay)
	return out
}

// forget drops what is known of a request that is no longer in its inbox.
func (s *Spool) forget(a Arrival) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unstick(a)
}

func (s *Spool) unstick(a Arrival) {
	if in := s.inbox(a.Inbox.Name); in != nil {
		delete(in.stuck, a.Name)
	}
}

// putBack makes a name that was handed out the next one again.
func (s *Spool) putBack(a Arrival) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in := s.inbox(a.Inbox.Name); in != nil {
		in.queue = slices.Insert(in.queue, 0, waiting{name: a.Name})
	}
}

func (s *Spool) inbox(name string) *inboxState {
	for _, in := range s.inboxes {
		if in.Name == name {
			return in
		}
	}
	return nil
}

// nextDue says when something is to be tried again, if anything is.
func (s *Spool) nextDue() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due time.Time
	for _, h := range s.open {
		if !h.next.IsZero() && (due.IsZero() || h.next.Before(due)) {
			due = h.next
		}
	}
	return due, !due.IsZero()
}

// openClaim is an unfinished claim.
type openClaim struct {
	Arrival // as in the inbox
	retry
	id      string
	busyNow bool // a goroutine is at it
}

// retry is something that failed and is tried again, ever more rarely.
type retry struct {
	since    time.Time // the first try of this process
	attempts int
	next     time.Time
	err      error
}

// failed notes a try.
func (r *retry) failed(now time.Time, err error, first, most time.Duration) {
	r.err = err
	r.attempts++
	r.next = now.Add(backoff(first, most, r.attempts))
}

// backoff doubles from first up to most.
func backoff(first, most time.Duration, attempts int) time.Duration {
	delay := min(first, most)
	for ; attempts > 1 && delay < most; attempts-- {
		delay = min(2*delay, most)
	}
	return delay
}

// Waiting times between tries.
const (
	busyDelay = 20 * time.Millisecond
	maxDelay  = time.Minute
	maxBusy   = time.Second
)

// goOn finishes a claim, and remembers it if it can't.
func (s *Spool) goOn(id string, a Arrival) (*Job, error) {
	s.mu.Lock()
	h := s.open[id]
	if h == nil {
		h = &openClaim{Arrival: a, id: id, retry: retry{since: s.now()}}
		s.open[id] = h
	}
	if h.busyNow {
		s.mu.Unlock()
		return nil, ErrGone
	}
	h.busyNow = true
	timeUp := s.now().Sub(h.since) >= s.o.WaitForWriters
	s.mu.Unlock()

	j, err := s.complete(h, timeUp)
	if err = s.tried(h, err); err != nil {
		return nil, err
	}
	return j, nil
}

// tried ends a try to finish a claim: it is forgotten, or to be tried again.
func (s *Spool) tried(h *openClaim, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.busyNow = false
	if err == nil || errors.Is(err, ErrGone) {
		delete(s.open, h.id)
		s.unstick(h.Arrival)
		return err
	}
	if errors.Is(err, ErrBusy) {
		err = ErrBusy
		h.failed(s.now(), err, busyDelay, min(maxBusy, s.o.WaitForWriters))
	} else {
		h.failed(s.now(), err, s.o.Retry, maxDelay)
	}
	select {
	case s.kick <- struct{}{}:
	default: // one is waiting already
	}
	return &ClaimError{Inbox: h.Inbox.Name, Name: Quote(h.Name), InNode: true, Err: err}
}
