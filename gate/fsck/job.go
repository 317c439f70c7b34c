package fsck

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

const (
	maxRecordBytes = 64 << 20
	maxResultBytes = 64 << 20
)

// ranFiles are what the folder of a job that came to a result must hold.
var ranFiles = []string{ledger.FileAdmission, ledger.FileOutcome, ledger.FileResult, ledger.FileStdout,
	ledger.FileStderr}

// oldDelivery is a file that the layout before the sequential journal wrote into the folder of such a job.
const oldDelivery = "delivery.json"

// job looks at the files of one job.
func (n *node) job(j *job) {
	if len(j.places) == 0 || j.kind() == claiming {
		return
	}
	kind, dir := j.kind(), j.places[0].dir
	ended := spool.State(kind).Ended()
	es, err := os.ReadDir(dir)
	if err != nil {
		n.unreadable(j.id, dir, err)
		return
	}
	for _, e := range es {
		path := filepath.Join(dir, e.Name())
		switch {
		case !spool.IsTemporary(e.Name()):
		case ended:
			n.leftover(j.id, path, "no start looks into the folder of a job that has ended")
		default:
			n.report.Pending = append(n.report.Pending, path)
		}
	}
	if j.damaged {
		return // what it holds is not as the node wrote it: that is why it was refused
	}
	claim := n.claimedFiles(j, dir)
	switch {
	case claim == nil || j.admitted == nil:
	case j.admitted.Requester != "":
		n.approval(j, dir, claim)
	case j.admitted.format > 0: // an older record does not say who
		n.found(CheckApproval, j.id, n.path(spool.DirLedger), mendApproval, "event %d does not say who asked for what "+
			"it admits, and who approved it", j.admitted.Seq)
	}
	if kind == spool.DirArchive || kind == spool.DirQuarantineResults {
		for _, name := range ranFiles {
			if fi, err := os.Lstat(filepath.Join(dir, name)); err != nil || !fi.Mode().IsRegular() {
				n.found(CheckFiles, j.id, filepath.Join(dir, name), "look for it in a backup", "the file is missing")
			}
		}
	}
	var end *result.Outcome
	if j.end != nil { // before, a power cut may have torn it, and the next start sees that
		end = n.outcome(j, dir, claim)
	}
	if j.resultSHA != "" {
		n.digest(CheckDigest, j, filepath.Join(dir, ledger.FileResult), j.resultSHA, "the ledger")
	}
	if ended && claim != nil {
		n.unaccounted(j, dir, claim, end)
	}
}

// outcome wants the end that a result is made of to be the one on record, and
// what was collected to be as it was then. It gives nil if the file can't be used.
func (n *node) outcome(j *job, dir string, claim *spool.Claim) *result.Outcome {
	var o result.Outcome
	path := filepath.Join(dir, ledger.FileOutcome)
	data, err := durable.ReadRegular(path, maxRecordBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a finding already
	}
	if err == nil {
		err = schemas.DecodeOpen(data, &o)
	}
	if err != nil {
		n.found(CheckFiles, j.id, path, "look for the file in a backup", "the outcome can't be used: %v", err)
		return nil
	}
	if j.end.known {
		if got, want := endOf(&o.Outcome), *j.end; got != want {
			n.found(CheckRecord, j.id, path,
				"the ledger's line was written when the run ended and is chained; compare the file with a backup",
				"the run ended with %s; the ledger says %s", got, want)
		}
	}
	n.collected(j, dir, &o.Collected)
	var inputs []spool.InputFile
	if claim != nil { // else that is a finding already
		inputs = claim.InputFiles
	}
	n.timeline(j, dir, inputs, &o)
	return &o
}

// end is what the ledger tells of the end of a run.
type end struct {
	known               bool // an older record does not tell
	code                int
	cause               schemas.Cause
	wallMS, cpuMS, peak int64
}

func endOf(o *executors.Outcome) end {
	return end{true, o.ExitCode, o.Cause, o.Wall.Milliseconds(), o.CPU.Milliseconds(), o.PeakMemoryBytes}
}

func recordedEnd(e ledger.Event) *end {
	if e.ExitCode == nil {
		return &end{}
	}
	return &end{true, *e.ExitCode, e.Cause, e.WallMS, e.CPUMS, e.PeakBytes}
}

func (e end) String() string {
	return fmt.Sprintf("exit code %d, cause %s, %d ms, %d ms of CPU, %d bytes of memory", e.code, e.cause, e.wallMS,
		e.cpuMS, e.peak)
}

// collected compares what was taken out of the sandbox with what is there now.
func (n *node) collected(j *job, dir string, c *executors.Collected) {
	n.digest(CheckFiles, j, filepath.Join(dir, ledger.FileStdout), c.Stdout.SHA256, "the outcome")
	n.digest(CheckFiles, j, filepath.Join(dir, ledger.FileStderr), c.Stderr.SHA256, "the outcome")
	for _, f := range c.Files {
		name := filepath.FromSlash(f.Path)
		if !filepath.IsLocal(name) {
			n.found(CheckFiles, j.id, filepath.Join(dir, ledger.FileOutcome), "look for the file in a backup",
				"the outcome names %q, which is no path below out", f.Path)
			continue
		}
		n.digest(CheckFiles, j, filepath.Join(dir, ledger.DirOut, name), f.SHA256, "the outcome")
	}
}

