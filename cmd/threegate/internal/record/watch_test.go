package record

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// TestRedraw: a terminal is cleared for each new view, a file gets each view once, and a view that did
// not change is not drawn again.
func TestRedraw(t *testing.T) {
	for _, c := range []struct {
		terminal bool
		views    []string
		want     string
	}{
		{false, []string{"a\n", "a\n", "b\n"}, "a\n\nb\n"},
		{true, []string{"a\n", "a\n", "b\n"}, "\x1b[H\x1b[2Ja\n\x1b[H\x1b[2Jb\n"},
		{false, []string{"{1}\n", "{2}\n"}, "{1}\n{2}\n"},
	} {
		tick := make(chan time.Time, len(c.views))
		for range len(c.views) - 1 {
			tick <- time.Time{}
		}
		close(tick)
		var out strings.Builder
		n := 0
		err := redraw(t.Context(), &out, c.terminal, tick, func(w io.Writer) error {
			_, err := fmt.Fprint(w, c.views[n])
			n++
			return err
		})
		if err != nil || out.String() != c.want {
			t.Errorf("%q on a terminal (%v): %v, %q", c.views, c.terminal, err, out.String())
		}
	}
}
