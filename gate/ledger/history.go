package ledger

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate/approval"
)

// History is what the requests, jobs, orders and notices of a record are by now: the one fold of its events.
// It is pure: the same events in the same order make the same history, whoever reads them. Of each job it
// keeps who it is, where it stands, and where in the record its last event lies: EventAt reads that again.
// It is safe for concurrent use. The zero value is ready, and empty.
type History struct {
	// Whole, if set, keeps the details of those requests for which it is true, for Requests.
	Whole func(*Request) bool

	mu        sync.Mutex
	jobs      []*[block]short
	count     uint32
	whole     map[uint32]*Request
	byID      map[key]uint32 // jobs, by their id
	byRequest map[key]uint32 // the job that a request id stands for, by the id in small letters
	notices   map[key]notice // what CORE was told last, by subject
	orders    map[[sha256.Size]byte]Type
	cancelled map[key]*Decision // by request id in small letters
	released  map[uint32][]Event
	names     strings.Builder
}

// Request is what a request is by now, by its events alone.
type Request struct {
	RequestID     string `json:"request_id"`
	RequestSHA256 string `json:"request_sha256,omitempty"`
	Job           string `json:"job,omitempty"`
	State         State  `json:"state"`
	// Requester asked for it, and Approvers are those whose approval counted when it was admitted. A record of an
	// older node has neither.
	Requester string              `json:"requester,omitempty"`
	Approvers []approval.Approver `json:"approvers,omitempty"`
	Backend   schemas.Backend     `json:"backend,omitempty"`
	// Rules are those that refused it or its result.
	Rules    []string      `json:"rules,omitempty"`
	ExitCode *int          `json:"exit_code,omitempty"`
	Cause    schemas.Cause `json:"cause,omitempty"`
	// Tools are its tool calls, if it told of them.
	Tools        *schemas.ToolCalls `json:"tools,omitempty"`
	ResultID     string             `json:"result_id,omitempty"`
	ResultSHA256 string             `json:"result_sha256,omitempty"`
	// Replaces is the id of the result that this one took the place of.
	Replaces  string `json:"replaces,omitempty"`
	Artifacts int    `json:"artifacts"`
	// Withheld is how many places and files its result does not hold.
	Withheld     int        `json:"withheld,omitempty"`
	AdmittedUTC  *time.Time `json:"admitted_utc,omitempty"`
	StartedUTC   *time.Time `json:"started_utc,omitempty"`
	EndedUTC     *time.Time `json:"ended_utc,omitempty"`
	DeliveredUTC *time.Time `json:"delivered_utc,omitempty"`
	// Released is what persons took back of the judgements on it.
	Released []schemas.Release `json:"released,omitempty"`
	// Cancelled and Rejected are the orders of persons that ended it.
	Cancelled *Decision `json:"cancelled,omitempty"`
	Rejected  *Decision `json:"rejected,omitempty"`
	// Recalled is the order that took its result back, and Took what was done with that result before.
	Recalled *Decision `json:"recalled,omitempty"`
	Took     *Took     `json:"took,omitempty"`

	// Place is where its job lies, and Seal that of the job's folder, if it has ended.
	Place spool.State `json:"-"`
	Seal  string      `json:"-"`
	first int64       // the event that admitted it, or else its first
}

// Decision is an order of a person that was carried out. The reason lies with the order of that digest.
type Decision struct {
	By      string    `json:"by"`
	ByUser  string    `json:"by_user,omitempty"` // of the host, if that was not root
	TimeUTC time.Time `json:"time_utc"`
	Order   string    `json:"order_sha256"`
	Reason  string    `json:"reason,omitempty"`
}

// Job is what a history keeps of every job.
type Job struct {
	ID        string
	RequestID string
	SHA256    string // of the request
	// Place is where the last event that moved it says that it lies.
	Place spool.State
	// At is where that event lies in the record, or a later one by which a person rejected it, or recalled or reissued
	// its result.
	At       int64
	Rejected bool
	Recalled bool
	Admitted bool // at any time
}

