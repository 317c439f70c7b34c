package fsck

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate/approval"
)

// job is what folders and ledger know of one job.
type job struct {
	id     string
	places []place
	// From the ledger.
	announced             spool.State // by the last event that announced one
	before                spool.State // that event
	pruned                bool        // removed from the archive by rule
	damaged               bool        // refused because its folder was damaged
	requestID, requestSHA string
	admitted              *admission
	resultID, resultSHA   string
	end                   *end // the run's
	tools                 *schemas.ToolCalls
	rules                 []string // that refused the request or the result
	released              []schemas.Release
	inForce               *given    // the answer to its request, if that is a result
	recalled              bool      // a person took its result back
	seal                  string    // of its folder, at its end
	early                 bool      // it ended before this node sealed any
	ended                 time.Time // if announced is an end
}

// admission is what the ledger has of the event that admitted a job, and what counted at that event.
type admission struct {
	Seq       int64
	Time      time.Time
	Requester string
	Approvers []approval.Approver
	Plan      string
	Inputs    *ledger.Inputs
	force     inForce
	format    int
}

// place is where a job's folder lies.
type place struct {
	kind string // a state, claiming, archive, or a quarantine store
	dir  string
}

// claiming is the place of a claim in the making.
const claiming = "claiming"

// kind is the one place of a job, or "".
func (j *job) kind() string {
	if len(j.places) == 0 {
		return ""
	}
	return j.places[0].kind
}

// folders lists every place where jobs lie, in the order in which a job goes
// through them: so one that moves meanwhile may be seen twice but not missed.
func (n *node) folders() {
	for _, st := range spool.States {
		n.folder(string(st), n.path(spool.DirSpool, string(st)))
	}
	for _, q := range []string{spool.DirQuarantineRequests, spool.DirQuarantineResults} {
		n.folder(q, n.path(q))
	}
	archive := n.path(spool.DirArchive)
	for _, year := range n.list(archive) {
		for _, month := range n.list(filepath.Join(archive, year.Name())) {
			n.folder(spool.DirArchive, filepath.Join(archive, year.Name(), month.Name()))
		}
	}
	for _, j := range n.jobs {
		if len(j.places) < 2 {
			continue
		}
		var still []place
		for _, p := range j.places {
			if _, err := os.Lstat(p.dir); !errors.Is(err, fs.ErrNotExist) {
				still = append(still, p)
			}
		}
		j.places = still
		if len(still) > 1 {
			n.found(CheckPlace, j.id, still[1].dir,
				"compare the two by hand, with the ledger's events of this job, before anything is removed",
				"the job lies in %s too", still[0].dir)
		}
	}
	for _, in := range n.cfg.Inboxes {
		waiting, err := spool.Waiting(in.Path)
		if err != nil && !n.unseen(in.Path, err) {
			n.found(CheckLayout, "", in.Path, "make the folder again, or mount it", "inbox %s can't be read: %v",
				in.Name, err)
		}
		n.report.Balance.Waiting += waiting
	}
}

func (n *node) list(dir string) []fs.DirEntry {
	es, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		n.found(CheckLayout, "", dir,
			"look for it in a backup before a gate is started; threegate init makes an empty one",
			"the folder is missing")
	} else if err != nil {
		n.unreadable("", dir, err)
	}
	return es
}

func (n *node) folder(kind, dir string) {
	for _, e := range n.list(dir) {
		name, at := e.Name(), kind
		if hidden, ok := strings.CutPrefix(name, "."); ok && kind == string(spool.StateClaimed) &&
			spool.ValidID(hidden) {
			name, at = hidden, claiming
		}
		path := filepath.Join(dir, e.Name())
		if !spool.ValidID(name) || !e.IsDir() {
			n.found(CheckStray, "", path,
				"the next start quarantines what lies among the jobs in progress; elsewhere, move it out of the node",
				"this is no job")
			continue
		}
		j := n.known(name)
		j.places = append(j.places, place{at, path})
	}
}

func (n *node) known(id string) *job {
	j := n.jobs[id]
	if j == nil {
		j = &job{id: id}
		n.jobs[id] = j
	}
	return j
}

