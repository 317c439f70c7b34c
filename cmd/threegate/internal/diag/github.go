package diag

import (
	"fmt"
	"io"
	"strings"

	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/schemas"
)

// GitHub writes workflow commands, which GitHub shows as annotations.
type GitHub struct{ W io.Writer }

// Everything that ends or structures a workflow command is escaped; other
// hidden characters are spelt visibly before that.
var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// Report implements Writer.
func (g *GitHub) Report(r Report) error {
	var b strings.Builder
	for _, f := range r.Findings {
		level := "notice"
		switch f.Severity {
		case schemas.SeverityBlocking:
			level = "error"
		case schemas.SeverityWarning:
			level = "warning"
		}
		text := term.Block(f.Message)
		if f.Hint != "" {
			text += "\nhint: " + term.Block(f.Hint)
		}
		g.command(&b, level, r.File, f.Line, f.Column, f.Rule, text)
	}
	_, err := io.WriteString(g.W, b.String())
	return err
}

// Trouble implements Writer.
func (g *GitHub) Trouble(t Trouble) error {
	var b strings.Builder
	g.command(&b, "error", t.File, 0, 0, "not judged", term.Block(t.Message))
	_, err := io.WriteString(g.W, b.String())
	return err
}

// Close implements Writer.
func (g *GitHub) Close(Summary) error { return nil }

func (g *GitHub) command(b *strings.Builder, level, file string, line, column int, title, text string) {
	fmt.Fprintf(b, "::%s file=%s", level, escapeProperty.Replace(term.Visible(file)))
	if line > 0 {
		fmt.Fprintf(b, ",line=%d", line)
	}
	if line > 0 && column > 0 {
		fmt.Fprintf(b, ",col=%d", column)
	}
	fmt.Fprintf(b, ",title=%s::%s\n", escapeProperty.Replace(term.Visible(title)), escapeData.Replace(text))
}
