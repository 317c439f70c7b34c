package gate_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/spool"
)

// TestEveryByteOfToolCallsCounts: whatever byte is changed of a plan, a timeline or what the ledger tells of them,
// fsck finds it.
func TestEveryByteOfToolCallsCounts(t *testing.T) {
	w := mustWorld(t, scenario{name: "tools", word: "bare"})
	must(t, w.process(&injector{}))
	w.sealed(t)
	glob := func(pattern string) string {
		m, err := filepath.Glob(filepath.Join(w.dir, pattern))
		must(t, err)
		if len(m) != 1 {
			t.Fatalf("%s: %q", pattern, m)
		}
		return m[0]
	}
	job := "archive/*/*/*/"
	record := glob(spool.DirLedger + "/events-*")
	for _, file := range []string{glob(job + spool.DirInputs + "/x.csv"), glob(job + ledger.FileTimeline), record} {
		raw, err := os.ReadFile(file)
		must(t, err)
		from, to := 0, len(raw)
		if file == record {
			at := bytes.Index(raw, []byte("tools.recorded"))
			if at < 0 {
				t.Fatal("the ledger does not tell of tool calls")
			}
			from, to = bytes.LastIndexByte(raw[:at], '\n')+1, at+bytes.IndexByte(raw[at:], '\n')
		}
		for i := from; i < to; i++ {
			changed := slices.Clone(raw)
			changed[i] ^= 1
			must(t, os.WriteFile(file, changed, 0o600))
			if w.report(t).Whole() {
				t.Errorf("byte %d of %s was changed, and nobody says so", i, filepath.Base(file))
			}
		}
		must(t, os.WriteFile(file, raw, 0o600))
	}
	w.sealed(t)
}

// TestToolCallsAreThoseOfThePlan: a timeline can be sound by its digests, and tell of other calls than those that
// were approved.
func TestToolCallsAreThoseOfThePlan(t *testing.T) {
	w := mustWorld(t, scenario{name: "lies", word: "bare lies"})
	must(t, w.process(&injector{}))
	r := w.report(t)
	if len(r.Found) != 1 || r.Found[0].Check != fsck.CheckTimeline || !strings.Contains(r.Found[0].What,
		"call 1: file_read has other arguments in the plan") {
		t.Errorf("%+v", r.Found)
	}
	w = mustWorld(t, scenario{name: "forged", word: "bare forged"})
	must(t, w.process(&injector{}))
	r, err := fsck.Run(context.Background(), w.cfg, fsck.Options{})
	must(t, err)
	if !r.Whole() || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].What, "malformed") {
		t.Errorf("%+v, %+v", r.Found, r.Warnings)
	}
}
