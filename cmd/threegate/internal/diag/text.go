package diag

import (
	"fmt"
	"io"
	"strings"

	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/schemas"
)

const (
	// minContext is how many columns of a line are shown at least.
	minContext = 40
	// ellipsis stands where a line was cut.
	ellipsis = "…"
)

// Text writes diagnostics as a compiler does.
type Text struct {
	W     io.Writer
	Style term.Style
	// Columns is the width of the terminal.
	Columns int
	// Wrap breaks messages at Columns, for a terminal.
	Wrap bool
}

// Report implements Writer.
func (t *Text) Report(r Report) error {
	var b strings.Builder
	secret := r.HasSecret()
	if r.Flipped() {
		fmt.Fprintf(&b, "%s %s; on record: %s\n", t.Style.Bold(term.Visible(r.File)+":"), r.Verdict, r.OnRecord)
	}
	for _, f := range r.Findings {
		t.finding(&b, r, f, secret)
	}
	_, err := io.WriteString(t.W, b.String())
	return err
}

// Trouble implements Writer. The caller has told people on stderr already.
func (t *Text) Trouble(_, _ string) error { return nil }

// Close implements Writer and writes the summary line.
func (t *Text) Close(s Summary) error {
	var b strings.Builder
	b.WriteString(t.summary(s) + "\n")
	if len(s.NotLookedAt) > 0 {
		b.WriteString("not looked at, and a node does:\n")
	}
	for _, u := range s.NotLookedAt {
		b.WriteString("  " + u.Says() + "\n")
	}
	_, err := io.WriteString(t.W, b.String())
	return err
}

func (t *Text) finding(b *strings.Builder, r Report, f schemas.Finding, secret bool) {
	place := term.Visible(r.File)
	if r.File == "-" {
		place = "<stdin>"
	}
	if f.Line > 0 {
		place += fmt.Sprintf(":%d", f.Line)
		if f.Column > 0 {
			place += fmt.Sprintf(":%d", f.Column)
		}
	}
	columns := 0
	if t.Wrap {
		columns = t.Columns
	}
	head := fmt.Sprintf("%s: %s %s: ", place, f.Severity, term.Visible(f.Rule))
	fmt.Fprintf(b, "%s %s %s %s\n", t.Style.Bold(place+":"), t.severity(f.Severity),
		t.Style.Bold(term.Visible(f.Rule)+":"),
		term.Hang(term.Visible(f.Message), term.Width(head), len("  "), columns))
	gutter := fmt.Sprintf("%5d | ", f.Line)
	if f.Line < 1 {
		gutter = "      | "
	}
	if line, ok := r.line(f.Line); ok && !secret {
		t.source(b, gutter, line, f.Column)
	} else if f.Excerpt != "" {
		fmt.Fprintf(b, "%s%s\n", t.Style.Dim(gutter), term.Visible(f.Excerpt))
	}
	if f.Hint != "" {
		fmt.Fprintf(b, "  %s %s\n", t.Style.Cyan("hint:"),
			term.Hang(term.Visible(f.Hint), len("  hint: "), len("  hint: "), columns))
	}
}

// source writes a line of the document and a caret below column (in bytes, from 1).
func (t *Text) source(b *strings.Builder, gutter, line string, column int) {
	line = strings.TrimSuffix(line, "\r")
	cells := term.Cells(line)
	caret := len(cells) // the cell that the caret points at; one past the end is allowed
	for i, c := range cells {
		if column > 0 && c.Offset+len(rawCell(line, cells, i)) >= column {
			caret = i
			break
		}
	}
	shown, at := window(cells, caret, max(minContext, t.Columns-len(gutter)))
	if shown == "" && column < 1 {
		return
	}
	fmt.Fprintf(b, "%s%s\n", t.Style.Dim(gutter), strings.TrimRight(shown, " "))
	if column > 0 {
		fmt.Fprintf(b, "%s%s%s\n", t.Style.Dim(strings.Repeat(" ", len(gutter)-2)+"| "), strings.Repeat(" ", at),
			t.Style.Green("^"))
	}
}

// rawCell is the part of line that cell i shows.
func rawCell(line string, cells []term.Cell, i int) string {
	end := len(line)
	if i+1 < len(cells) {
		end = cells[i+1].Offset
	}
	return line[cells[i].Offset:end]
}

// window cuts cells down to width columns around cell caret and returns the text
// and the column, from 0, at which that cell begins.
func window(cells []term.Cell, caret, width int) (string, int) {
	total := 0
	for _, c := range cells {
		total += c.Width
	}
	from, to := 0, len(cells)
	if total > width {
		// A third of the room in front of the caret, the rest behind it.
		from = caret
		for room := width / 3; from > 0 && room >= cells[from-1].Width; from-- {
			room -= cells[from-1].Width
		}
		to = from
		for room := width - 2*len(ellipsis); to < len(cells) && room >= cells[to].Width; to++ {
			room -= cells[to].Width
		}
	}
	var b strings.Builder
	at := 0
	if from > 0 {
		b.WriteString(ellipsis)
		at = 1
	}
	for i := from; i < to; i++ {
		b.WriteString(cells[i].Text)
		if i < caret {
			at += cells[i].Width
		}
	}
	if to < len(cells) {
		b.WriteString(ellipsis)
	}
	return b.String(), at
}

func (t *Text) severity(s schemas.Severity) string {
	switch s {
	case schemas.SeverityBlocking:
		return t.Style.Red(string(s))
	case schemas.SeverityWarning:
		return t.Style.Yellow(string(s))
	}
	return t.Style.Cyan(term.Visible(string(s)))
}

func (t *Text) summary(s Summary) string {
	var judged, found []string
	add := func(to *[]string, n int, text string, paint func(string) string) {
		if n > 0 {
			*to = append(*to, paint(text))
		}
	}
	plain := func(s string) string { return s }
	add(&judged, s.Accepted, fmt.Sprintf("%d accepted", s.Accepted), t.Style.Green)
	add(&judged, s.Rejected, fmt.Sprintf("%d rejected", s.Rejected), t.Style.Red)
	add(&judged, s.Troubled, fmt.Sprintf("%d not judged", s.Troubled), t.Style.Red)
	add(&found, s.Blocking, fmt.Sprintf("%d blocking", s.Blocking), plain)
	add(&found, s.Warnings, term.Plural(s.Warnings, "warning", "warnings"), plain)
	add(&found, s.Suggestions, term.Plural(s.Suggestions, "suggestion", "suggestions"), plain)
	line := term.Plural(s.Files+s.Troubled, "file", "files") + ": " + strings.Join(judged, ", ")
	if len(found) > 0 {
		line += " (" + strings.Join(found, ", ") + ")"
	}
	if s.Flipped > 0 {
		line += fmt.Sprintf("; %d other than on record", s.Flipped)
	}
	return line
}
