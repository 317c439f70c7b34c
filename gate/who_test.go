package gate_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/prune"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate/approval"
)

// eventsOf are the events of a type in a node's record.
func (w *world) eventsOf(t *testing.T, types ...ledger.Type) (found []ledger.Event) {
	t.Helper()
	_, _, err := ledger.Read(filepath.Join(w.dir, spool.DirLedger), func(e ledger.Event) error {
		for _, typ := range types {
			if e.Type == typ {
				found = append(found, e)
			}
		}
		return nil
	})
	must(t, err)
	return found
}

// rewriteLedger makes the record anew, whole, with other events.
func (w *world) rewriteLedger(t *testing.T, change func(*ledger.Event)) {
	t.Helper()
	var events []ledger.Event
	dir := filepath.Join(w.dir, spool.DirLedger)
	_, _, err := ledger.Read(dir, func(e ledger.Event) error {
		change(&e)
		events = append(events, e)
		return nil
	})
	must(t, err)
	for _, segment := range w.glob(spool.DirLedger + "/*.jsonl") {
		must(t, os.Remove(segment))
	}
	var at time.Time
	l, err := ledger.Open(dir, ledger.Options{Now: func() time.Time { return at }}, func(ledger.Event) {})
	must(t, err)
	for _, e := range events {
		at = e.Time
		must(t, l.Append(e))
	}
	must(t, l.Close())
}

// TestTheRecordSaysWhoApproved: the event that admits a request has who asked for it, who approved it and how that was
// shown, the plan and the inputs.
func TestTheRecordSaysWhoApproved(t *testing.T) {
	t.Run("signed", func(t *testing.T) {
		w, _ := planned(t)
		inbox := filepath.Join(w.cfg.Inboxes[0].Path, crashID+".md")
		raw, err := os.ReadFile(inbox)
		must(t, err)
		file, err := os.ReadFile(inbox + ".sig")
		must(t, err)
		parts, err := approval.Split(file)
		must(t, err)
		key, err := approval.SignedBy(raw, parts.Signature)
		must(t, err)
		must(t, w.process(&injector{}))
		e := w.eventsOf(t, ledger.DeliveryAttempted)[0]
		want := []approval.Approver{{Name: "operator", How: approval.Signed, Fingerprint: key}}
		plan, in := sha256.Sum256(parts.Plan), sha256.Sum256([]byte(crashPlan))
		list := sha256.Sum256([]byte(hex.EncodeToString(in[:]) + "  /in/x.csv\n"))
		inputs := &ledger.Inputs{Files: 1, List: hex.EncodeToString(list[:]), SHA256: []string{hex.EncodeToString(in[:])}}
		if e.Requester != "CORE" || !reflect.DeepEqual(e.Approvers, want) || e.Plan != hex.EncodeToString(plan[:]) ||
			!reflect.DeepEqual(e.Inputs, inputs) {
			t.Errorf("%+v %+v", e, e.Inputs)
		}
		// The signers as of that event are found by the start before it.
		start := w.eventsOf(t, ledger.NodeStarted)[0]
		if start.Node == nil || len(start.Node.Signers) != 1 {
			t.Fatalf("%+v", start.Node)
		}
		text, err := os.ReadFile(filepath.Join(w.dir, spool.DirSigners, start.Node.Signers[0]))
		must(t, err)
		must(t, approval.Verify(text, e.Approvers[0].Name, raw, parts.Signature, e.Time))
		if v := w.atEnd(false); len(v.notes) > 0 {
			t.Error(v.notes)
		}
	})
	t.Run("named", func(t *testing.T) {
		w := mustWorld(t, scenario{name: "named", word: "ok", want: ending{delivered: 1, runs: 1}})
		must(t, w.process(&injector{}))
		e := w.eventsOf(t, ledger.DeliveryAttempted)[0]
		want := []approval.Approver{{Name: "operator", How: approval.Named}}
		if e.Requester != "CORE" || !reflect.DeepEqual(e.Approvers, want) || e.Plan != "" {
			t.Errorf("%+v", e)
		}
	})
}

