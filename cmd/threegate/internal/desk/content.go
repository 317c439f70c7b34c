package desk

import (
	"cmp"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/cmd/threegate/internal/record"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/gate/hold"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// Bounds of what one page shows.
const (
	lastResults = 20
	trendDays   = 14
	mostRules   = 8
	maxRows     = 200
	maxAlarms   = 20
	maxText     = 2000 // bytes of one text
	maxLines    = 400
)

// visible makes a text one that can be shown: bounded, and every hidden character spelled out.
func visible(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + " …"
	}
	return term.Visible(s)
}

// row is a request in a list.
type row struct {
	ID, Job, State, About string
	Since                 time.Time
	// Percent is how much of its time a run has used, or -1.
	Percent int
}

// link is the page that tells more of it: an item has no request id where that could not be read.
func (r row) Link() string {
	if r.ID != "" {
		return "request/" + r.ID
	}
	return "item/" + r.Job
}

// alarm is something that holds the node up.
type alarm struct{ What, Says, Hint string }

type today struct {
	Waiting, Queued, Running, Undecided, Results []row
	More                                         int
	Troubles                                     []alarm
	Alarms                                       int // some may not be shown
	Chart                                        chart
	Rules                                        []count
	Command                                      string // what suggested commands need to find the node
}

func (s *server) today(*http.Request) (page, error) {
	p := page{Title: "Today", At: "today"}
	list, err := s.agenda.Look()
	if err == nil {
		err = s.trend.read()
	}
	if err != nil {
		return p, err
	}
	c := today{Command: s.commandEnd()}
	for _, e := range list {
		r := s.rowOf(e)
		switch e.State {
		case ledger.StateWaiting:
			c.Waiting = append(c.Waiting, r)
		case ledger.StateAdmitted:
			c.Queued = append(c.Queued, r)
		case ledger.StateRunning, ledger.StateFinished:
			c.Running = append(c.Running, r)
		case ledger.StateQuarantined, ledger.StateResultQuarantined:
			c.Undecided = append(c.Undecided, r)
		default:
			c.Results = append(c.Results, r)
		}
	}
	slices.Reverse(c.Results)
	for _, l := range []*[]row{&c.Waiting, &c.Queued, &c.Undecided} {
		if n := len(*l) - maxRows; n > 0 {
			c.More += n
			*l = (*l)[:maxRows]
		}
	}
	if err := s.alarms(&c); err != nil {
		return p, err
	}
	days := s.trend.last(s.now(), trendDays)
	c.Chart, c.Rules = newChart(days), s.trend.most(days, mostRules)
	p.Content = c
	return p, nil
}

// alarms adds what holds the node up: what a person holds, and what the gate that serves it says.
func (s *server) alarms(c *today) error {
	holds, err := hold.List(s.node)
	if err != nil {
		return err
	}
	for _, h := range holds {
		resume := "threegate resume" + before(" ", h.Inbox) + c.Command
		c.Troubles = append(c.Troubles, alarm{"held", visible(h.String()), resume})
	}
	if live, err := view.Live(s.node); err == nil && live != nil && s.serving() {
		for _, t := range live.Troubles {
			c.Troubles = append(c.Troubles, alarm{visible(t.What + before(": ", t.Request)),
				visible(t.Doing + ": " + t.Error), visible(t.Hint)})
		}
		for _, x := range live.Stuck {
			what := visible("inbox " + x.Inbox + before(": ", x.Name))
			c.Troubles = append(c.Troubles, alarm{what, visible(x.Reason), ""})
		}
	}
	c.Alarms = len(c.Troubles)
	c.Troubles = c.Troubles[:min(c.Alarms, maxAlarms)]
	return nil
}

// before is text behind what comes before it, or nothing.
func before(first, text string) string {
	if text == "" {
		return ""
	}
	return first + text
}

func (s *server) rowOf(e view.Entry) row {
	r := row{ID: visible(e.RequestID), Job: visible(e.Job), State: string(e.State), Since: e.SinceUTC, Percent: -1,
		About: visible(record.About(e, s.now()))}
	if e.State == ledger.StateRunning && e.LimitSec > 0 && e.StartedUTC != nil {
		used := s.now().Sub(*e.StartedUTC)
		r.Percent = min(100, int(used*100/(time.Duration(e.LimitSec)*time.Second)))
	}
	return r
}

// commandEnd is what a suggested command needs to find the node.
func (s *server) commandEnd() string { return " --node " + visible(s.node.Dir) }

func (s *server) serving() bool {
	served, err := spool.Locked(s.node.Dir)
	return err == nil && served
}

// group is undecided items that the same rules refused.
type group struct {
	Rules string
	Rows  []row
}

type held struct {
	Groups  []group
	Count   int
	Command string
}

func (s *server) quarantine(*http.Request) (page, error) {
	p := page{Title: "Quarantine", At: "quarantine"}
	list, err := s.agenda.Look()
	if err != nil {
		return p, err
	}
	c, by := held{Command: s.commandEnd()}, map[string]int{}
	for _, e := range list {
		if e.State != ledger.StateQuarantined && e.State != ledger.StateResultQuarantined {
			continue
		}
		rules := cmp.Or(strings.Join(e.Rules, " "), "no rule on record")
		at, known := by[rules]
		if !known {
			at = len(c.Groups)
			by[rules] = at
			c.Groups = append(c.Groups, group{Rules: visible(rules)})
		}
		if c.Count++; c.Count <= maxRows {
			c.Groups[at].Rows = append(c.Groups[at].Rows, s.rowOf(e))
		}
	}
	slices.SortStableFunc(c.Groups, func(a, b group) int { return cmp.Compare(len(b.Rows), len(a.Rows)) })
	p.Content = c
	return p, nil
}

