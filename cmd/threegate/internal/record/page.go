package record

import (
	"fmt"
	"io"
	"strings"

	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
)

// page collects sections for people. What it is given is made visible.
type page struct {
	style   term.Style
	columns int
	b       strings.Builder
	title   string
}

// head begins a section, once for all calls with the same title one after the other; none if it has no lines.
func (p *page) head(title string, lines int) {
	if lines == 0 || p.title == title {
		return
	}
	p.title = title
	fmt.Fprintf(&p.b, "\n%s\n", p.style.Bold(title))
}

func (p *page) line(text string) {
	p.b.WriteString(term.Hang(term.Visible(text), 0, 4, p.columns) + "\n")
}

func (p *page) fields(fields [][2]string) {
	_ = term.Fields(&p.b, p.style, fields) // a builder takes all
}

// section is a head with its fields; those that are empty are left out.
func (p *page) section(title string, fields [][2]string) {
	var kept [][2]string
	for _, f := range fields {
		if f[1] != "" {
			kept = append(kept, f)
		}
	}
	p.head(title, len(kept))
	p.fields(kept)
}

// flush writes what was collected.
func (p *page) flush(out io.Writer) error {
	_, err := io.WriteString(out, p.b.String())
	p.b.Reset()
	return err
}
