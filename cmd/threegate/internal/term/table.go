package term

import (
	"fmt"
	"io"
	"strings"
)

// columnGap separates the columns of a table.
const columnGap = "  "

// Table writes rows in columns that are as wide as their widest cell; cells are
// made visible first. The last column is not padded.
func Table(w io.Writer, style Style, head []string, rows [][]string) error {
	widths := make([]int, len(head))
	for i, h := range head {
		widths[i] = Width(h)
	}
	for _, row := range rows {
		for i := range min(len(row), len(head)) {
			widths[i] = max(widths[i], Width(row[i]))
		}
	}
	var b strings.Builder
	line := func(row []string, paint func(string) string) {
		for i := range min(len(row), len(head)) {
			cell := Visible(row[i])
			pad := ""
			if i < len(head)-1 {
				pad = strings.Repeat(" ", widths[i]-Width(row[i])) + columnGap
			}
			b.WriteString(paint(cell) + pad)
		}
		b.WriteString("\n")
	}
	line(head, style.Bold)
	for _, row := range rows {
		line(row, func(s string) string { return s })
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Fields writes "name  value" lines, names padded to one width.
func Fields(w io.Writer, style Style, fields [][2]string) error {
	n := 0
	for _, f := range fields {
		n = max(n, Width(f[0]))
	}
	var b strings.Builder
	for _, f := range fields {
		pad := strings.Repeat(" ", n-Width(f[0]))
		fmt.Fprintf(&b, "%s%s%s%s\n", style.Bold(Visible(f[0])), pad, columnGap, Visible(f[1]))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Bytes is a size as people write it.
func Bytes(n int64) string {
	const unit = 1024
	if n < 0 {
		return "unknown"
	}
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/unit, 0
	for f >= unit && i < 3 {
		f /= unit
		i++
	}
	return fmt.Sprintf("%.1f %ciB", f, "KMGT"[i])
}

// List is ListBelow with one cell below.
func List(w io.Writer, style Style, columns int, head []string, rows [][]string) error {
	return ListBelow(w, style, columns, 1, head, rows)
}

// ListBelow is Table for a given width. If a row is too wide, the last cells (below says how many) go to a second
// line; if that is too wide as well, each gets a line of its own. So no id is cut or broken.
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