// ledger reads the record.
func (n *node) ledger() {
	dir := n.path(spool.DirLedger)
	admitted := map[string]string{}
	const hint = "keep the folder as it is and compare it with a backup; threegate audit verify says the same"
	seq, head, err := ledger.ReadOn(dir, func(e ledger.Event) error {
		if e.Type == ledger.ArchivePruned {
			n.prune(e)
		}
		n.when(e)
		if e.Node != nil {
			n.decidesBy(e)
		}
		if o := n.orders[e.Order]; e.Order != "" && o == nil {
			n.orders[e.Order] = &ordered{event: e, force: n.force}
		} else if o != nil && !o.pruned {
			n.found(CheckRecord, "", dir, hint, "events %d and %d name one order, %s", o.event.Seq, e.Seq, e.Order)
		}
		if e.RunID != "" {
			n.event(n.known(e.RunID), e, admitted)
		}
		return n.ctx.Err()
	}, func(err error) {
		switch n.damage++; {
		case n.damage == 1:
			n.blind, n.since = true, err.Error()
			fallthrough
		case n.damage < maxNamed:
			n.found(CheckLedger, "", dir, hint, "the record is not whole: %v", err)
		case n.damage == maxNamed:
			n.found(CheckLedger, "", dir, hint, "the record is damaged at more than %d places", maxNamed-1)
		}
	})
	n.report.Events, n.report.Head = seq, head
	if err != nil && n.ctx.Err() == nil {
		n.blind, n.since = true, err.Error()
		n.found(CheckLedger, "", dir, hint, "the record is not whole: %v", err)
	}
}

// when wants time to go on from event to event. A clock may be set back, on record.
func (n *node) when(e ledger.Event) {
	back := n.last.Sub(e.Time)
	n.last = e.Time
	switch {
	case e.Type == ledger.ClockSetBack:
		n.remark(CheckTime, e.Seq, n.path(spool.DirLedger), "at event %d the host's clock was set back")
	case n.format > 0 && back > ledger.ClockTolerance && !n.blind:
		n.found(CheckTime, e.RunID, n.path(spool.DirLedger),
			"compare the ledger with a backup: the gate notes a clock that is set back",
			"event %d is %s earlier than the one before it", e.Seq, back)
	}
}

// prune takes in that jobs and orders were removed by rule. Each job must have been delivered, and goes once.
func (n *node) prune(e ledger.Event) {
	n.remark(CheckLost, e.Seq, n.path(spool.DirArchive),
		fmt.Sprintf("event %%d removed %d jobs from the archive by rule, and %d orders", len(e.Jobs), len(e.Orders)))
	for _, sum := range e.Orders {
		if o := n.orders[sum]; o != nil {
			o.pruned = true
		} else if !n.blind {
			n.found(CheckRecord, "", n.path(spool.DirLedger),
				"keep the node as it is and report it: this must not happen",
				"event %d removes an order that was not on record before: %s", e.Seq, sum)
		}
	}
	for _, id := range e.Jobs {
		j := n.jobs[id]
		switch {
		case j != nil && (n.blind || j.announced == spool.StateDelivered && !j.pruned):
			j.pruned, j.admitted, j.end = true, nil, nil // nothing is compared with them any longer
			n.report.Signatures.Gone++
		case !n.blind:
			n.found(CheckRecord, id, n.path(spool.DirLedger),
				"keep the node as it is and report it: this must not happen",
				"event %d removes a job that was not delivered before, or a second time", e.Seq)
		}
	}
}

