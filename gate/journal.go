package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// step takes a job to its next state. The work of each state ends with an event
// that announces where the job goes; then the job's folder is renamed to there.
// Nothing begins before what came before it is durable. So a step that was cut off
// before its event is done again, and one that was cut off after it only lacks the
// rename: recovery is this function.
func (g *Gate) step(ctx context.Context, j *spool.Job) error {
	if g.journal.next(j) == "" {
		if err := g.work(ctx, j); err != nil {
			return err
		}
	}
	return g.follow(ctx, j)
}

// work does what a job's state asks for, up to the event.
func (g *Gate) work(ctx context.Context, j *spool.Job) error {
	if j.Damage != nil {
		return g.refuseDamaged(ctx, j)
	}
	switch j.State {
	case spool.StateClaimed:
		return g.admit(ctx, j)
	case spool.StateAdmitted:
		if refused, err := g.readmit(ctx, j); refused || err != nil {
			return err
		}
		return g.start(ctx, j)
	case spool.StateRunning:
		return g.collect(ctx, j)
	case spool.StateFinished:
		return g.deliver(ctx, j)
	}
	return fmt.Errorf("job %s is in no state of a job in progress: %q", j.ID, j.State)
}

// follow makes the rename that a job's last event announced.
func (g *Gate) follow(ctx context.Context, j *spool.Job) error {
	to := g.journal.next(j)
	if to == "" {
		return nil
	}
	var err error
	if to == spool.StateDelivered {
		err = g.publish(j)
	}
	if err == nil {
		err = g.tell(j)
	}
	if err == nil && to == spool.StateDelivered {
		err = j.Archive(g.journal.endOf(j.ID))
	} else if err == nil {
		err = j.Move(to)
	}
	switch {
	case err != nil:
		return err
	case j.State.Ended():
		g.journal.forget(j.ID)
	case j.State == spool.StateFinished:
		// Nobody needs the sandbox any more. Should the gate die now, the next one
		// removes it at its start.
		g.cleaner.remove(ctx, j.ID)
	}
	return nil
}

// journal is what the ledger tells, as far as steps need it: which request ids
// were ever admitted, what the last event of each job in progress announced, and of what
// CORE was told by a notice.
type journal struct {
	mu   sync.Mutex
	ids  map[string]admitted
	jobs map[string]announced
	told map[string]told
	// orders are the orders of people that are on record, by digest.
	orders map[string]ledger.Type
	// released are the releases of jobs, in order.
	released map[string][]ledger.Event
	// cancelled are the request ids, in small letters, that people cancelled.
	cancelled map[string]bool
}

// told is who told CORE last about a subject: the job, by the event of that number. The last one
// on record counts, whoever comes first to the folder.
type told struct {
	job  string
	seq  int64
	gone bool // that an earlier notice is no longer true
}

// admitted is the job under which a request id was admitted.
type admitted struct {
	request string
	job     string
	sha256  string
}

// announced is what the last event of a job tells of where it goes.
type announced struct {
	to        spool.State
	requestID string
	resultID  string
	at        time.Time
	// tells is the name of a notice: that of notice, or without one of a notice that is no longer true.
	tells  string
	notice *schemas.Notice
}

func newJournal() *journal {
	return &journal{ids: map[string]admitted{}, jobs: map[string]announced{}, told: map[string]told{},
		orders: map[string]ledger.Type{}, released: map[string][]ledger.Event{}, cancelled: map[string]bool{}}
}