// block is how many jobs are kept next to each other: they never move, and no room for others is lost.
const block = 512

// short is a Job in as few bytes as can be: a node keeps one of each that it ever had.
type short struct {
	names    string // the request's id, which has no space, and behind one the job's
	sha256   [sha256.Size]byte
	at       int64
	place    uint8 // in places
	rejected bool
	recalled bool
	admitted bool
}

var places = []spool.State{"", spool.StateClaimed, spool.StateAdmitted, spool.StateRunning, spool.StateFinished,
	spool.StateDelivered, spool.StateRequestRefused, spool.StateResultRefused}

// key stands for an id or a subject. Nobody makes two of one key.
type key [16]byte

func keyOf(id string) key {
	sum := sha256.Sum256([]byte(id))
	return key(sum[:16])
}

// requestKey is one for ids that differ only by capitals: people and file systems may not tell them apart.
func requestKey(id string) key { return keyOf(strings.ToLower(id)) }

type notice struct {
	job  uint32
	gone bool // what was told is no longer true
}

// Note takes in the next event of the record.
func (h *History) Note(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byID == nil {
		h.whole, h.byID, h.byRequest = map[uint32]*Request{}, map[key]uint32{}, map[key]uint32{}
		h.notices, h.orders = map[key]notice{}, map[[sha256.Size]byte]Type{}
		h.cancelled, h.released = map[key]*Decision{}, map[uint32][]Event{}
	}
	if e.Order != "" {
		h.orders[digest(e.Order)] = e.Type
	}
	if e.Type == RequestCancelled {
		id := requestKey(e.RequestID)
		h.cancelled[id] = decision(e)
		if n, known := h.byRequest[id]; known && h.whole[n] != nil {
			h.whole[n].Cancelled = h.cancelled[id]
		}
		return
	}
	if e.RunID == "" {
		return
	}
	n := h.job(e)
	j, to := h.at(n), Announces(e)
	switch {
	case Rejects(e):
		j.at, j.rejected = e.Offset, true
		delete(h.released, n)
	case e.Type == ResultReissued:
		j.at = e.Offset
	case e.Type == ResultRecalled:
		j.at, j.recalled = e.Offset, true
	case e.Type == QuarantineReleased:
		h.released[n] = append(h.released[n], e)
	case to == spool.StateDelivered:
		delete(h.released, n)
	}
	if to != "" {
		j.at, j.place, j.rejected = e.Offset, uint8(slices.Index(places, to)), false
	}
	j.admitted = j.admitted || to == spool.StateAdmitted
	h.answers(e, n)
	h.tells(e, n)
	if r := h.whole[n]; r != nil {
		r.note(e)
		if r.State.Ended() && !h.Whole(r) {
			delete(h.whole, n)
		}
	}
}

// job finds the job of an event, or begins to keep it.
func (h *History) job(e Event) uint32 {
	n, known := h.byID[keyOf(e.RunID)]
	if !known {
		if h.count%block == 0 {
			h.jobs = append(h.jobs, new([block]short))
		}
		n, h.count = h.count, h.count+1
		h.byID[keyOf(e.RunID)] = n
	}
	if back := e.Type == QuarantineReleased && h.whole[n] == nil; h.Whole != nil && (!known || back) {
		h.whole[n] = &Request{Job: e.RunID, first: e.Seq}
		for _, earlier := range h.released[n] {
			h.whole[n].Released = append(h.whole[n].Released, earlier.Released...)
		}
	}
	if j := h.at(n); !known || e.RequestID != "" && strings.HasPrefix(j.names, " ") {
		j.names = h.keep(e.RequestID + " " + e.RunID)
	}
	if e.RequestSHA256 != "" {
		h.at(n).sha256 = digest(e.RequestSHA256)
	}
	return n
}