// story is a record.Story as it can be shown.
type story struct {
	ID, State string
	Sections  []record.Section
	Findings  []finding
	Commands  []string
}

type finding struct{ Rule, Message, Excerpt, Hint, Place string }

func (s *server) request(r *http.Request) (page, error) {
	id := r.PathValue("request")
	if spool.RequestStem(id+".md") == "" {
		return page{}, errNotFound
	}
	status, err := view.Of(s.node, id)
	if err != nil {
		return page{}, err
	}
	if status.State == ledger.StateUnknown {
		return page{}, errNotFound
	}
	told, err := record.StoryOf(s.node, status)
	if err != nil {
		return page{}, err
	}
	c := story{ID: visible(id), State: string(status.State), Sections: told.Sections(s.commandEnd())}
	for i := range c.Sections {
		x := &c.Sections[i]
		for k := range x.Fields {
			x.Fields[k] = [2]string{visible(x.Fields[k][0]), visible(x.Fields[k][1])}
		}
		if more := len(x.Lines) - maxLines; more > 0 {
			x.Lines = append(x.Lines[:maxLines], fmt.Sprintf("and %d more lines", more))
		}
		for k := range x.Lines {
			x.Lines[k] = visible(x.Lines[k])
		}
	}
	if told.Reasons != nil {
		c.judged(told.Item, told.Reasons, s.commandEnd())
	}
	switch status.State {
	case ledger.StateWaiting, ledger.StateAdmitted, ledger.StateRunning:
		c.Commands = append(c.Commands, "threegate cancel "+id+s.commandEnd()+decision)
	}
	return page{Title: visible(id), At: "request", Content: c}, nil
}

// decision is what every order says.
const decision = " --as YOUR-NAME --reason 'WHY'"

// judged adds the findings that refused an item, and the commands that decide on it.
func (c *story) judged(item string, r *quarantine.Reasons, node string) {
	for _, f := range r.Findings[:min(len(r.Findings), maxRows)] {
		x := finding{Rule: visible(f.Rule), Message: visible(f.Message), Excerpt: visible(f.Excerpt),
			Hint: visible(f.Hint)}
		if f.Line > 0 {
			x.Place = fmt.Sprintf("line %d", f.Line)
		}
		if f.Severity == schemas.SeverityBlocking {
			c.Findings = append(c.Findings, x)
		}
	}
	if r.MayRelease() {
		c.Commands = append(c.Commands, "threegate quarantine release "+item+node+decision)
	}
	c.Commands = append(c.Commands, "threegate quarantine reject "+item+node+decision)
}

// item is the page of something refused whose request id may not be known.
func (s *server) item(r *http.Request) (page, error) {
	job := r.PathValue("item")
	if !spool.ValidID(job) {
		return page{}, errNotFound
	}
	it, err := quarantine.NewStore(filepath.Join(s.node.Dir, spool.DirQuarantine)).Show(job)
	if err != nil {
		return page{}, err
	}
	if it.Damage != nil {
		return page{}, it.Damage
	}
	x := record.Section{Title: "Item"}
	for _, f := range [][2]string{{"item", it.ID}, {"file", it.Reasons.OriginalName}, {"inbox", it.Reasons.Inbox},
		{"refused", it.Reasons.RefusedAt.UTC().Format(time.RFC3339)}, {"sha256", it.Reasons.SHA256},
		{"folder", it.Dir}} {
		if f[1] != "" {
			x.Fields = append(x.Fields, [2]string{f[0], visible(f[1])})
		}
	}
	c := story{ID: visible(job), State: string(it.Kind), Sections: []record.Section{x}}
	c.judged(it.ID, it.Reasons, s.commandEnd())
	return page{Title: visible(job), At: "quarantine", Content: c}, nil
}

// status is the page of the node itself.
func (s *server) status(*http.Request) (page, error) {
	p := page{Title: "Node", At: "node"}
	n, err := view.Inspect(s.node, time.Time{})
	if err != nil {
		return p, err
	}
	state := record.Section{Title: "State"}
	add := func(x *record.Section, name, value string) {
		x.Fields = append(x.Fields, [2]string{visible(name), visible(value)})
	}
	add(&state, "folder", n.Dir)
	for _, in := range n.Inboxes {
		add(&state, "inbox "+in.Name, cmp.Or(in.Error, term.Plural(in.Waiting, "request waits", "requests wait")))
	}
	for _, st := range spool.States {
		if count, seen := n.Jobs[st]; seen {
			add(&state, string(st), term.Plural(count, "job", "jobs"))
		}
	}
	t := n.Totals
	sums := record.Section{Title: "Since the node was made"}
	add(&sums, "requests", fmt.Sprintf("%d admitted, %d quarantined", t.Admitted, t.RequestsRefused))
	add(&sums, "runs", fmt.Sprintf("%d completed, %d failed", t.RunsCompleted, t.RunsFailed))
	add(&sums, "results", fmt.Sprintf("%d delivered, %d quarantined", t.ResultsDelivered, t.ResultsQuarantined))
	add(&sums, "record", term.Plural(int(t.Events), "event", "events"))
	if n.Disk != "" {
		add(&state, "disk", "nothing new is taken in: "+n.Disk)
	}
	images := record.Section{Title: "Images"}
	for name, digest := range s.node.ImageDigests(ledger.MaxImages) {
		add(&images, name, digest)
	}
	slices.SortFunc(images.Fields, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	p.Content = []record.Section{state, sums, images}
	return p, nil
}

// ago is how long ago something was, in words.
func ago(now, then time.Time) string {
	if then.IsZero() {
		return ""
	}
	return record.Ago(now, then)
}
