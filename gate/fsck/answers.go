package fsck

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// given is a result on record that CORE got, or was to get.
type given struct {
	job      *job
	id, sha  string
	released []schemas.Release // besides what the job's own releases are
	// Of a reissue: its folder's name, the seal of that, and whether CORE has it.
	folder, seal string
	found        bool
}

// later takes in that a result was taken back, or replaced: it must have been the answer until then.
func (n *node) later(j *job, e ledger.Event) {
	what, check := "", CheckRecord
	ends, sum := e.ResultID, e.ResultSHA256
	if e.Type == ledger.ResultReissued {
		ends, sum = e.Replaces, e.ReplacesSHA256
	}
	switch {
	case n.blind:
	case j.announced != spool.StateDelivered || j.inForce == nil || j.inForce.id != ends:
		what = "was not the answer to its request"
	case j.inForce.sha != sum:
		what = "has another digest"
	case e.Type == ledger.ResultReissued && j.pruned:
		what = "was pruned before"
	case j.recalled:
		what, check = "was recalled before", CheckTwice
	}
	if what != "" {
		n.found(check, j.id, n.path(spool.DirLedger), "keep the node as it is and report it: this must not happen",
			"event %d, %s, is about a result that %s: %s", e.Seq, e.Type, what, orNone(ends))
	}
	if e.Type == ledger.ResultRecalled {
		j.recalled = true
		return
	}
	r := &given{job: j, id: e.ResultID, sha: e.ResultSHA256, seal: e.Seal, released: e.Released}
	if j.inForce != nil {
		r.released = append(r.released, j.inForce.released...)
	}
	number := e.ResultID[strings.LastIndexByte(e.ResultID, '-')+1:]
	if count, err := strconv.Atoi(number); err == nil {
		r.folder = spool.RenderingName(j.id, count)
		n.renderings[r.folder] = r
	}
	n.results[e.ResultID], j.inForce = r, r
}

// reissued wants each rendering on record to lie in its folder as it was sealed, and nothing else to lie there.
func (n *node) reissued() {
	dir := n.path(spool.DirReissues)
	es, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) && !n.unseen(dir, err) {
		n.unreadable("", dir, err)
	}
	for _, e := range es {
		path := filepath.Join(dir, e.Name())
		job, _, onItsWay, ok := spool.RenderingOf(e.Name())
		r := n.renderings[strings.TrimPrefix(e.Name(), ".")]
		switch {
		case !ok || !e.IsDir():
			n.found(CheckStray, "", path, "move it out of the node", "this is no rendering of a result")
		case r != nil && r.job.pruned:
			n.leftover(job, path, "the job was pruned, and its removal was cut off; threegate prune goes on, too")
		case r != nil:
			r.found = true
			n.rendering(r, path, onItsWay)
		case onItsWay: // of an order that waits; else the next start removes it
			n.report.Pending = append(n.report.Pending, path)
		case n.blind:
			n.unjudged(job, path, "nothing on record tells of this rendering")
		default:
			n.found(CheckRecord, job, path, "move it out of the node, and find out who put it there",
				"nothing on record tells of this rendering")
		}
	}
	for name, r := range n.renderings {
		if !r.found && !r.job.pruned && len(n.report.Unseen) == 0 {
			n.found(CheckLost, r.job.id, filepath.Join(dir, name), "look for the folder in a backup",
				"the result %s was reissued, and its rendering is gone", r.id)
		}
	}
}

// rendering looks at the folder of one that is on record.
func (n *node) rendering(r *given, dir string, onItsWay bool) {
	broken, err := seal.Check(dir, r.seal)
	if err != nil {
		if !os.IsNotExist(err) { // it arrived meanwhile
			n.unreadable(r.job.id, dir, err)
		}
		return
	}
	// Where it was staged is noted after the seal.
	for i := len(broken) - 1; i >= 0; i-- {
		if broken[i].Path == ledger.FileStagedIn && broken[i].Extra {
			broken = append(broken[:i], broken[i+1:]...)
		}
	}
	n.broken(r.job, dir, broken)
	if onItsWay {
		n.report.Pending = append(n.report.Pending, dir)
	}
}
