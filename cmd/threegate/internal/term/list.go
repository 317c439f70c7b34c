package term

import (
	"io"
	"strings"
)

// List is ListBelow for the last cell.
func List(w io.Writer, style Style, columns int, head []string, rows [][]string) error {
	return ListBelow(w, style, columns, 1, head, rows)
}

// ListBelow is Table for a given width: where a row is too wide for it, the last cells, below of them, go to a line of
// their own below the others, and where that is too wide, too, each to one of its own. So no id is cut or broken.
func ListBelow(w io.Writer, style Style, columns, below int, head []string, rows [][]string) error {
	first := len(head) - below
	var b strings.Builder
	if err := Table(&b, false, head, rows); err != nil {
		return err
	}
	wide := false
	for l := range strings.Lines(b.String()) {
		wide = wide || Width(strings.TrimRight(l, " \n")) > columns
	}
	if !wide {
		return Table(w, style, head, rows)
	}
	short := make([][]string, len(rows))
	for i, row := range rows {
		short[i] = row[:first]
	}
	b.Reset()
	if err := Table(&b, style, head[:first], short); err != nil {
		return err
	}
	var out strings.Builder
	i := -1 // the head
	for l := range strings.Lines(b.String()) {
		out.WriteString(l)
		if i >= 0 {
			out.WriteString(under(rows[i][first:], columns))
		}
		i++
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// under is the cells of a row that stand below the others.
func under(cells []string, columns int) string {
	var shown []string
	for _, c := range cells {
		if c != "" {
			shown = append(shown, Visible(c))
		}
	}
	if one := "  " + strings.Join(shown, "  "); Width(one) <= columns {
		return one + "\n"
	}
	var b strings.Builder
	for _, c := range shown {
		b.WriteString("  " + Hang(c, 2, 4, columns) + "\n")
	}
	return b.String()
}
