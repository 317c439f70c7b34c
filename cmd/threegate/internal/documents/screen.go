package documents

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
)

// Decisions of a reader.
const (
	decisionNone    = ""
	decisionApprove = "approve"
	decisionRefuse  = "refuse"
)

// screen shows a reading on a terminal and takes the reader's decision. It does nothing with it.
type screen struct {
	reading *reading
	style   term.Style
	title   string
	view    viewport.Model
	// rowOf are the lines that the rows of the screen belong to, rows how many each line has.
	rowOf []int
	rows  []int
	// seen are the rows that were on the screen; shown are lines of which all were.
	seen  []bool
	shown []bool
	// unseen is whether the reader may approve what was not shown.
	unseen bool
	// mayApprove says why this person can't approve.
	mayApprove func(name string) error

	// ask is what is being typed: "" for nothing, else a question.
	ask, answer, message   string
	pending                string // the decision that the question is about
	decision, name, reason string
}

const (
	askName   = "Your name: "
	askReason = "Why not: "
)

func newScreen(r *reading, p *approval, s term.Style, unseen bool) *screen {
	return &screen{reading: r, style: s, title: p.file, view: viewport.New(), unseen: unseen,
		shown: make([]bool, len(r.lines))}
}

// Init implements tea.Model.
func (s *screen) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		s.layout(m.Width, m.Height)
	case tea.KeyPressMsg:
		if m.String() == "ctrl+c" {
			s.decision = decisionNone
			return s, tea.Quit
		}
		if s.ask != "" {
			return s, s.typed(m)
		}
		s.message = ""
		switch m.String() {
		case "q":
			return s, tea.Quit
		case "a":
			s.begin(decisionApprove)
			return s, nil
		case "r":
			s.begin(decisionRefuse)
			return s, nil
		case "g", "home":
			s.view.GotoTop()
		case "G", "end":
			s.view.GotoBottom()
		}
		var cmd tea.Cmd
		s.view, cmd = s.view.Update(msg)
		s.look()
		return s, cmd
	}
	return s, nil
}

// layout fits the reading to a screen. Lines that were shown whole stay so.
func (s *screen) layout(width, height int) {
	width, height = max(width, 20), max(height, 6)
	at := 0
	if y := s.view.YOffset(); y < len(s.rowOf) {
		at = s.rowOf[y]
	}
	var rows []string
	s.rowOf, s.rows = nil, make([]int, len(s.reading.lines))
	top := 0
	for i, l := range s.reading.lines {
		if i == at {
			top = len(rows)
		}
		for _, row := range fit(l, s.style, width) {
			rows = append(rows, row)
			s.rowOf = append(s.rowOf, i)
			s.rows[i]++
		}
	}
	s.seen = make([]bool, len(rows))
	s.view.SetWidth(width)
	s.view.SetHeight(height - 4)
	s.view.SetContentLines(rows)
	s.view.SetYOffset(top)
	s.look()
}

// fit lays a line out so that the viewport, which has its own idea of the width of characters, cuts nothing off.
func fit(l readLine, style term.Style, width int) []string {
	for columns := width; ; columns /= 2 {
		rows := l.rows(style, columns)
		wide := false
		for _, r := range rows {
			wide = wide || ansi.StringWidth(r) > width
		}
		if !wide || columns < 8 {
			return rows
		}
	}
}

// look notes what is on the screen.
func (s *screen) look() {
	from := s.view.YOffset()
	for y := from; y < min(from+s.view.Height(), len(s.seen)); y++ {
		s.seen[y] = true
	}
	for y := from; y < min(from+s.view.Height(), len(s.seen)); y++ {
		line, all := s.rowOf[y], true
		first := y
		for first > 0 && s.rowOf[first-1] == line {
			first--
		}
		for i := range s.rows[line] {
			all = all && s.seen[first+i]
		}
		s.shown[line] = s.shown[line] || all
	}
}

// missing is the first row that was not shown, or -1.
func (s *screen) missing() (row, lines int) {
	row = -1
	for y, line := range s.rowOf {
		if s.shown[line] || y > 0 && s.rowOf[y-1] == line {
			continue
		}
		if row < 0 {
			row = y
		}
		lines++
	}
	return row, lines
}

// begin asks for what a decision needs.
func (s *screen) begin(decision string) {
	s.pending, s.answer, s.message, s.name, s.reason = decision, "", "", "", ""
	if decision == decisionRefuse {
		s.ask = askReason
		return
	}
	row, lines := s.missing()
	switch {
	case row >= 0 && !s.unseen:
		s.view.SetYOffset(row)
		s.look()
		s.message = fmt.Sprintf("%s not shown yet; here is the first: go on with the space bar",
			term.Plural(lines, "line was", "lines were"))
	case len(s.reading.unseen) > 0 && !s.unseen:
		s.message = fmt.Sprintf("%s can't be shown: look at it by other means, and start again with --unseen",
			term.Plural(len(s.reading.unseen), "input", "inputs"))
	default:
		s.ask = askName
	}
}

// typed takes a key of an answer.
func (s *screen) typed(m tea.KeyPressMsg) tea.Cmd {
	switch m.String() {
	case "esc":
		s.ask, s.message = "", "nothing was decided"
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(s.answer)
		s.answer = s.answer[:len(s.answer)-n]
	case "enter":
		return s.answered(strings.TrimSpace(s.answer))
	default:
		if len(s.answer)+len(m.Text) <= maxReason {
			s.answer += m.Text
		}
	}
	return nil
}

// answered goes on with an answer: a reason, then a name.
func (s *screen) answered(answer string) tea.Cmd {
	switch {
	case answer == "":
		s.message = "type an answer, or esc to go back"
		return nil
	case s.ask == askReason:
		s.reason, s.ask, s.answer, s.message = answer, askName, "", ""
		return nil
	case s.pending == decisionApprove:
		if err := s.mayApprove(answer); err != nil {
			s.ask, s.message = "", err.Error()
			return nil
		}
	}
	s.name, s.decision = answer, s.pending
	return tea.Quit
}

// View implements tea.Model.
func (s *screen) View() tea.View {
	width := max(s.view.Width(), 20)
	_, left := s.missing()
	state := "all of it was shown"
	if left > 0 {
		state = term.Plural(left, "line", "lines") + " not shown yet"
	}
	if len(s.reading.unseen) > 0 {
		state += "; " + term.Plural(len(s.reading.unseen), "input", "inputs") + " can't be shown"
	}
	foot := "a approve   r refuse   q leave   space, b, ↑, ↓, g, G move"
	if s.ask != "" {
		verb := map[string]string{decisionApprove: "Approve. ", decisionRefuse: "Refuse. "}[s.pending]
		foot = verb + s.ask + tail(term.Visible(s.answer), width-len(verb)-len(s.ask)-1) + "█"
	}
	line := s.style.Dim(strings.Repeat("─", width))
	head := fmt.Sprintf("%s  %3.0f%%  %s", term.Visible(s.title), 100*s.view.ScrollPercent(), state)
	v := tea.NewView(strings.Join([]string{
		s.style.Bold(ansi.Truncate(head, width, "…")), s.view.View(), line,
		ansi.Truncate(foot, width, "…"), ansi.Truncate(s.style.Yellow(term.Visible(s.message)), width, "…"),
	}, "\n"))
	v.AltScreen = true
	return v
}

// tail is the end of a text that fits.
func tail(text string, width int) string {
	for ansi.StringWidth(text) > max(width, 1) {
		_, n := utf8.DecodeRuneInString(text)
		text = text[n:]
	}
	return text
}
