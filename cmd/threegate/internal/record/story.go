package record

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate/approval"
)

// Story is all that is known of a request.
type Story struct {
	*view.RequestStatus
	Ran       *ran                `json:"ran,omitempty"`
	Files     []artifact          `json:"artifact_list"`
	Missing   []withheldJSON      `json:"withheld_list"`
	Item      string              `json:"item,omitempty"` // of the quarantine
	Reasons   *quarantine.Reasons `json:"reasons,omitempty"`
	Events    []ledger.Event      `json:"events"`
	PrunedUTC *time.Time          `json:"pruned_utc,omitempty"`
	PrunedBy  string              `json:"pruned_by,omitempty"`
	// Unread says what the caller may not read.
	Unread []string `json:"unread,omitempty"`

	item quarantine.Item
}

// ran is what was approved to run.
type ran struct {
	Purpose  string                      `json:"purpose"`
	Language string                      `json:"language,omitempty"`
	Argv     []string                    `json:"argv,omitempty"`
	Code     string                      `json:"code,omitempty"`
	Inputs   []schemas.Input             `json:"inputs"`
	Outputs  []schemas.OutputExpectation `json:"outputs"`
	Network  schemas.Network             `json:"network"`
	MilliCPU int                         `json:"milli_cpu"`
	MemoryMB int                         `json:"memory_mb"`
	TimeSec  int                         `json:"time_sec"`
	Findings []schemas.Finding           `json:"findings"`
}

// StoryOf collects what the caller may read of a request that the node knows.
func StoryOf(l *config.Node, r *view.RequestStatus) (*Story, error) {
	s := &Story{RequestStatus: r, Files: []artifact{}, Missing: []withheldJSON{}, Events: []ledger.Event{}}
	err := ledger.FollowRequest(filepath.Join(l.Dir, spool.DirLedger), r.RequestID).Read(func(e ledger.Event) error {
		if e.RequestID == r.RequestID {
			s.Events = append(s.Events, e)
		}
		return nil
	})
	if err != nil {
		return nil, cli.Troublef(err, cli.RecordHint(err, l.Dir), "can't read what is on record of %s", r.RequestID)
	}
	tellReason(l, r)
	if r.AdmittedUTC != nil {
		admitted, err := view.AdmittedAs(l, r.Job)
		switch {
		case err == nil:
			s.admitted(admitted)
		case errors.Is(err, fs.ErrNotExist):
			if err := s.pruned(l); err != nil {
				return nil, cli.Troublef(err, cli.RecordHint(err, l.Dir), "can't look for who pruned %s", r.RequestID)
			}
		case errors.Is(err, fs.ErrPermission):
			s.Unread = append(s.Unread, "what ran, and with which inputs")
		default:
			return nil, cli.Troublef(err, "threegate fsck says more", "can't read what was admitted as %s", r.RequestID)
		}
	}
	if s.Files, err = artifactsOf(l, r); err != nil {
		return nil, cli.Troublef(err, "", "can't read the result of %s", r.RequestID)
	}
	if r.Withheld > 0 {
		s.Missing, err = withheldOf(l, r)
		if errors.Is(err, fs.ErrPermission) {
			s.Unread, err = append(s.Unread, "what was withheld"), nil
		}
		if err != nil {
			return nil, cli.Troublef(err, "threegate fsck says more", "can't list what the result of %s does not hold",
				r.RequestID)
		}
	}
	if r.State == ledger.StateQuarantined || r.State == ledger.StateResultQuarantined {
		it, err := quarantine.NewStore(filepath.Join(l.Dir, spool.DirQuarantine)).Show(r.Job)
		switch {
		case err == nil && it.Damage == nil:
			s.Item, s.Reasons, s.item = it.ID, it.Reasons, it
		case errors.Is(err, quarantine.ErrNotFound), errors.Is(err, fs.ErrPermission):
			s.Unread = append(s.Unread, "the findings that refused it")
		default:
			return nil, unreadable(cmp.Or(err, it.Damage))
		}
	}
	return s, nil
}

