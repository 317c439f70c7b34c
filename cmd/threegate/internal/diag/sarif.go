package diag

import (
	"cmp"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/schemas"
)

// informationURI is where the tool is at home.
const informationURI = "https://github.com/threegate/tool-exec"

// SARIF writes one SARIF 2.1.0 log with one run; it is written on Close.
type SARIF struct {
	W       io.Writer
	run     *sarif.Run
	success bool
	notes   []*sarif.Notification
}

// NewSARIF begins a log that describes every rule of the catalogue.
func NewSARIF(w io.Writer, version string, rules []schemas.Rule) *SARIF {
	run := sarif.NewRunWithInformationURI("threegate", informationURI)
	run.Tool.Driver.WithVersion(version)
	run.WithColumnKind("unicodeCodePoints")
	for _, r := range rules {
		d := run.AddRule(r.ID)
		d.WithName(r.ID)
		d.WithShortDescription(sarif.NewMultiformatMessageString().WithText(r.Title))
		d.WithFullDescription(sarif.NewMultiformatMessageString().WithText(cmp.Or(r.Why, r.Title)))
		d.WithHelp(sarif.NewMultiformatMessageString().WithText(cmp.Or(r.Hint, r.Title)))
		d.WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(sarifLevel(r.Level)))
		props := sarif.NewPropertyBag()
		props.Add("must", r.Must)
		props.Add("source", r.Source)
		d.WithProperties(props)
	}
	return &SARIF{W: w, run: run, success: true}
}

// Report implements Writer.
func (s *SARIF) Report(r Report) error {
	for _, f := range r.Findings {
		text := term.Block(f.Message)
		if f.Hint != "" {
			text += "\nHint: " + term.Block(f.Hint)
		}
		// A finding for the whole document points at its first line: consumers
		// show nothing that has no line.
		region := sarif.NewRegion().WithStartLine(max(1, f.Line))
		if f.Line > 0 && f.Column > 0 {
			region.WithStartColumn(codePointColumn(r, f))
		}
		location := sarif.NewPhysicalLocation().
			WithArtifactLocation(sarif.NewSimpleArtifactLocation(fileURI(r.File))).
			WithRegion(region)
		s.run.CreateResultForRule(f.Rule).
			WithLevel(sarifLevel(f.Severity)).
			WithMessage(sarif.NewTextMessage(text)).
			AddLocation(sarif.NewLocationWithPhysicalLocation(location))
	}
	return nil
}

// Trouble implements Writer.
func (s *SARIF) Trouble(file, message string) error {
	s.success = false
	location := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewSimpleArtifactLocation(fileURI(file)))
	s.notes = append(s.notes, sarif.NewNotification().
		WithLevel(sarif.LevelError).
		WithMessage(sarif.NewTextMessage(term.Block(message))).
		WithLocations([]*sarif.Location{sarif.NewLocationWithPhysicalLocation(location)}))
	return nil
}

// Close implements Writer.
func (s *SARIF) Close(Summary) error {
	s.run.AddInvocation(sarif.NewInvocation().
		WithExecutionSuccessful(s.success).
		WithToolExecutionNotifications(s.notes))
	report := sarif.NewReport()
	report.AddRun(s.run)
	return report.PrettyWrite(s.W)
}

func sarifLevel(s schemas.Severity) string {
	switch s {
	case schemas.SeverityBlocking:
		return sarif.LevelError
	case schemas.SeverityWarning:
		return sarif.LevelWarning
	}
	return sarif.LevelNote
}

// codePointColumn turns the column in bytes into one in code points.
func codePointColumn(r Report, f schemas.Finding) int {
	line, ok := r.line(f.Line)
	if !ok {
		return f.Column
	}
	return utf8.RuneCountInString(line[:min(f.Column-1, len(line))]) + 1
}

// fileURI is path as a relative or file: URI.
func fileURI(path string) string {
	if path == "-" {
		return "stdin"
	}
	slashed := filepath.ToSlash(path)
	if strings.HasPrefix(slashed, "/") {
		return (&url.URL{Scheme: "file", Path: slashed}).String()
	}
	return (&url.URL{Path: slashed}).String()
}
