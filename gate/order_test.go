package gate_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// items are the ids of what is in quarantine, oldest first.
func (w *world) items(t *testing.T) (ids []string) {
	t.Helper()
	list, err := quarantine.NewStore(filepath.Join(w.dir, spool.DirQuarantine)).List("")
	must(t, err)
	for _, it := range list {
		ids = append(ids, it.ID)
	}
	return ids
}

// order gives an order as alice.
func (w *world) order(t *testing.T, kind orders.Kind, item string, sign func([]byte) ([]byte, error)) orders.Receipt {
	t.Helper()
	given, err := orders.Give(w.dir, orders.Order{Kind: kind, Subject: item, By: "alice", Reason: "as I say"},
		time.Now(), sign)
	must(t, err)
	return given
}

// answer is why an order was refused, or "".
func (w *world) answer(t *testing.T, given orders.Receipt) string {
	t.Helper()
	a, err := orders.AnswerOf(w.dir, given.SHA256)
	must(t, err)
	if a == nil {
		t.Fatalf("order %s has no answer", given.Name)
	}
	return a.Refused
}

// events are those on record of some types.
func (w *world) events(t *testing.T, types ...ledger.Type) (list []ledger.Event) {
	t.Helper()
	_, _, err := ledger.Read(filepath.Join(w.dir, spool.DirLedger), func(e ledger.Event) error {
		if slices.Contains(types, e.Type) {
			list = append(list, e)
		}
		return nil
	})
	must(t, err)
	return list
}

// whole wants fsck to find nothing.
func (w *world) whole(t *testing.T) {
	t.Helper()
	if v, _ := w.look(); len(v.notes) > 0 {
		t.Fatal(strings.Join(v.notes, "\n"))
	}
}

func (w *world) until(t *testing.T) {
	t.Helper()
	must(t, w.process(&injector{}))
}

// A person rejects an item; that is on record, and can be done once.
func TestReject(t *testing.T) {
	w := ended(t, "refused request")
	item := w.items(t)[0]
	first := w.order(t, orders.Reject, item, nil)
	second := w.order(t, orders.Reject, item, nil)
	stranger := w.order(t, orders.Reject, "j00000000000000000000000000", nil)
	unknown := w.order(t, "quarantine.forget", item, nil)
	w.until(t)
	if why := w.answer(t, first); why != "" {
		t.Errorf("refused: %s", why)
	}
	for name, want := range map[orders.Receipt]string{second: "was rejected before, by ", stranger: "is not in quarantine",
		unknown: "there is no order "} {
		if why := w.answer(t, name); !strings.Contains(why, want) {
			t.Errorf("%q, want %q", why, want)
		}
	}
	rejected := w.events(t, ledger.QuarantineRejected)
	if len(rejected) != 1 || rejected[0].RunID != item || rejected[0].By != "alice" || len(rejected[0].Order) != 64 {
		t.Errorf("on record: %+v", rejected)
	}
	if refused := w.events(t, ledger.OrderRefused); len(refused) != 3 {
		t.Errorf("%d orders were refused on record, want 3", len(refused))
	}
	w.whole(t)

	// An order that was carried out is not carried out again, whoever puts it back.
	done, open := filepath.Join(w.dir, spool.DirOrdersDone), filepath.Join(w.dir, spool.DirOrders)
	raw, err := os.ReadFile(filepath.Join(done, first.SHA256+".json"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(open, first.Name+".json"), raw, 0o600))
	w.until(t)
	if n := len(w.events(t, ledger.QuarantineRejected, ledger.OrderRefused)); n != 4 || w.answer(t, first) != "" {
		t.Errorf("%d events, want 4; %q", n, w.answer(t, first))
	}
}