func (s *Story) admitted(a *view.Admitted) {
	q := &a.Request
	s.Ran = &ran{Purpose: q.Purpose, Language: q.Language, Argv: q.Argv, Code: q.Code,
		Inputs: append([]schemas.Input{}, q.Inputs...), Outputs: append([]schemas.OutputExpectation{}, q.Outputs...),
		Network: q.Network, MilliCPU: q.MilliCPU, MemoryMB: q.MemoryLimitMB, TimeSec: q.TimeLimitSec,
		Findings: append([]schemas.Finding{}, a.Findings...)}
}

// pruned looks for the event that removed the job.
func (s *Story) pruned(l *config.Node) error {
	prunes := ledger.FollowType(filepath.Join(l.Dir, spool.DirLedger), ledger.ArchivePruned)
	return prunes.Read(func(e ledger.Event) error {
		if slices.Contains(e.Jobs, s.Job) {
			s.PrunedUTC, s.PrunedBy = &e.Time, e.By
		}
		return nil
	})
}

// event is the last event of one of the types, or the zero Event.
func (s *Story) event(types ...ledger.Type) ledger.Event {
	for _, e := range slices.Backward(s.Events) {
		if slices.Contains(types, e.Type) && e.RunID == s.Job {
			return e
		}
	}
	return ledger.Event{}
}

// Section is a part of a story, for people. Its texts are not visible yet: they may hold anything.
type Section struct {
	Title  string
	Fields [][2]string
	// Lines follow the fields as they are, such as those of a program.
	Lines []string
}

// shownCode is how many lines of a program are shown: review shows all.
const shownCode = 60

// Sections tell the story in order, but for its findings. Those without content are left out. node is what a command
// that is suggested needs to find the node.
func (s *Story) Sections(node string) []Section {
	all := []Section{s.head(), s.ran(), s.inputs(), s.warnings(), s.limits(), s.outputs(), s.network(), s.calls(),
		s.withheld(), s.decisions(), s.answer(), s.proof(node)}
	for i := range all {
		all[i].Fields = slices.DeleteFunc(all[i].Fields, func(f [2]string) bool { return f[1] == "" })
	}
	return slices.DeleteFunc(all, func(x Section) bool { return len(x.Fields)+len(x.Lines) == 0 })
}

func (x *Section) add(name, value string) { x.Fields = append(x.Fields, [2]string{name, value}) }

func (s *Story) head() Section {
	x := Section{Title: "Request"}
	x.add("request", s.RequestID)
	x.add("state", string(s.State))
	if s.Ran != nil {
		x.add("purpose", s.Ran.Purpose)
	}
	if s.AdmittedUTC != nil {
		x.add("requested by", cmp.Or(s.Requester, notOnRecord))
		x.add("approved by", cmp.Or(approval.Listed(s.Approvers), notOnRecord))
	} else if s.Reasons != nil {
		x.add("claims approval by", s.Reasons.ApprovedBy)
	}
	return x
}

func (s *Story) ran() Section {
	x := Section{Title: "What ran"}
	if s.Ran == nil {
		return x
	}
	x.add("backend", string(s.Backend))
	x.add("language", s.Ran.Language)
	x.add("image", s.event(ledger.RunStarted).Image)
	for i, word := range s.Ran.Argv {
		x.add(fmt.Sprintf("word %d", i), word)
	}
	lines := slices.Collect(strings.Lines(s.Ran.Code))
	for i, text := range lines[:min(len(lines), shownCode)] {
		x.Lines = append(x.Lines, fmt.Sprintf("%5d | %s", i+1, strings.TrimRight(text, "\r\n")))
	}
	if more := len(lines) - shownCode; more > 0 {
		x.Lines = append(x.Lines, fmt.Sprintf("and %d more lines: --json has all", more))
	}
	return x
}

func (s *Story) inputs() Section {
	x := Section{Title: "Inputs"}
	if s.Ran != nil {
		for _, in := range s.Ran.Inputs {
			x.add(in.Path, "sha256 "+in.SHA256)
		}
	}
	return x
}

func (s *Story) warnings() Section {
	x := Section{Title: "Warnings when it was admitted"}
	if s.Ran != nil {
		for _, f := range s.Ran.Findings {
			x.add(f.Rule, f.Message)
		}
	}
	return x
}

