package record

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/ledger"
)

// TestWatch: a terminal is cleared for each new view, a file gets each view once; ctrl+c ends it without an error.
func TestWatch(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		node := newNode(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, w := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			err := runContext(ctx, w, node, terminal, "status", "--watch")
			w.Close()
			ended <- err
		}()
		var all bytes.Buffer
		until := func(text string) {
			t.Helper()
			for buf := make([]byte, 4096); !strings.Contains(all.String(), text); {
				n, err := r.Read(buf)
				if all.Write(buf[:n]); err != nil {
					t.Fatalf("no %q in %q: %v", text, all.String(), err)
				}
			}
		}
		until("no events yet")
		record(t, node, ledger.Event{Type: ledger.NodeStarted})
		until("1 event, the last at")
		cancel()
		_, err := all.ReadFrom(r)
		if err = errors.Join(err, <-ended); err != nil {
			t.Error(err)
		}
		clear, blank := 0, 1
		if terminal {
			clear, blank = 2, 0
		}
		got := all.String()
		if n := strings.Count(got, "\x1b[H\x1b[2J"); n != clear || strings.Count(got, "no events yet") != 1 ||
			!terminal && strings.Count(got, "\n\n"+got[:strings.IndexByte(got, '\n')]) != blank {
			t.Errorf("on a terminal (%v): %q", terminal, got)
		}
	}
}
