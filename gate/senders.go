package gate

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/threegate/tool-exec/gate/access"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/trouble"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// What one user may cost the node. Above that more of theirs waits in the folder where they put it, and nobody else for
// them. Subordinate users share what their person may cost.
const (
	// maxUndecided and maxUndecidedBytes bound what lies in quarantine that nobody decided on.
	maxUndecided      = 500
	maxUndecidedBytes = 4 << 30
	// ordersPerMinute bounds orders, idlePerDay those of them that come to nothing, and maxIdleBytes what is kept of
	// such a one.
	ordersPerMinute = 100
	idlePerDay      = 1000
	maxIdleBytes    = 4 << 10
)

// isRoot says whether a user is root, or the one that the node runs as.
func isRoot(uid int) bool { return uid == 0 || uid == os.Geteuid() }

// senders counts what was refused of each user but root, and not rejected or released by a person. It is safe for
// concurrent use.
type senders struct {
	mu   sync.Mutex
	sent map[string]sent // by job
	of   map[int]sent    // the sum of each user
	told map[int]told    // whose requests wait, as the troubles have it
	may  map[int]asked
}

type sent struct {
	uid, items int
	bytes      int64
}

// told is why requests of a user wait, and when one was last seen.
type told struct {
	why  string
	seen time.Time
}

// asked is what the host last said of a user: whether they are an approver.
type asked struct {
	is  bool
	err error
	at  time.Time
}

// askAgain is how long that holds: a flood of requests is one question. A host that does not answer is left alone for
// askLater, since the intake waits for it.
const (
	askAgain = 10 * time.Second
	askLater = time.Minute
)

// add counts a refused job.
func (s *senders) add(job string, uid uint32, bytes int64) {
	if isRoot(int(uid)) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent == nil {
		s.sent, s.of = map[string]sent{}, map[int]sent{}
	}
	owner := access.Owner(int(uid))
	s.sent[job] = sent{owner, 1, bytes}
	s.of[owner] = sent{owner, s.of[owner].items + 1, s.of[owner].bytes + bytes}
}

// decided takes off a job on which a person decided.
func (s *senders) decided(job string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, ok := s.sent[job]; ok {
		delete(s.sent, job)
		s.of[x.uid] = sent{x.uid, s.of[x.uid].items - 1, s.of[x.uid].bytes - x.bytes}
	}
}

// loadSenders counts what lies in quarantine.
func (g *Gate) loadSenders() error {
	dir := filepath.Join(g.config().Dir, spool.DirQuarantineRequests)
	es, err := os.ReadDir(dir)
	if err != nil || g.people.Approvers == 0 { // else the inboxes are root's
		return err
	}
	for _, e := range es {
		if x, _ := g.journal.Job(e.Name()); x.Rejected {
			continue
		}
		c, err := spool.ReadClaim(filepath.Join(dir, e.Name()))
		if err == nil { // else it is damaged, and nobody's
			g.senders.add(e.Name(), c.Origin.UID, c.Bytes())
		}
	}
	return nil
}

// waits says whether requests of a user wait: because too much of theirs lies undecided in quarantine, or because they
// are no approver today. The troubles say so, too.
func (g *Gate) waits(uid uint32) bool {
	if g.people.Approvers == 0 || isRoot(int(uid)) {
		return false
	}
	owner := access.Owner(int(uid))
	s := &g.senders
	s.mu.Lock()
	defer s.mu.Unlock()
	why, hint := "", "an auditor decides on them: threegate quarantine list, reject, release"
	if x := s.of[owner]; x.items >= maxUndecided || x.bytes >= maxUndecidedBytes {
		why = fmt.Sprintf("%d refused ones of theirs, of %d bytes, lie undecided in quarantine", x.items, x.bytes)
	} else if is, err := s.isApprover(int(uid), g.people.Approvers); err != nil {
		why, hint = err.Error(), "the host must be able to say who is in access.approvers"
	} else if !is {
		why = fmt.Sprintf("the host does not have the user %s in access.approvers%s", access.UserName(int(uid)),
			inBrackets(g.config().Access.Approvers))
		hint = "make them a member, or remove their requests from the inbox"
	}
	if why == "" {
		return false
	}
	if s.told == nil {
		s.told = map[int]told{}
	}
	last := s.told[owner].why
	s.told[owner] = told{why, time.Now()}
	if why != last { // else it is one of many
		name := access.UserName(owner)
		g.troubles.Set(trouble.Trouble{What: "sender " + name, Code: schemas.CodePolicy, Error: why, Hint: hint,
			Doing: "requests of the user " + name + " wait in the inbox"})
	}
	return true
}