// A refusal before the inbox comes on record once, and changes nothing of what became of the request.
func TestNotedRefusals(t *testing.T) {
	w := ended(t, "refused request")
	item := w.items(t)[0]
	before, err := view.Of(w.cfg, crashID)
	must(t, err)
	sum := strings.Repeat("ab", 32)
	give := func(o orders.Order) (orders.Receipt, error) {
		o.Kind = orders.Refused
		return orders.Give(w.dir, o, time.Now(), nil)
	}
	for name, o := range map[string]orders.Order{
		"no id":           {Subject: "../x", RequestSHA256: sum, By: "alice", Reason: "no"},
		"no digest":       {Subject: crashID, By: "alice", Reason: "no"},
		"an unknown rule": {Subject: crashID, RequestSHA256: sum, Rules: []string{"x.y"}},
		"no reason":       {Subject: crashID, RequestSHA256: sum, By: "alice"},
		"nobody":          {Subject: crashID, RequestSHA256: sum, Reason: "no"},
	} {
		if _, err := give(o); err == nil {
			t.Errorf("%s: it was given", name)
		}
	}
	if _, err := orders.Give(w.dir, orders.Order{Kind: orders.Reject, Subject: item, By: "alice", Reason: "no",
		Rules: []string{"request.id"}}, time.Now(), nil); err == nil {
		t.Error("another order has rules")
	}
	byRules, err := give(orders.Order{Subject: crashID, RequestSHA256: sum, Rules: []string{"approval.missing", "request.id"}})
	must(t, err)
	byPerson, err := give(orders.Order{Subject: crashID, RequestSHA256: sum, By: "alice", Reason: "reads too much"})
	must(t, err)
	machine, err := give(orders.Order{Subject: crashID, RequestSHA256: sum, By: "auto-approver", Reason: "no"})
	must(t, err)
	w.until(t)
	if a, b := w.answer(t, byRules), w.answer(t, byPerson); a+b != "" {
		t.Errorf("refused: %s %s", a, b)
	}
	if why := w.answer(t, machine); !strings.Contains(why, "is the name of a machine") {
		t.Errorf("a machine: %q", why)
	}
	on := w.events(t, ledger.RequestRefused)
	if len(on) != 2 || on[0].By != "" || len(on[0].Rules) != 2 || on[1].By != "alice" || on[1].Rules != nil {
		t.Fatalf("on record: %+v", on)
	}
	for _, e := range on {
		if e.RequestID != crashID || e.RequestSHA256 != sum || len(e.Order) != 64 || e.RunID != "" || e.Notice != "" {
			t.Errorf("on record: %+v", e)
		}
	}
	after, err := view.Of(w.cfg, crashID)
	must(t, err)
	if before.State != after.State || before.Job != after.Job {
		t.Errorf("it was %+v, and is %+v", before, after)
	}
	w.whole(t)
}

// Orders are carried out in the order in which they were given, also of one moment and after the
// clock was set back.
func TestOrdersKeepTheirOrder(t *testing.T) {
	w := ended(t, "refused request")
	item := w.items(t)[0]
	now := time.Now()
	var names []string
	var all []orders.Receipt
	for _, at := range []time.Time{now, now, now.Add(-time.Hour), now} {
		given, err := orders.Give(w.dir, orders.Order{Kind: orders.Reject, Subject: item, By: "alice", Reason: "no"},
			at, nil)
		must(t, err)
		names, all = append(names, given.Name), append(all, given)
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Fatalf("names: %v", names)
	}
	w.until(t)
	for i, given := range all {
		if got := w.answer(t, given) == ""; got != (i == 0) {
			t.Errorf("order %d was carried out: %v", i, got)
		}
	}
}

// What is no order is on record by its digest and size, is not kept, and holds up nothing.
func TestHostileOrders(t *testing.T) {
	w := ended(t, "refused request")
	item := w.items(t)[0]
	dir := filepath.Join(w.dir, spool.DirOrders)
	name := func(n string) string { return filepath.Join(dir, "or-0000000000000000000"+n+".json") }
	good := `{"order_version": 1, "name": "or-00000000000000000005", "kind": "quarantine.reject", "subject": "` + item +
		`", "by": "%s", "reason": "x", "ordered_utc": "2026-02-09T16:05:01Z"}`
	must(t, unix.Mkfifo(name("1"), 0o600))
	must(t, os.Symlink("/etc/passwd", name("2")))
	must(t, os.Mkdir(name("3"), 0o700))
	must(t, os.WriteFile(name("4"), bytes.Repeat([]byte(" "), spool.MaxOrderBytes+1), 0o600))
	must(t, os.WriteFile(name("5"), []byte(strings.Replace(good, "%s", "", 1)), 0o600))
	must(t, os.WriteFile(name("6"), []byte(strings.Replace(good, "%s", "alice", 1)), 0o600)) // a copy
	must(t, os.WriteFile(name("7"), []byte(strings.Replace(good, `"by"`, `"more": 1, "by"`, 1)), 0o600))
	must(t, os.WriteFile(name("8"), []byte("\xff\x00{"), 0o600))
	must(t, os.WriteFile(name("9"), []byte(strings.Replace(good, "%s", "alice", 1)), 0o666))
	must(t, os.Chmod(name("9"), 0o666)) // somebody else could have written it
	must(t, os.Mkdir(filepath.Join(name("3"), "full"), 0o700))
	must(t, os.Link(filepath.Join(w.dir, config.FileName), name("0"))) // root's, and whoever linked it need not be
	far := filepath.Join(dir, "or-99999999999999999999.json")          // more than 63 bits: no order
	must(t, os.WriteFile(far, []byte("{}"), 0o600))
	var digests []string
	for _, n := range []string{"5", "7", "8"} {
		raw, err := os.ReadFile(name(n))
		must(t, err)
		digests = append(digests, schemas.SHA256(raw))
	}
	last := w.order(t, orders.Reject, item, nil)
	w.until(t)
	for _, sum := range digests {
		if why := w.answer(t, orders.Receipt{Name: sum, SHA256: sum}); why == "" {
			t.Errorf("%s was carried out", sum)
		}
	}
	if why := w.answer(t, last); why != "" {
		t.Errorf("the good one was refused: %s", why)
	}
	refused := w.events(t, ledger.OrderRefused)
	if len(refused) != 10 || refused[0].ByUser != "unknown" {
		t.Errorf("%d are on record, want 10: %+v", len(refused), refused)
	}
	for _, e := range refused {
		if e.OrderBytes == nil || *e.OrderBytes == 0 && e.Order != "" {
			t.Errorf("on record: %+v", e)
		}
	}
	if kept := w.glob("orders/done/*.json"); len(kept) != 1 {
		t.Errorf("kept: %v", kept)
	}
	if left := w.glob("orders/*.json*"); len(left) != 1 || left[0] != far {
		t.Errorf("left: %v", left)
	}
	w.whole(t)
}