// claimedFiles compares what was claimed with what is there now. It gives nil if
// the record of the claim can't be used.
func (n *node) claimedFiles(j *job, dir string) *spool.Claim {
	path := filepath.Join(dir, spool.FileClaim)
	r, err := spool.ReadClaim(dir)
	if err != nil && n.blind && !j.announced.Ended() { // it may have been refused for that
		n.unjudged(j.id, path, fmt.Sprintf("the job's record can't be used: %v", err))
		return nil
	}
	if err != nil {
		n.found(CheckFiles, j.id, path,
			"the next start quarantines a damaged job that is in progress; else look for the file in a backup",
			"the job's record can't be used: %v", err)
		return nil
	}
	if r.HasRequest {
		n.digest(CheckFiles, j, filepath.Join(dir, spool.FileRequest), r.SHA256, "the claim")
	}
	if j.announced != "" && r.SHA256 != j.requestSHA && !(n.blind && j.requestSHA == "") {
		n.found(CheckDigest, j.id, path, "keep both; the ledger's line is chained and can't be changed unnoticed",
			"the request was claimed with sha256 %s, and the ledger says %s", orNone(r.SHA256), orNone(j.requestSHA))
	}
	for _, in := range r.InputFiles {
		n.digest(CheckFiles, j, filepath.Join(dir, spool.DirInputs, strings.TrimPrefix(in.Path, "/in/")), in.SHA256,
			"the claim")
	}
	// Until then a start goes on with the job, and removes it.
	ended := spool.State(j.kind()).Ended()
	if _, err := os.Lstat(filepath.Join(dir, spool.DirRaw)); err == nil && !r.RawKept && ended {
		n.leftover(j.id, filepath.Join(dir, spool.DirRaw),
			"what came out of the inbox was copied and is needed no longer")
	}
	return &r
}

// digest wants a file to have a digest that source once took.
func (n *node) digest(c Check, j *job, path, want, source string) {
	got, err := durable.Digest(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		n.found(c, j.id, path, "look for it in a backup", "the file is missing")
	case err != nil:
		n.unreadable(j.id, path, err)
	case got != want:
		n.found(c, j.id, path, "somebody changed it: restore it from a backup, and find out who may write there",
			"its sha256 is %s; %s says %s", got, source, want)
	}
}

// quarantine wants reasons of every refused item.
func (n *node) quarantine() {
	items, err := quarantine.NewStore(n.path(spool.DirQuarantine)).List("")
	if err != nil {
		return // the missing folder is a finding already
	}
	const hint = "the ledger's event of the job names the rules; restore the file from a backup"
	for _, it := range items {
		j := n.jobs[it.ID]
		if j == nil {
			continue
		}
		path := filepath.Join(it.Dir, quarantine.FileJSON)
		switch {
		case it.Damage != nil:
			n.found(CheckReasons, it.ID, path, hint, "%v", it.Damage)
		case !blocking(it.Reasons.Findings):
			n.found(CheckReasons, it.ID, path, hint, "it names no rule that refused the item")
		case j.requestSHA != "" && it.Reasons.SHA256 != j.requestSHA:
			n.found(CheckReasons, it.ID, path, hint, "it is about a request with sha256 %s; the ledger says %s",
				orNone(it.Reasons.SHA256), j.requestSHA)
		case !j.refusedBy(it.Reasons):
			n.found(CheckReasons, it.ID, path, hint,
				"the rules that it says refused the item are not those of the ledger: %s", strings.Join(j.rules, ", "))
		}
		path = filepath.Join(it.Dir, quarantine.FileMarkdown)
		if fi, err := os.Lstat(path); err != nil || !fi.Mode().IsRegular() || fi.Size() == 0 {
			n.found(CheckReasons, it.ID, path, "threegate quarantine show "+it.ID+" prints what reasons.json says",
				"the reasons for people are missing")
		}
	}
}

// refusedBy says whether reasons name the rules that the ledger has, as far as both
// tell: reasons leave out what is too much, and those of a damaged job came later.
func (j *job) refusedBy(r *quarantine.Reasons) bool {
	if len(j.rules) == 0 || r.Omitted > 0 || j.damaged {
		return true
	}
	var rules []string
	for _, f := range r.Findings {
		if f.Severity == schemas.SeverityBlocking {
			rules = append(rules, f.Rule)
		}
	}
	slices.Sort(rules)
	return slices.Equal(slices.Compact(rules), j.rules)
}

// inFinished says whether a job that is still to be delivered may own a name in
// CORE's folder. A power cut can have put its folder back into running.
func (n *node) inFinished(resultID string) bool {
	return slices.ContainsFunc(n.sorted(), func(j *job) bool {
		ended := j.kind() == string(spool.StateFinished) || j.kind() == string(spool.StateRunning)
		return ended && j.requestID != "" && strings.HasSuffix(resultID, "-"+j.requestID)
	})
}