// keep copies a string to where many lie next to each other, without what surrounds it in memory.
func (h *History) keep(s string) string {
	if h.names.Cap()-h.names.Len() < len(s) {
		h.names = strings.Builder{}
		h.names.Grow(max(len(s), 64<<10))
	}
	from := h.names.Len()
	h.names.WriteString(s)
	return h.names.String()[from:]
}

func (h *History) at(n uint32) *short { return &h.jobs[n/block][n%block] }

// answers says for which job a request id stands: the one that was admitted, if any was. A duplicate that was refused
// does not change what became of the first; what was refused and never admitted can be mended, and come again.
func (h *History) answers(e Event, n uint32) {
	if e.RequestID == "" {
		return
	}
	id := requestKey(e.RequestID)
	if first, ok := h.byRequest[id]; ok && first != n {
		j, open := h.at(first), places[h.at(first).place] != spool.StateRequestRefused
		if j.admitted || open && !h.at(n).admitted {
			return
		}
	}
	h.byRequest[id] = n
	if r := h.whole[n]; r != nil {
		r.Cancelled = h.cancelled[id]
	}
}

// tells notes what CORE is told by an event.
func (h *History) tells(e Event, n uint32) {
	if e.Notice != "" {
		h.notices[keyOf(e.Notice)] = notice{job: n}
	} else if was, ok := h.notices[keyOf(e.RequestID)]; ok && !was.gone && Withdraws(e) {
		h.notices[keyOf(e.RequestID)] = notice{job: n, gone: true}
	}
}

func decision(e Event) *Decision {
	return &Decision{By: e.By, ByUser: e.ByUser, TimeUTC: e.Time, Order: e.Order}
}

// note takes in the next event of the request's job.
func (r *Request) note(e Event) {
	at, to := e.Time, Announces(e)
	r.RequestID, r.RequestSHA256 = cmp.Or(e.RequestID, r.RequestID), cmp.Or(e.RequestSHA256, r.RequestSHA256)
	r.Backend = cmp.Or(e.Backend, r.Backend)
	if e.Requester != "" {
		r.Requester, r.Approvers = e.Requester, e.Approvers
	}
	if Rejects(e) {
		r.Rejected = decision(e)
	}
	if e.Type == ResultReissued {
		r.DeliveredUTC, r.ResultID, r.ResultSHA256, r.Replaces = &at, e.ResultID, e.ResultSHA256, e.Replaces
		r.Artifacts, r.Withheld, r.Released = e.Artifacts, e.Withheld, append(r.Released, e.Released...)
	}
	if e.Type == ResultRecalled {
		r.State, r.Recalled, r.Took = StateRecalled, decision(e), e.Took
	}
	if e.Tools != nil {
		r.Tools = e.Tools
	}
	if to == "" {
		return
	}
	r.Place, r.State, r.Rules, r.Seal, r.Rejected = to, StateIn(to), nil, e.Seal, nil
	switch {
	case e.Type == QuarantineReleased:
		r.ResultID, r.ResultSHA256 = "", ""
		r.Released = append(r.Released, e.Released...)
		if to == spool.StateClaimed {
			r.EndedUTC = nil
		}
	case to == spool.StateAdmitted:
		if r.AdmittedUTC == nil {
			r.AdmittedUTC, r.first = &at, e.Seq
		}
		r.StartedUTC = nil
	case to == spool.StateRunning:
		r.StartedUTC = &at
	case to == spool.StateFinished:
		r.EndedUTC, r.ExitCode, r.Cause = &at, e.ExitCode, e.EndCause()
	case to == spool.StateDelivered:
		r.DeliveredUTC, r.ResultID, r.ResultSHA256 = &at, e.ResultID, e.ResultSHA256
		r.Artifacts, r.Withheld = e.Artifacts, e.Withheld
	default:
		r.Rules, r.ResultID, r.EndedUTC = e.Rules, e.ResultID, cmp.Or(r.EndedUTC, &at)
	}
}