// A node that wants signatures wants them of orders, too.
func TestSignedOrders(t *testing.T) {
	w := ended(t, "refused request")
	item := w.items(t)[0]
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	signer, err := ssh.NewSignerFromSigner(key)
	must(t, err)
	signers := filepath.Join(w.dir, "signers")
	must(t, os.WriteFile(signers, append([]byte("alice "), ssh.MarshalAuthorizedKey(signer.PublicKey())...), 0o600))
	strict := strings.Replace(crashConfig, "approvals: {max_age: 0s}",
		"approvals: {max_age: 0s, require_signature: true, allowed_signers: signers}", 1)
	must(t, os.WriteFile(filepath.Join(w.dir, config.FileName), []byte(strict), 0o640))
	w.cfg, err = config.Load(w.dir)
	must(t, err)
	sign := func(namespace string, also string) func([]byte) ([]byte, error) {
		return func(b []byte) ([]byte, error) {
			s, err := sshsig.Sign(strings.NewReader(string(b)+also), signer, sshsig.HashSHA512, namespace)
			if err != nil {
				return nil, err
			}
			return sshsig.Armor(s), nil
		}
	}
	for _, c := range []struct {
		name, why string
		sign      func([]byte) ([]byte, error)
	}{
		{"none", "requires a signature", nil},
		{"of a request", "namespace", sign("threegate-request", "")},
		{"of other bytes", "not valid", sign(orders.Namespace, " ")},
		{"good", "", sign(orders.Namespace, "")},
	} {
		name := w.order(t, orders.Reject, item, c.sign)
		w.until(t)
		if why := w.answer(t, name); !strings.Contains(why, c.why) || (c.why == "") != (why == "") {
			t.Errorf("%s: %q, want %q", c.name, why, c.why)
		}
	}
}

// An order survives a kill at each of its steps, and is carried out once.
func TestCrashOrder(t *testing.T) {
	calm := &injector{}
	w := ended(t, "refused request")
	w.order(t, orders.Reject, w.items(t)[0], nil)
	must(t, w.process(calm))
	if len(calm.steps) < 10 {
		t.Fatalf("only %d steps", len(calm.steps))
	}
	for at := range calm.steps {
		for _, kind := range []faultKind{killAfter, cutPerDir, happened} {
			w := ended(t, "refused request")
			name := w.order(t, orders.Reject, w.items(t)[0], nil)
			_ = w.process(&injector{at: at + 1, kind: kind})
			w.whole(t)
			w.until(t)
			if why := w.answer(t, name); why != "" {
				t.Errorf("%s at step %d: refused: %s", kind, at+1, why)
			}
			if n := len(w.events(t, ledger.QuarantineRejected)); n != 1 {
				t.Errorf("%s at step %d: %d events, want 1", kind, at+1, n)
			}
			if v := w.atEnd(false); len(v.notes) > 0 {
				t.Errorf("%s at step %d: %v", kind, at+1, v.notes)
			}
		}
	}
}
