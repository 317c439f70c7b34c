package term

import (
	"strings"
	"testing"
)

// TestListFits: an id that is too long for the width stands whole on a line of its own.
func TestListFits(t *testing.T) {
	head, rows := []string{"A", "ID"}, [][]string{{"x", "short"}, {"y", strings.Repeat("z", 30)}}
	for columns, want := range map[int]string{
		80: "A  ID\nx  short\ny  " + strings.Repeat("z", 30) + "\n",
		32: "A\nx\n  short\ny\n  " + strings.Repeat("z", 30) + "\n",
	} {
		var b strings.Builder
		if err := List(&b, false, columns, head, rows); err != nil || b.String() != want {
			t.Errorf("%d columns: %v\n%s", columns, err, b.String())
		}
	}
}

// TestListBelow: cells that don't fit stand below the others, and words of them are not broken.
func TestListBelow(t *testing.T) {
	head := []string{"ITEM", "REQUEST", "RULES"}
	rows := [][]string{{"j1", "TR-a", "request.id"}, {"j2", "TR-" + strings.Repeat("b", 20), "request.id secrets.scan sec.x"},
		{"j3", "", "request.id"}, {"j4", "\x1b[2J", ""}}
	for columns, want := range map[int]string{
		80: "ITEM  REQUEST                  RULES\nj1    TR-a                     request.id\n" +
			"j2    TR-bbbbbbbbbbbbbbbbbbbb  request.id secrets.scan sec.x\nj3                             request.id\n" +
			"j4    ⟦1B⟧[2J\n",
		56: "ITEM\nj1\n  TR-a  request.id\nj2\n  TR-bbbbbbbbbbbbbbbbbbbb  request.id secrets.scan sec.x\n" +
			"j3\n  request.id\nj4\n  ⟦1B⟧[2J\n",
		28: "ITEM\nj1\n  TR-a  request.id\nj2\n  TR-bbbbbbbbbbbbbbbbbbbb\n  request.id secrets.scan\n    sec.x\n" +
			"j3\n  request.id\nj4\n  ⟦1B⟧[2J\n",
	} {
		var b strings.Builder
		err := ListBelow(&b, false, columns, 2, head, rows)
		var got strings.Builder
		for l := range strings.Lines(b.String()) {
			got.WriteString(strings.TrimRight(l, " \n") + "\n")
		}
		if err != nil || got.String() != want {
			t.Errorf("%d columns: %v\n%s\nwant\n%s", columns, err, got.String(), want)
		}
	}
}
