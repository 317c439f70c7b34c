package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
)

// TestANodeThatCantBeOpened: what is said to do mends what is wrong.
func TestANodeThatCantBeOpened(t *testing.T) {
	for _, c := range []struct {
		err  error
		exit int
		hint string
	}{
		{spool.ErrLocked, exitBusy, "threegate status --node /n "},
		{fmt.Errorf("event 3: %w", ledger.ErrDamaged), exitTrouble, "keep the folder /n/ledger as it is"},
		{errors.New("no disk"), exitTrouble, "threegate doctor --node /n "},
	} {
		f, ok := errors.AsType[*fault](nodeFault(c.err, "/n"))
		if !ok || f.exit != c.exit || !strings.Contains(f.hint, c.hint) {
			t.Errorf("%v: %+v, want exit code %d and the hint %q", c.err, f, c.exit, c.hint)
		}
	}
}
