package gate

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/threegate/tool-exec/gate/access"
	"github.com/threegate/tool-exec/gate/trouble"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// How much of one user may lie in quarantine that nobody decided on: above that, their requests wait in the inbox.
const (
	maxUndecided      = 500
	maxUndecidedBytes = 4 << 30
)

// senders counts what was refused of each user but root, and not rejected or released by a person. It is safe for
// concurrent use.
type senders struct {
	mu   sync.Mutex
	sent map[string]sent // by job
	of   map[uint32]sent // the sum of each user
	told map[uint32]bool // who was told of as one whose requests wait
}

type sent struct {
	uid   uint32
	items int
	bytes int64
}

// add counts a refused job.
func (s *senders) add(job string, uid uint32, bytes int64) {
	if isRoot(int(uid)) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent == nil {
		s.sent, s.of, s.told = map[string]sent{}, map[uint32]sent{}, map[uint32]bool{}
	}
	s.sent[job] = sent{uid, 1, bytes}
	s.of[uid] = sent{uid, s.of[uid].items + 1, s.of[uid].bytes + bytes}
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

// full says whether requests of a user wait because too much of theirs lies undecided in quarantine.
func (g *Gate) full(uid uint32) bool {
	if g.people.Approvers == 0 {
		return false
	}
	s := &g.senders
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.of[uid]
	over := x.items >= maxUndecided || x.bytes >= maxUndecidedBytes
	if !over && !s.told[uid] {
		return false
	}
	name := access.UserName(int(uid))
	what := "sender " + name
	s.told[uid] = over
	if !over {
		g.troubles.Clear(what)
		return false
	}
	g.troubles.Set(trouble.Trouble{What: what, Doing: "requests of the user " + name + " wait in the inbox",
		Code:  schemas.CodePolicy,
		Error: fmt.Sprintf("%d refused ones of theirs, of %d bytes, lie undecided in quarantine", x.items, x.bytes),
		Hint:  "an auditor decides on them: threegate quarantine list, reject, release"})
	return true
}
