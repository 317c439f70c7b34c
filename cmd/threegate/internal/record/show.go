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

	"github.com/spf13/cobra"

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

func newShow(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show REQUEST",
		Short: "Tell the whole story of one request on one page",
		Long: `show tells all about a request, from its promotion to its answer: who asked for it and who
approved it, the words or the code that ran, inputs, limits beside what was used, outputs,
network, findings, what was withheld, the decisions of persons, where its answer lies, and how
to prove it. Name it by its id, or by the beginning of its id.

It prints what the caller may read. What was pruned is told from the record, which keeps
every decision; show says what is gone. Control characters are spelled out.`,
		Example: `  threegate show TR-20260209-160501Z-python-stats
  threegate show TR-20260209-1605
  threegate show TR-20260209-160501Z-python-stats --json | jq .events`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRequests,
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := a.ReadNode()
			if err != nil {
				return err
			}
			s, err := a.storyOf(l, args[0])
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(s)
			}
			return a.tell(l, s)
		},
	}
	a.NodeFlag(cmd)
	return cmd
}

// story is all that is known of a request.
type story struct {
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

func (a *app) storyOf(l *config.Node, arg string) (*story, error) {
	r, err := a.find(l, arg)
	if err != nil {
		return nil, err
	}
	s := &story{RequestStatus: r, Files: []artifact{}, Missing: []withheldJSON{}, Events: []ledger.Event{}}
	err = ledger.FollowRequest(filepath.Join(l.Dir, spool.DirLedger), r.RequestID).Read(func(e ledger.Event) error {
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
		s.Missing, err = withheldOf(l.Dir, ledger.Event{RunID: r.Job, ResultID: r.ResultID})
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

func (s *story) admitted(a *view.Admitted) {
	q := &a.Request
	s.Ran = &ran{Purpose: q.Purpose, Language: q.Language, Argv: q.Argv, Code: q.Code,
		Inputs: append([]schemas.Input{}, q.Inputs...), Outputs: append([]schemas.OutputExpectation{}, q.Outputs...),
		Network: q.Network, MilliCPU: q.MilliCPU, MemoryMB: q.MemoryLimitMB, TimeSec: q.TimeLimitSec,
		Findings: append([]schemas.Finding{}, a.Findings...)}
}

// pruned looks for the event that removed the job.
func (s *story) pruned(l *config.Node) error {
	prunes := ledger.FollowType(filepath.Join(l.Dir, spool.DirLedger), ledger.ArchivePruned)
	return prunes.Read(func(e ledger.Event) error {
		if slices.Contains(e.Jobs, s.Job) {
			s.PrunedUTC, s.PrunedBy = &e.Time, e.By
		}
		return nil
	})
}

// event is the last event of one of the types, or the zero Event.
func (s *story) event(types ...ledger.Type) ledger.Event {
	for _, e := range slices.Backward(s.Events) {
		if slices.Contains(types, e.Type) && e.RunID == s.Job {
			return e
		}
	}
	return ledger.Event{}
}

// shownCode is how many lines of a program are shown: review shows all.
const shownCode = 60

func (a *app) tell(l *config.Node, s *story) error {
	p := &page{style: a.UI.OutStyle, columns: a.UI.Wide()}
	p.fields(s.head())
	if s.Ran != nil {
		s.tellRan(p)
	}
	if s.StartedUTC != nil || s.Ran != nil {
		p.section("Limits and use", s.limits())
	}
	s.tellOutputs(p)
	s.tellNetwork(p)
	if text := callsOf(s.Tools); text != "" {
		p.section("Tool calls", [][2]string{{"calls", text}, {"each", "threegate results show --calls " + s.RequestID}})
	}
	for _, w := range s.Missing {
		p.head("Withheld", len(s.Missing))
		p.line(fmt.Sprintf("%s, lines %s: %s: %s", w.Channel, w.lines(), w.Rule, w.Why))
		for t := range strings.Lines(w.Text) {
			p.line("    " + strings.TrimRight(t, "\n"))
		}
	}
	if s.Reasons != nil {
		p.head("Findings", 1)
		if err := p.flush(a.UI.Out); err != nil {
			return err
		}
		if err := a.showFindings(s.item); err != nil {
			return err
		}
		p.line("")
		p.line(wayOut(s.item))
	}
	p.head("Decisions", 1)
	for _, e := range s.Events {
		detail := strings.TrimPrefix(strings.TrimPrefix(eventDetail(e), s.RequestID), ", ")
		p.line(fmt.Sprintf("%s  %-26s  %s", e.Time.UTC().Format(time.RFC3339), e.Type, detail))
	}
	s.tellAnswer(p, a.NodeArg())
	return p.flush(a.UI.Out)
}

func (s *story) head() [][2]string {
	fields := [][2]string{{"request", s.RequestID}, {"state", string(s.State)}}
	if s.Ran != nil {
		fields = append(fields, [2]string{"purpose", s.Ran.Purpose})
	}
	if s.AdmittedUTC != nil {
		fields = append(fields, [2]string{"requested by", cmp.Or(s.Requester, notOnRecord)},
			[2]string{"approved by", cmp.Or(approval.Listed(s.Approvers), notOnRecord)})
	} else if s.Reasons != nil && s.Reasons.ApprovedBy != "" {
		fields = append(fields, [2]string{"claims approval by", s.Reasons.ApprovedBy})
	}
	return fields
}

func (s *story) tellRan(p *page) {
	fields := [][2]string{{"backend", string(s.Backend)}, {"language", s.Ran.Language},
		{"image", s.event(ledger.RunStarted).Image}}
	for i, word := range s.Ran.Argv {
		fields = append(fields, [2]string{fmt.Sprintf("word %d", i), word})
	}
	p.section("What ran", fields)
	lines := slices.Collect(strings.Lines(s.Ran.Code))
	for i, text := range lines[:min(len(lines), shownCode)] {
		p.line(fmt.Sprintf("%5d | %s", i+1, strings.TrimRight(text, "\r\n")))
	}
	if more := len(lines) - shownCode; more > 0 {
		p.line(fmt.Sprintf("and %d more lines: --json has all", more))
	}
	var inputs [][2]string
	for _, in := range s.Ran.Inputs {
		inputs = append(inputs, [2]string{in.Path, "sha256 " + in.SHA256})
	}
	p.section("Inputs", inputs)
	var notes [][2]string
	for _, f := range s.Ran.Findings {
		notes = append(notes, [2]string{f.Rule, f.Message})
	}
	p.section("Warnings when it was admitted", notes)
}

// limits puts what was used beside what was allowed.
func (s *story) limits() [][2]string {
	e := s.event(ledger.RunCompleted, ledger.RunFailed)
	var fields [][2]string
	add := func(name, used, limit string) {
		var parts []string
		if e.Type != "" {
			parts = append(parts, used)
		}
		if s.Ran != nil {
			parts = append(parts, "limit "+limit)
		}
		fields = append(fields, [2]string{name, strings.Join(parts, ", ")})
	}
	r := cmp.Or(s.Ran, &ran{})
	add("time", (time.Duration(e.WallMS) * time.Millisecond).String(),
		(time.Duration(r.TimeSec) * time.Second).String())
	add("memory", term.Bytes(e.PeakBytes), term.Bytes(int64(r.MemoryMB)<<20))
	add("processor", (time.Duration(e.CPUMS) * time.Millisecond).String(), cores(r.MilliCPU))
	if s.ExitCode != nil {
		fields = append(fields, [2]string{"ended", endOf(s.RequestStatus)})
	}
	return fields
}

// cores are thousandths of a core, in words.
func cores(milliCPU int) string {
	if milliCPU == 1000 {
		return "1 core"
	}
	return fmt.Sprintf("%g cores", float64(milliCPU)/1000)
}

// tellOutputs puts what was declared beside what came.
func (s *story) tellOutputs(p *page) {
	var fields [][2]string
	came := map[string]bool{}
	for _, f := range s.Files {
		came[filepath.Base(f.Path)] = true
		fields = append(fields, [2]string{f.Path, fmt.Sprintf("%s, sha256 %s", term.Bytes(f.Bytes), f.SHA256)})
	}
	if s.Ran != nil && s.ExitCode != nil {
		for _, o := range s.Ran.Outputs {
			if !came[filepath.Base(o.Path)] {
				fields = append(fields, [2]string{o.Path, "was declared, and was not delivered"})
			}
		}
	}
	p.section("Outputs", fields)
}

func (s *story) tellNetwork(p *page) {
	var fields [][2]string
	for _, e := range s.Events {
		if e.Type == ledger.EgressDecided && e.RunID == s.Job {
			fields = append(fields, [2]string{e.Decision, e.Destination})
		}
	}
	p.section("Network", fields)
}

// tellAnswer says where the answer lies, and how it is proved.
func (s *story) tellAnswer(p *page, node string) {
	var fields [][2]string
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, [2]string{name, value})
		}
	}
	add("result", s.ResultPath)
	add("sha256", s.ResultSHA256)
	add("reasons", s.ReasonsPath)
	if s.PrunedUTC != nil {
		add("gone", fmt.Sprintf("its folder was pruned on %s by %s; the record stays", s.PrunedUTC.Format(time.RFC3339),
			s.PrunedBy))
	}
	for _, u := range s.Unread {
		add("not shown", u+": you may not read it")
	}
	p.section("Answer", fields)
	if n := len(s.Events); n > 0 {
		fields = [][2]string{{"events", fmt.Sprintf("%d to %d", s.Events[0].Seq, s.Events[n-1].Seq)}}
		add("seal", s.Seal)
		if s.DeliveredUTC != nil && s.PrunedUTC == nil {
			add("case file", "threegate audit prove "+s.RequestID+" -o case.tgz"+node)
		}
		p.section("Proof", fields)
	}
}