// Last is when the last thing happened to an admitted request.
func (r *Request) Last() (last time.Time) {
	for _, t := range []*time.Time{r.AdmittedUTC, r.StartedUTC, r.EndedUTC, r.DeliveredUTC} {
		if t != nil {
			last = *t
		}
	}
	return last
}

// Requests are those that are kept whole, in the order in which they were admitted.
func (h *History) Requests() []*Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.SortedFunc(maps.Values(h.whole), func(a, b *Request) int { return cmp.Compare(a.first, b.first) })
}

// Request is what a request id stands for, if it is kept whole; else no more than its state, and who cancelled it.
func (h *History) Request(id string) Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := Request{RequestID: id, State: StateUnknown, Cancelled: h.cancelled[requestKey(id)]}
	if n, ok := h.byRequest[requestKey(id)]; ok {
		if whole := h.whole[n]; whole != nil {
			return *whole
		}
		j := h.view(n)
		r.RequestID, r.Job, r.RequestSHA256, r.State, r.Place = j.RequestID, j.ID, j.SHA256, StateIn(j.Place), j.Place
		if j.Recalled {
			r.State = StateRecalled
		}
	}
	return r
}

// Job is what is known of a job; false if no event tells of it.
func (h *History) Job(id string) (Job, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, ok := h.byID[keyOf(id)]
	if !ok {
		return Job{}, false
	}
	return h.view(n), true
}

func (h *History) view(n uint32) Job {
	j := h.at(n)
	request, id, _ := strings.Cut(j.names, " ")
	job := Job{ID: id, RequestID: request, Place: places[j.place], At: j.at, Rejected: j.rejected, Recalled: j.recalled,
		Admitted: j.admitted}
	if j.sha256 != [sha256.Size]byte{} {
		job.SHA256 = hex.EncodeToString(j.sha256[:])
	}
	return job
}

// Admitted is the job as which a request id was admitted, if it ever was.
func (h *History) Admitted(requestID string) (Job, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n, ok := h.byRequest[requestKey(requestID)]; ok && h.at(n).admitted {
		return h.view(n), true
	}
	return Job{}, false
}

// Cancelled reports whether a person cancelled a request id.
func (h *History) Cancelled(requestID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cancelled[requestKey(requestID)] != nil
}

// Ordered is the type of the event that an order of that digest led to, if it is on record.
func (h *History) Ordered(sha256 string) (Type, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.orders[digest(sha256)]
	return t, ok
}

// Released are the releases of a job and of the request of that digest, in order, until it is delivered or rejected.
func (h *History) Released(job, requestSHA256 string) (list []Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n, ok := h.byID[keyOf(job)]; ok {
		for _, e := range h.released[n] {
			if e.RequestSHA256 == requestSHA256 {
				list = append(list, e)
			}
		}
	}
	return list
}

// Releasing are the jobs whose last event takes them out of quarantine, or that went on from there and have not
// come to their end.
func (h *History) Releasing() (jobs []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := range h.released {
		if j := h.view(n); j.Place == spool.StateClaimed || j.Place == spool.StateFinished {
			jobs = append(jobs, j.ID)
		}
	}
	slices.Sort(jobs)
	return jobs
}

// Told is the job that told CORE last about a subject, if any did; gone says that what was told is no longer true.
func (h *History) Told(subject string) (job string, gone, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.notices[keyOf(subject)]
	if !ok {
		return "", false, false
	}
	return h.view(t.job).ID, t.gone, true
}

// digest is a SHA-256 without its hexadecimal form; zeros for what is none.
func digest(hexadecimal string) (d [sha256.Size]byte) {
	_, _ = hex.Decode(d[:], []byte(hexadecimal)[:min(len(hexadecimal), 2*len(d))])
	return d
}