// forgiveSenders takes out of the troubles whose requests wait no longer: they were not seen at the last sweeps.
func (g *Gate) forgiveSenders() {
	s := &g.senders
	s.mu.Lock()
	defer s.mu.Unlock()
	for owner, t := range s.told {
		if time.Since(t.seen) > 2*g.config().Node.Sweep+statusEvery {
			delete(s.told, owner)
			g.troubles.Clear("sender " + access.UserName(owner))
		}
	}
}

// isApprover asks the host. No subordinate user is one.
func (s *senders) isApprover(uid, group int) (bool, error) {
	if access.Owner(uid) != uid {
		return false, nil
	}
	a, known := s.may[uid]
	if age := time.Since(a.at); !known || age > askLater || a.err == nil && age > askAgain {
		a.is, a.err = access.Member(uid, group)
		a.at = time.Now()
		if s.may == nil {
			s.may = map[int]asked{}
		}
		s.may[uid] = a
	}
	return a.is, a.err
}

// ordersTaken is what a gate keeps of orders between two passes. It belongs to takeOrders.
type ordersTaken struct {
	// undone are the digests of orders that are decided, and not done yet. It is nil before the first pass.
	undone []string
	// stays is what is on record as no order, and can't be moved away, by its name.
	stays map[string]spool.Given
	since time.Time
	of    map[int]int     // orders of each user since then
	told  map[string]bool // users who are in the troubles
}

// mayTake says whether another order of a user is taken up now.
func (g *Gate) mayTake(uid int) bool {
	if isRoot(uid) {
		return true
	}
	t, now := &g.taken, g.now()
	if now.Sub(t.since).Abs() > time.Minute {
		t.since, t.of = now, map[int]int{}
	}
	if t.of[uid]++; t.of[uid] > ordersPerMinute {
		return false
	}
	name := nameOf(uid)
	if !g.journal.idles(name, now) {
		return true
	}
	t.told[name] = true
	g.troubles.Set(trouble.Trouble{What: "orders of " + name, Doing: "orders of the user " + name + " wait",
		Code: schemas.CodePolicy, Error: fmt.Sprintf("%d of theirs came to nothing within a day", idlePerDay),
		Hint: "find out what they do: threegate events; remove what they left in orders, or wait for a day"})
	return false
}

// forgiveOrders takes users out of the troubles whose orders are taken up again.
func (g *Gate) forgiveOrders() {
	for name := range g.taken.told {
		if !g.journal.idles(name, g.now()) {
			delete(g.taken.told, name)
			g.troubles.Clear("orders of " + name)
		}
	}
}

// nameOf is a user as the record has them, "" for root.
func nameOf(uid int) string {
	switch {
	case isRoot(uid):
		return ""
	case uid < 0:
		return "unknown"
	}
	return access.UserName(uid)
}

// noteIdle counts an order that came to nothing. Of each user the last ones are enough.
func (b *journal) noteIdle(e ledger.Event) {
	if e.Order == "" && e.OrderBytes == nil || e.ByUser == "" ||
		e.Type != ledger.OrderRefused && e.Type != ledger.RequestRefused {
		return
	}
	if b.idle == nil {
		b.idle = map[string][]time.Time{}
	}
	person := e.ByUser
	if uid, err := strconv.Atoi(person); err == nil {
		person = nameOf(access.Owner(uid))
	}
	list := append(b.idle[person], e.Time)
	b.idle[person] = list[max(0, len(list)-idlePerDay):]
}

// idles says whether too many orders of a user came to nothing in the day before now. What a clock that went wrong put
// into the future does not count.
func (b *journal) idles(user string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, at := range b.idle[user] {
		if age := now.Sub(at); age >= 0 && age < 24*time.Hour {
			n++
		}
	}
	return n >= idlePerDay
}