// event takes in one event of a job. The events of a job must follow the state
// machine: each announces a state that can come after the one before.
func (n *node) event(j *job, e ledger.Event, admitted map[string]string) {
	j.damaged = j.damaged || slices.Contains(e.Rules, spool.RuleDamaged)
	if len(e.Rules) > 0 {
		j.rules = e.Rules
	}
	switch e.Type {
	case ledger.DeliveryAttempted:
		j.requestID, j.requestSHA = e.RequestID, e.RequestSHA256
		if e.Outcome != ledger.OutcomeAdmitted {
			break
		}
		if first, ok := admitted[e.RequestID]; ok && first != j.id {
			n.found(CheckTwice, j.id, n.path(spool.DirLedger), "look at both jobs: one approval ran twice",
				"request %s was admitted as job %s before", e.RequestID, first)
		}
		admitted[e.RequestID] = j.id
		j.admitted = &admission{e.Seq, e.Time, e.Requester, e.Approvers, e.Plan, e.Inputs, n.force, n.format}
	case ledger.ToolsRecorded:
		j.tools = e.Tools
	case ledger.RunCompleted, ledger.RunFailed:
		j.end = recordedEnd(e)
	case ledger.QuarantineReleased:
		j.released, j.resultSHA = append(j.released, e.Released...), "" // it is rendered anew
	case ledger.ResultRecalled, ledger.ResultReissued:
		n.later(j, e)
	case ledger.ResultDelivered, ledger.ResultQuarantined:
		j.resultID, j.resultSHA = e.ResultID, e.ResultSHA256
		if e.ResultID != "" {
			n.results[e.ResultID] = &given{job: j, id: e.ResultID, sha: e.ResultSHA256}
		}
		j.inForce = n.results[e.ResultID]
	}
	if notice := ledger.NoticeOf(e); notice != nil {
		next := told{notice: notice, by: j}
		if e.Type == ledger.QuarantineRejected {
			next.before = n.told[e.Notice].notice
		}
		n.told[e.Notice] = next
	} else if _, was := n.told[e.RequestID]; was && ledger.Withdraws(e) {
		n.told[e.RequestID] = told{by: j}
	}
	to, from := ledger.Announces(e), cmp.Or(j.announced, spool.StateClaimed)
	if to == "" {
		return
	}
	if !from.MayBecome(to) && !j.damaged && !n.blind {
		check := CheckRecord
		if to == from || from.Ended() {
			check = CheckTwice
		}
		n.found(check, j.id, n.path(spool.DirLedger), "keep the node as it is and report it: this must not happen",
			"event %d, %s, can't follow what came before: the job was %s", e.Seq, e.Type, from)
		return
	}
	j.before, j.announced, j.seal, j.ended = from, to, e.Seal, e.Time
	n.sealing = n.sealing || e.Seal != ""
	j.early = !n.sealing
}

// account makes the balance, and finds what is lost or happened twice.
func (n *node) account() {
	b := &n.report.Balance
	b.TakenIn = len(n.jobs)
	for _, j := range n.sorted() {
		if j.pruned {
			b.Pruned++
			for _, p := range j.places {
				n.leftover(j.id, p.dir, "the job was pruned, and its removal was cut off; threegate prune goes on, too")
			}
			continue
		}
		switch k := j.kind(); k {
		case "":
			n.found(CheckLost, j.id, n.path(spool.DirLedger),
				"look for the folder "+j.id+" in a backup, and for who removed it",
				"the ledger knows the job (request %s), and no folder holds it", orNone(j.requestID))
		case spool.DirArchive:
			b.Delivered++
		case spool.DirQuarantineRequests:
			b.RequestsQuarantined++
		case spool.DirQuarantineResults:
			b.ResultsQuarantined++
		default:
			b.InProgress++
			b.Progress[k]++
		}
		why := j.disagrees()
		if why != "" && n.blind {
			n.unjudged(j.id, j.places[0].dir, why)
		} else if why != "" {
			n.found(CheckRecord, j.id, j.places[0].dir,
				"keep the node as it is; the ledger's events of the job say how far it came", "%s", why)
		}
	}
}

// disagrees tells why the place of a job does not fit its events, or "". A job lies
// where its last event announced it, or is one rename short of that.
func (j *job) disagrees() string {
	switch at := spool.State(j.kind()); {
	case at == "" || at == j.announced:
	case at == claiming:
		if j.announced != "" {
			return "it is still being claimed and has events"
		}
	case at == spool.StateClaimed && j.announced == "":
	case j.announced == "":
		return fmt.Sprintf("it lies in %s, and the ledger has no verdict on it", at)
	case j.damaged && !at.Ended() && (at == spool.StateClaimed) == (j.announced == spool.StateRequestRefused):
	case at != j.before:
		return fmt.Sprintf("it lies in %s, and the ledger announced it in %s", at, j.announced)
	}
	return ""
}

// blocking says whether any finding refuses.
func blocking(fs []schemas.Finding) bool { return schemas.VerdictOf(fs) == schemas.VerdictReject }

func orNone(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