// limits puts what was used beside what was allowed.
func (s *Story) limits() Section {
	x, e := Section{Title: "Limits and use"}, s.event(ledger.RunCompleted, ledger.RunFailed)
	add := func(name, used, limit string) {
		var parts []string
		if e.Type != "" {
			parts = append(parts, used)
		}
		if s.Ran != nil {
			parts = append(parts, "limit "+limit)
		}
		x.add(name, strings.Join(parts, ", "))
	}
	r := cmp.Or(s.Ran, &ran{})
	add("time", (time.Duration(e.WallMS) * time.Millisecond).String(),
		(time.Duration(r.TimeSec) * time.Second).String())
	add("memory", term.Bytes(e.PeakBytes), term.Bytes(int64(r.MemoryMB)<<20))
	add("processor", (time.Duration(e.CPUMS) * time.Millisecond).String(), cores(r.MilliCPU))
	if s.ExitCode != nil {
		x.add("ended", endOf(s.RequestStatus))
	}
	return x
}

// cores are thousandths of a core, in words.
func cores(milliCPU int) string {
	if milliCPU == 1000 {
		return "1 core"
	}
	return fmt.Sprintf("%g cores", float64(milliCPU)/1000)
}

// outputs puts what was declared beside what came.
func (s *Story) outputs() Section {
	x, came := Section{Title: "Outputs"}, map[string]bool{}
	for _, f := range s.Files {
		came[filepath.Base(f.Path)] = true
		x.add(f.Path, fmt.Sprintf("%s, sha256 %s", term.Bytes(f.Bytes), f.SHA256))
	}
	if s.Ran != nil && s.ExitCode != nil {
		for _, o := range s.Ran.Outputs {
			if !came[filepath.Base(o.Path)] {
				x.add(o.Path, "was declared, and was not delivered")
			}
		}
	}
	return x
}

func (s *Story) network() Section {
	x := Section{Title: "Network"}
	for _, e := range s.Events {
		if e.Type == ledger.EgressDecided && e.RunID == s.Job {
			x.add(e.Decision, e.Destination)
		}
	}
	return x
}

func (s *Story) calls() Section {
	x := Section{Title: "Tool calls"}
	if text := callsOf(s.Tools); text != "" {
		x.add("calls", text)
		x.add("each", "threegate results show --calls "+s.RequestID)
	}
	return x
}

func (s *Story) withheld() Section {
	x := Section{Title: "Withheld"}
	for _, w := range s.Missing {
		x.Lines = append(x.Lines, fmt.Sprintf("%s, lines %s: %s: %s", w.Channel, w.lines(), w.Rule, w.Why))
		for t := range strings.Lines(w.Text) {
			x.Lines = append(x.Lines, "    "+strings.TrimRight(t, "\n"))
		}
	}
	return x
}

func (s *Story) decisions() Section {
	x := Section{Title: "Decisions"}
	for _, e := range s.Events {
		detail := strings.TrimPrefix(strings.TrimPrefix(eventDetail(e), s.RequestID), ", ")
		x.Lines = append(x.Lines, fmt.Sprintf("%s  %-26s  %s", e.Time.UTC().Format(time.RFC3339), e.Type, detail))
	}
	return x
}

// answer says where the answer lies.
func (s *Story) answer() Section {
	x := Section{Title: "Answer"}
	x.add("result", s.ResultPath)
	x.add("sha256", s.ResultSHA256)
	x.add("reasons", s.ReasonsPath)
	if d := s.Recalled; d != nil {
		x.add("recalled", fmt.Sprintf("by %s on %s: %s", d.By, d.TimeUTC.Format(time.RFC3339),
			cmp.Or(d.Reason, "the reason can't be read")))
		x.add("taken as input by", tookBy(s.Took))
	}
	if s.PrunedUTC != nil {
		x.add("gone", fmt.Sprintf("its folder was pruned on %s by %s; the record stays",
			s.PrunedUTC.Format(time.RFC3339), s.PrunedBy))
	}
	for _, u := range s.Unread {
		x.add("not shown", u+": you may not read it")
	}
	return x
}

func (s *Story) proof(node string) Section {
	x := Section{Title: "Proof"}
	if n := len(s.Events); n > 0 {
		x.add("events", fmt.Sprintf("%d to %d", s.Events[0].Seq, s.Events[n-1].Seq))
		x.add("seal", s.Seal)
		if s.DeliveredUTC != nil && s.PrunedUTC == nil {
			x.add("case file", "threegate audit prove "+s.RequestID+" -o case.tgz"+node)
		}
	}
	return x
}
