package record

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// watchEvery is how often a watched view is drawn anew.
const watchEvery = time.Second

// redraw shows what draw writes, again at each tick, until ctx ends. A terminal shows the last view
// only; anything else gets a view each time that it changed.
func redraw(ctx context.Context, out io.Writer, terminal bool, tick <-chan time.Time,
	draw func(io.Writer) error) error {
	last := ""
	for {
		var b strings.Builder
		if err := draw(&b); err != nil {
			return err
		}
		if b.String() != last {
			clear := ""
			if terminal {
				clear = "\x1b[H\x1b[2J"
			} else if last != "" && !strings.HasPrefix(b.String(), "{") {
				clear = "\n"
			}
			if _, err := fmt.Fprint(out, clear, b.String()); err != nil {
				return err
			}
			last = b.String()
		}
		select {
		case <-ctx.Done():
			return nil // the person has seen enough
		case _, more := <-tick:
			if !more {
				return nil
			}
		}
	}
}
