package gate_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/trouble"
	"github.com/threegate/tool-exec/gate/view"
)

// TestAResultIsNotTakenForDelivered: a gate dies after the delivery is on record and before
// the result appears, and the next has another folder for CORE's. The job is held up until
// the old folder is back.
func TestAResultIsNotTakenForDelivered(t *testing.T) {
	w := mustWorld(t, scenario{name: "away", word: "ok", want: ending{delivered: 1, runs: 1}})
	dying := &injector{name: "publish.commit.rename", nth: 1, kind: killBefore}
	if _ = w.process(dying); !dying.dead {
		t.Fatal("it did not die")
	}
	configure := func(more string) {
		must(t, os.WriteFile(filepath.Join(w.dir, config.FileName), []byte(crashConfig+more), 0o640))
		var err error
		w.cfg, err = config.Load(w.dir)
		must(t, err)
	}
	other := filepath.Join(filepath.Dir(w.dir), "other")
	must(t, os.Mkdir(other, 0o755))
	configure("core_inbound: {path: " + other + "}\n")
	g, err := gate.Open(w.cfg, gate.Options{Executor: w.recorder(&injector{}), Logger: slog.New(slog.DiscardHandler), Retry: firstPause})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	status := filepath.Join(w.dir, trouble.File)
	for end := time.Now().Add(atMost); ; time.Sleep(time.Millisecond) {
		if s, err := view.Inspect(w.cfg, time.Time{}); err == nil && s.Live != nil && len(s.Live.Troubles) > 0 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("%s tells of no trouble", status)
		}
	}
	stop()
	must(t, errors.Join(<-ran, g.Close()))
	w.one(t, "spool/finished/*")
	if es, err := os.ReadDir(other); err != nil || len(es) > 0 {
		t.Errorf("the other folder holds %v, %v", es, err)
	}
	configure("")
	must(t, w.process(&injector{}))
	if v := w.atEnd(false); len(v.notes) > 0 {
		t.Error(v.notes)
	}
}
