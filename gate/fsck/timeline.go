package fsck

import (
	"errors"
	"maps"
	"path"
	"path/filepath"
	"strings"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/patchpolicy"
	"github.com/threegate/tool-exec/gate/result"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
	"github.com/threegate/tool-exec/toolruntime/contract"
)

const (
	maxPlanBytes = 64 << 20
	mendTimeline = "compare the job's folder with a backup: the ledger's line was written when the run ended"
)

// timeline wants the record of a run's tool calls to be what the ledger says, and the arguments of each call
// to be those of the plan that was approved, if there was one.
func (n *node) timeline(j *job, dir string, inputs []spool.InputFile, o *result.Outcome) {
	told := o.Collected.Timeline
	if told == nil && j.tools == nil {
		return
	}
	file := filepath.Join(dir, ledger.FileTimeline)
	wrong := func(format string, args ...any) {
		n.found(CheckTimeline, j.id, file, mendTimeline, format, args...)
	}
	if told == nil || j.tools == nil || !sameCalls(*told, *j.tools) {
		const what = "the outcome and the ledger do not tell the same of the tool calls"
		outcome := filepath.Join(dir, ledger.FileOutcome)
		if j.tools == nil && n.blind {
			n.unjudged(j.id, outcome, what)
		} else {
			n.found(CheckTimeline, j.id, outcome, mendTimeline, "%s", what)
		}
		return
	}
	n.digest(CheckTimeline, j, file, told.SHA256, "the ledger")
	raw, err := durable.ReadRegular(file, contract.MaxTimeline)
	if err != nil {
		return // a finding already
	}
	entries, err := contract.ParseTimeline(raw)
	if told.Fault != "" {
		n.warn(CheckTimeline, j.id, file, "find out which program wrote to it, and do not trust the calls",
			"what threegate-tools told of its calls is %s", told.Fault)
	} else if err != nil {
		wrong("it can't be read: %v", err)
		return
	}
	if codes := contract.CountCodes(entries); len(entries) != told.Calls || !maps.Equal(codes, told.Codes) {
		wrong("it tells of %d calls, by code %v; the ledger says %d, %v", len(entries), codes, told.Calls, told.Codes)
		return
	}
	plan, err := planOf(dir, inputs)
	if errors.Is(err, errNoPlan) {
		return
	}
	if err != nil {
		n.warn(CheckTimeline, j.id, file, "compare them by hand: threegate-tools verify PLAN TIMELINE",
			"the calls can't be compared with a plan: %v", err)
		return
	}
	out := &o.Outcome
	ended := told.Fault == "" && out.Cause.ByItself() && out.ExitCode < 2
	if ended && len(entries) == 0 {
		n.warn(CheckTimeline, j.id, file, "build the image anew, and tell the node of it",
			"the run told of no call: the threegate-tools of its image is older than this gate")
		return
	}
	for i, d := range contract.CompareTimeline(plan, entries, ended) {
		if i == maxNamed {
			wrong("more differs: only %d are named", i)
			break
		}
		wrong("%s", d)
	}
}

func sameCalls(a, b schemas.ToolCalls) bool {
	return a.SHA256 == b.SHA256 && a.Calls == b.Calls && a.Fault == b.Fault && maps.Equal(a.Codes, b.Codes)
}

// errNoPlan says that a Monty program made the calls: nobody wrote their arguments down before.
var errNoPlan = errors.New("a program made the calls")

// planOf is the plan of a job: the input that its command names and that is one, or lies in one that is a folder tree.
func planOf(dir string, inputs []spool.InputFile) ([]*contract.ToolRequest, error) {
	raw, err := durable.ReadRegular(filepath.Join(dir, ledger.FileAdmission), maxRecordBytes)
	var a struct {
		Task executors.Task `json:"task"`
	}
	if err == nil {
		err = schemas.DecodeOpen(raw, &a)
	}
	if err != nil {
		return nil, err
	}
	if a.Task.Backend == schemas.BackendMonty {
		return nil, errNoPlan
	}
	run := patchpolicy.Run{Trees: a.Task.Trees, Open: patchpolicy.In(filepath.Join(dir, spool.DirInputs)),
		Hashes: map[string]string{}}
	for _, in := range inputs {
		run.Hashes[in.Path] = in.SHA256
	}
	why := errors.New("its command names no input that is a plan")
	for _, arg := range a.Task.Argv {
		if !path.IsAbs(arg) {
			arg = path.Join("/in", arg)
		}
		for _, base := range []string{"/in/", schemas.WorkDir + "/"} {
			name, below := strings.CutPrefix(arg, base)
			if !below || !filepath.IsLocal(name) {
				continue
			}
			raw, err := run.Input(name, maxPlanBytes)
			if err != nil {
				continue
			}
			plan, err := contract.ReadPlan(raw)
			if err == nil && len(plan) > 0 {
				return plan, nil
			}
		}
	}
	return nil, why
}