// TestAnUnverifiedPlanIsNotOnRecord: where the node knows no signers, nobody verified who signed a plan.
func TestAnUnverifiedPlanIsNotOnRecord(t *testing.T) {
	w, configure := planned(t)
	configure(", require_signature: true, require_plan: true, allowed_signers: signers", "")
	must(t, w.process(&injector{}))
	e := w.eventsOf(t, ledger.DeliveryAttempted)[0]
	if len(e.Approvers) != 1 || e.Approvers[0].How != approval.Named || e.Plan != "" {
		t.Errorf("%+v, plan %q", e.Approvers, e.Plan)
	}
	w.whole(t)
}

// TestTheRecordSaysByWhat: the start of a node and each reload tell of version, configuration, signers and images; a
// reload whose event can't be written does not count.
func TestTheRecordSaysByWhat(t *testing.T) {
	w, configure := planned(t)
	first := w.cfg
	g, err := gate.Open(first, gate.Options{Executor: w.recorder(&injector{}), Logger: slog.New(slog.DiscardHandler),
		Version: "v1.2.3"})
	must(t, err)
	signers := filepath.Join(w.dir, "signers")
	text, err := os.ReadFile(signers)
	must(t, err)
	must(t, os.WriteFile(signers, append([]byte("# changed\n"), text...), 0o600))
	configure("max_age: 0s", "max_age: 1000h")
	second := w.cfg
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	for begun := time.Now(); len(w.eventsOf(t, ledger.NodeStarted)) == 0 && time.Since(begun) < atMost; {
		time.Sleep(time.Millisecond)
	}
	kept, away := filepath.Join(w.dir, spool.DirSigners), filepath.Join(w.dir, "away")
	must(t, os.Rename(kept, away))
	if err := g.Reload(second); err == nil {
		t.Error("the signers could not be kept, and the reload counts")
	}
	must(t, os.Rename(away, kept))
	must(t, g.Reload(second))
	stop()
	must(t, <-ran)
	must(t, g.Close())
	events := w.eventsOf(t, ledger.NodeStarted, ledger.NodeReloaded)
	if len(events) != 2 {
		t.Fatalf("%+v", events)
	}
	for i, cfg := range []*config.Node{first, second} {
		digest, err := cfg.Digest()
		must(t, err)
		sum := sha256.Sum256(cfg.AllowedSigners)
		kept := hex.EncodeToString(sum[:])
		n := events[i].Node
		if n == nil || n.Version != "v1.2.3" || n.Config != digest || !reflect.DeepEqual(n.Signers, []string{kept}) ||
			len(n.Images) == 0 {
			t.Errorf("%d: %+v", i, n)
		}
		if got, err := os.ReadFile(filepath.Join(w.dir, spool.DirSigners, kept)); err != nil ||
			string(got) != string(cfg.AllowedSigners) {
			t.Errorf("the signers of event %d: %v", i, err)
		}
	}
	if events[0].Node.Config == events[1].Node.Config {
		t.Error("two configurations have one digest")
	}
}

