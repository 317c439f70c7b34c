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
