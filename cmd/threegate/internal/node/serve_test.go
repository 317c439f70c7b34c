package node

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
)

// TestANodeThatCantBeOpened: the hint mends what is wrong.
func TestANodeThatCantBeOpened(t *testing.T) {
	for _, c := range []struct {
		err  error
		exit int
		hint string
	}{
		{spool.ErrLocked, cli.ExitBusy, "threegate status --node /n "},
		{fmt.Errorf("event 3: %w", ledger.ErrDamaged), cli.ExitTrouble, "keep the folder /n/ledger as it is"},
		{errors.New("no disk"), cli.ExitTrouble, "threegate doctor --node /n "},
	} {
		f, ok := errors.AsType[*cli.Fault](nodeFault(c.err, "/n"))
		if !ok || f.Exit != c.exit || !strings.Contains(f.Hint, c.hint) {
			t.Errorf("%v: %+v, want exit code %d and the hint %q", c.err, f, c.exit, c.hint)
		}
	}
}

// TestSystemdIsTold: once that the node serves, then that it still does.
func TestSystemdIsTold(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	t.Setenv("NOTIFY_SOCKET", socket)
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	alive := tellSystemd(slog.New(slog.DiscardHandler))
	for _, want := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1"} {
		alive()
		b := make([]byte, 64)
		n, err := conn.Read(b)
		if err != nil || string(b[:n]) != want {
			t.Errorf("told %q, %v, want %q", b[:n], err, want)
		}
	}
}