// TestFsckComparesWhoApproved: what the record says of an admission is compared with the archived request.
func TestFsckComparesWhoApproved(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*ledger.Event)
		says   string
	}{
		"the requester":   {func(e *ledger.Event) { e.Requester = "somebody" }, "requested by"},
		"an approver":     {func(e *ledger.Event) { e.Approvers[0].Name = "somebody" }, "approved by"},
		"one more":        {func(e *ledger.Event) { e.Approvers = append(e.Approvers, e.Approvers[0]) }, "approved by"},
		"the key":         {func(e *ledger.Event) { e.Approvers[0].Fingerprint = "SHA256:x" }, "approved by"},
		"the plan":        {func(e *ledger.Event) { e.Plan = strings.Repeat("0", 64) }, "plan"},
		"an input":        {func(e *ledger.Event) { e.Inputs.SHA256[0] = strings.Repeat("0", 64) }, "inputs"},
		"nothing":         {func(*ledger.Event) {}, ""},
		"an older record": {func(e *ledger.Event) { e.Requester, e.Approvers, e.Plan, e.Inputs = "", nil, "", nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := planned(t)
			must(t, w.process(&injector{}))
			w.rewriteLedger(t, func(e *ledger.Event) {
				if e.Type == ledger.DeliveryAttempted {
					c.change(e)
				}
				if e.Node != nil && name == "an older record" {
					e.Node.Format = 0
				}
			})
			r, err := fsck.Run(t.Context(), w.cfg, fsck.Options{})
			must(t, err)
			var said []string
			for _, f := range r.Found {
				if f.Check == fsck.CheckApproval {
					said = append(said, f.What)
				} else if f.Check != fsck.CheckSignature || name != "an approver" { // nor did somebody sign it
					t.Errorf("%+v", f)
				}
			}
			if len(said) != min(1, len(c.says)) || !strings.Contains(strings.Join(said, ""), c.says) {
				t.Errorf("it says %q, want %q", said, c.says)
			}
		})
	}
}

// TestFsckLooksForSigners: each text of signers that the record names is there, as it was.
func TestFsckLooksForSigners(t *testing.T) {
	w, _ := planned(t)
	must(t, w.process(&injector{}))
	file := w.one(t, spool.DirSigners+"/*")
	for name, spoil := range map[string]func() error{
		"changed": func() error { return os.WriteFile(file, []byte("x"), 0o600) },
		"gone":    func() error { return os.Remove(file) },
	} {
		must(t, spoil())
		r, err := fsck.Run(t.Context(), w.cfg, fsck.Options{})
		must(t, err)
		if len(r.Found) != 1 || r.Found[0].Check != fsck.CheckApproval || r.Found[0].Where != file {
			t.Errorf("%s: %+v", name, r.Found)
		}
	}
}

// TestPruneSaysWho: what goes by rule is on record with who removed it and why.
func TestPruneSaysWho(t *testing.T) {
	w := pruned(t)
	rule := prune.Rule{OlderThan: time.Hour, Keep: -1}
	for _, o := range []prune.Options{{Now: later}, {Now: later, By: "alice"}, {Now: later, By: "al\nice", Reason: "x"},
		{Now: later, By: strings.Repeat("a", 201), Reason: "x"}} {
		if _, err := prune.Run(t.Context(), w.cfg, rule, o); err == nil {
			t.Errorf("%q, %q: it is not said who and why", o.By, o.Reason)
		}
	}
	_, err := prune.Run(t.Context(), w.cfg, rule, prune.Options{Now: later, By: "alice", Reason: "older than a quarter"})
	must(t, err)
	if e := w.eventsOf(t, ledger.ArchivePruned); len(e) != 1 || e[0].By != "alice" ||
		e[0].Reason != "older than a quarter" || len(e[0].Jobs) != 3 {
		t.Errorf("%+v", e)
	}
}

// TestJudgedAnewTheApproversStay: what was admitted is judged anew by other rules before it starts. Who approved it
// stays what is on record.
func TestJudgedAnewTheApproversStay(t *testing.T) {
	w, configure := planned(t)
	configure(", require_signature: true, require_plan: true, allowed_signers: signers", "")
	w.queued(t)
	configure("", "")
	must(t, w.process(&injector{}))
	raw, err := os.ReadFile(w.one(t, "archive/*/*/j*/admission.json"))
	must(t, err)
	var a struct {
		Approved []approval.Approver `json:"approved"`
		Plan     string              `json:"plan_sha256"`
	}
	must(t, json.Unmarshal(raw, &a))
	e := w.eventsOf(t, ledger.DeliveryAttempted)[0]
	if len(a.Approved) == 0 || !reflect.DeepEqual(a.Approved, e.Approvers) || a.Plan != e.Plan {
		t.Errorf("admission.json has %+v, plan %q; the record has %+v, %q", a.Approved, a.Plan, e.Approvers, e.Plan)
	}
}
