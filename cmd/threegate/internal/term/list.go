package term

import (
	"io"
	"strings"
)

// List is Table for a given width: where a row is too wide for it, the last cell goes to a line of
// its own below the others, so that no id is cut or broken.
func List(w io.Writer, style Style, columns int, head []string, rows [][]string) error {
	last := len(head) - 1
	var b strings.Builder
	if err := Table(&b, false, head, rows); err != nil {
		return err
	}
	lines := strings.SplitAfter(b.String(), "\n")
	wide := false
	for _, l := range lines {
		wide = wide || Width(strings.TrimSuffix(l, "\n")) > columns
	}
	if !wide {
		return Table(w, style, head, rows)
	}
	short := make([][]string, len(rows))
	for i, row := range rows {
		short[i] = row[:last]
	}
	b.Reset()
	if err := Table(&b, style, head[:last], short); err != nil {
		return err
	}
	var out strings.Builder
	for i, l := range strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n") {
		out.WriteString(strings.TrimSuffix(l, "\n") + "\n")
		if i > 0 {
			out.WriteString("  " + Visible(rows[i-1][last]) + "\n")
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}