// note takes in one event, in the replay at the start and when it was recorded.
func (b *journal) note(e ledger.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.Type == ledger.DeliveryAttempted && e.Outcome == ledger.Delivered {
		b.ids[strings.ToLower(e.RequestID)] = admitted{request: e.RequestID, job: e.RunID, sha256: e.RequestSHA256}
	}
	if e.Type == ledger.RequestCancelled {
		b.cancelled[strings.ToLower(e.RequestID)] = true
	}
	if e.Order != "" {
		b.orders[e.Order] = e.Type
	}
	if e.Type == ledger.QuarantineReleased {
		b.released[e.RunID] = append(b.released[e.RunID], e)
	}
	to := ledger.Announces(e)
	next := announced{to: to, requestID: e.RequestID, resultID: e.ResultID, at: e.Time}
	if notice := ledger.NoticeOf(e); notice != nil {
		next.tells, next.notice = e.Notice, notice
		b.tell(e.Notice, told{job: e.RunID, seq: e.Seq})
	} else if was, ok := b.told[e.RequestID]; ok && !was.gone && ledger.Withdraws(e) {
		next.tells = e.RequestID
		b.tell(e.RequestID, told{job: e.RunID, seq: e.Seq, gone: true})
	}
	if to != "" {
		b.jobs[e.RunID] = next
	}
}

// tell notes who told CORE about a subject, unless an event behind that one is noted already.
func (b *journal) tell(subject string, t told) {
	if t.seq >= b.told[subject].seq {
		b.told[subject] = t
	}
}

// toldBy is the job that told CORE last about a subject.
func (b *journal) toldBy(subject string) (job string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.told[subject]
	return t.job, ok
}

// withdrawn says whether what CORE was told about a subject is no longer true.
func (b *journal) withdrawn(subject string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.told[subject].gone
}

// ordered returns the event that an order led to, if it is on record.
func (b *journal) ordered(sha256 string) (ledger.Type, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.orders[sha256]
	return t, ok
}

// releasesOf are the releases of a job and of the request that it is about.
func (b *journal) releasesOf(j *spool.Job) []ledger.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []ledger.Event
	for _, e := range b.released[j.ID] {
		if e.RequestSHA256 == j.SHA256 {
			list = append(list, e)
		}
	}
	return list
}

// releasing are the jobs whose last event takes them out of quarantine.
func (b *journal) releasing() (jobs []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range b.released {
		if to := b.jobs[id].to; to == spool.StateClaimed || to == spool.StateFinished {
			jobs = append(jobs, id)
		}
	}
	slices.Sort(jobs)
	return jobs
}

// keep forgets all jobs but these.
func (b *journal) keep(jobs map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range b.jobs {
		if !jobs[id] {
			delete(b.jobs, id)
		}
	}
}

func (b *journal) forget(job string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.jobs, job)
}

// next is the state that a job has yet to go to, or "" if it is where its last
// event announced it. A node of the layout before this journal may have left a job
// several states behind; see TestTakesOverAnOlderNode.
func (b *journal) next(j *spool.Job) spool.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	to := b.jobs[j.ID].to
	switch {
	case to == "" || to == j.State:
		return ""
	case j.Damage != nil:
		if !to.Ended() || to == spool.StateDelivered {
			return "" // it is refused first
		}
		return to
	}
	return j.State.Step(to)
}

// isCancelled says whether a person cancelled a request id.
func (b *journal) isCancelled(requestID string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cancelled[strings.ToLower(requestID)]
}

// at is where a job's last event announced it, or "" if it has ended.
func (b *journal) at(job string) spool.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.jobs[job].to
}

// resultOf are the ids of the result that a job's last event announced, and of its request.
func (b *journal) resultOf(job string) (result, request string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.jobs[job].resultID, b.jobs[job].requestID
}

// endOf is when a job's last event was recorded. Its month in the archive is that one's.
func (b *journal) endOf(job string) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.jobs[job].at
}

// tells returns the name and the content of the notice that a job's last event announced;
// without a content the one of that name is no longer true.
func (b *journal) tells(job string) (name string, notice *schemas.Notice) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.jobs[job].tells, b.jobs[job].notice
}

// admittedAs returns the job under which a request id was admitted, if ever. People and
// file systems may not tell capitals from small letters, so ids that differ only by them are one.
func (b *journal) admittedAs(requestID string) (admitted, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, ok := b.ids[strings.ToLower(requestID)]
	return a, ok
}

// requestOf returns the request that was admitted as a job, if any was.
func (b *journal) requestOf(job string) (id, sha256 string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.ids {
		if a.job == job {
			return a.request, a.sha256, true
		}
	}
	return "", "", false
}
