package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/trouble"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// raceTries is how often each race is run. RACE_TRIES sets another number.
func raceTries() int {
	if n, err := strconv.Atoi(os.Getenv("RACE_TRIES")); err == nil {
		return n
	}
	return 300
}

// as runs f with a user's rights to files, on a thread of its own that ends then. New files get the first group.
func as(t *testing.T, uid int, groups []uint32, f func()) {
	t.Helper()
	var wg sync.WaitGroup
	var err error
	wg.Go(func() {
		runtime.LockOSThread() // and never unlocked
		_, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0)
		if errno != 0 {
			err = errno
		}
		if err = errors.Join(err, unix.Setfsgid(int(groups[0])), unix.Setfsuid(uid)); err == nil {
			f()
		}
	})
	wg.Wait()
	must(t, err)
}

// orderOf is an order of alice's as a file.
func orderOf(t *testing.T, name string, kind orders.Kind, subject string) []byte {
	t.Helper()
	raw, err := json.Marshal(orders.Order{Version: 1, Name: name, Kind: kind, Subject: subject, By: "alice",
		Reason: "no", OrderedUTC: time.Now().UTC()})
	must(t, err)
	return raw
}

// while serves a node, and calls f meanwhile.
func (w *world) while(t *testing.T, f func()) {
	t.Helper()
	g, err := gate.Open(w.cfg, gate.Options{Executor: w.recorder(&injector{}), Logger: slog.New(slog.DiscardHandler),
		Retry: firstPause, Now: w.now})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	f()
	stop()
	must(t, errors.Join(<-ran, g.Close()))
}

// TestOrdersInRaces: an approver gives orders about the quarantine, and swaps what lies under their names while the
// node takes them in: for other files, links to root's, second names, nothing; and their signatures. None is carried
// out, none is on record as root's, and what is kept is what is on record.
func TestOrdersInRaces(t *testing.T) {
	w := shared(t)
	item := w.items(t)[0]
	dir := filepath.Join(w.dir, spool.DirOrders)
	const first = 80000 // the users: each may give some orders in a minute
	w.while(t, func() {
		for try := range raceTries() {
			name := fmt.Sprintf("or-%020d", time.Now().UnixNano())
			path := filepath.Join(dir, name+".json")
			raw := orderOf(t, name, orders.Reject, item)
			as(t, first+try/20, []uint32{approvers, people}, func() {
				for i := range 10 {
					tmp := filepath.Join(dir, fmt.Sprint("x", i))
					_ = os.WriteFile(tmp, append(raw, strings.Repeat(" ", i)...), 0o600)
					_ = os.Rename(tmp, path)
					switch try % 5 {
					case 0:
						_ = os.Remove(path)
					case 1:
						_ = os.Symlink(filepath.Join(w.dir, "threegate.yaml"), tmp)
						_ = os.Rename(tmp, path)
					case 2:
						_ = os.Link(path, tmp)
						_ = os.Remove(tmp)
					case 3:
						_ = os.Link(filepath.Join(w.dir, "threegate.yaml"), tmp)
						_ = os.Rename(tmp, path)
					case 4:
						_ = os.WriteFile(tmp, []byte(fmt.Sprint("signature ", i)), 0o600)
						_ = os.Rename(tmp, path+".sig")
						_ = os.Remove(path + ".sig")
					}
				}
				_ = os.Remove(path)
			})
		}
	})
	refused := w.events(t, ledger.OrderRefused)
	for _, e := range refused {
		uid, err := strconv.Atoi(e.ByUser)
		second := e.ByUser == "unknown" && e.Order == "" // it had another name
		if (err != nil || uid < first) && !second {
			t.Errorf("on record: %+v", e)
		}
	}
	if done := w.events(t, ledger.QuarantineRejected); len(done) > 0 {
		t.Errorf("carried out: %+v", done)
	}
	t.Logf("%d tries, %d orders were taken in", raceTries(), len(refused))
	w.whole(t)
}

// TestOrdersChangeAtEachStep: before each step of the node, what lies under the name of an approver's order is changed
// for something else. The order is on record as its giver's and refused, or nothing is; nobody else's bytes are theirs.
func TestOrdersChangeAtEachStep(t *testing.T) {
	w := shared(t)
	item := w.items(t)[0]
	dir := filepath.Join(w.dir, spool.DirOrders)
	givers := map[string]string{} // who gave what, by its digest
	lay := func(path string, raw []byte, uid, gid int, giver string) {
		tmp := filepath.Join(dir, "x")
		must(t, errors.Join(os.WriteFile(tmp, raw, 0o600), os.Chown(tmp, uid, gid), os.Rename(tmp, path)))
		givers[schemas.SHA256(raw)] = giver
	}
	number := int64(0)
	changed := map[string]func(path string){
		"removed":   func(path string) { _ = os.Remove(path) },
		"root's":    func(path string) { lay(path, []byte(path), 0, 0, "") },
		"auditor's": func(path string) { lay(path, []byte(path+" "), anAuditor, auditors, "daemon") },
		"linked":    func(path string) { _ = os.Link(path, filepath.Join(dir, "y")) },
	}
	for what, change := range changed {
		for at, steps := 1, 1; at <= steps; at++ {
			number++
			name := fmt.Sprintf("or-%020d", number)
			path := filepath.Join(dir, name+".json")
			lay(path, orderOf(t, name, orders.Reject, item), another, approvers, anotherName)
			var seen atomic.Int64
			must(t, w.process(&injector{each: func() {
				if seen.Add(1) == int64(at) {
					change(path)
				}
			}}))
			steps = int(seen.Load())
			_ = os.Remove(path)
			_ = os.Remove(filepath.Join(dir, "y"))
		}
		if done := w.events(t, ledger.QuarantineRejected); len(done) > 0 {
			t.Fatalf("%s: carried out: %+v", what, done)
		}
	}
	for _, e := range w.events(t, ledger.OrderRefused) {
		if giver, known := givers[e.Order]; e.Order != "" && (!known || e.ByUser != giver) {
			t.Errorf("on record: %+v", e)
		}
	}
	t.Logf("%d times", number)
	w.whole(t)
}

// TestNobodyVetoesAnothersOrder: a rejection and its reason stay, whoever gives what under the same name, and what
// others put beside an order is none of it.
func TestNobodyVetoesAnothersOrder(t *testing.T) {
	w := shared(t)
	dir := filepath.Join(w.dir, spool.DirOrders)
	given := w.order(t, orders.Reject, w.items(t)[0], nil)
	path := filepath.Join(dir, given.Name+".json")
	must(t, os.Chown(path, anAuditor, auditors))
	as(t, another, []uint32{approvers, people}, func() {
		must(t, os.MkdirAll(filepath.Join(path+".sig", "full"), 0o700))
	})
	w.until(t)
	if why := w.answer(t, given); why != "" {
		t.Fatalf("refused: %s", why)
	}
	as(t, another, []uint32{approvers, people}, func() {
		must(t, durable.WriteFile(dir, given.Name+".json", orderOf(t, given.Name, orders.Cancel, "TR-x"), 0o600))
	})
	w.until(t)
	reason, err := orders.ReasonOf(w.dir, given.SHA256)
	if must(t, err); reason != "as I say" || w.answer(t, given) != "" {
		t.Errorf("the reason is %q, the answer %q", reason, w.answer(t, given))
	}
	w.whole(t)
}

// mischief is what a member of the approvers' group can leave in the folders that it can write to.
func mischief(w *world) {
	dir, inbox := filepath.Join(w.dir, spool.DirOrders), w.cfg.Inboxes[0].Path
	now := time.Now().UnixNano()
	var names []string
	for i := range int64(1000) {
		names = append(names, fmt.Sprintf("or-%020d", i), fmt.Sprintf("or-%020d", now+i*int64(time.Millisecond)))
	}
	names = append(names, "or-09223372036854775807", "or-09223372036854775806", "or-99999999999999999999")
	for i, name := range names {
		path := filepath.Join(dir, name+".json")
		switch i % 5 {
		case 0:
			_ = os.WriteFile(path, make([]byte, spool.MaxOrderBytes+1), 0o600)
		case 1:
			_ = os.MkdirAll(filepath.Join(path, "full"), 0o700)
		case 2:
			_ = os.MkdirAll(filepath.Join(path+".sig", "full"), 0o700)
			_ = os.MkdirAll(filepath.Join(dir, durable.Temporary(name+".json"), "full"), 0o700)
		default:
			_ = os.WriteFile(path, []byte(name), 0o600)
		}
	}
	for i := range 50 {
		long := fmt.Sprintf("TR-%d-%s", i, strings.Repeat("x", 180))
		_ = os.WriteFile(filepath.Join(inbox, long+".md"), nil, 0o600)
		_ = os.MkdirAll(filepath.Join(inbox, requestID(i)+".inputs", "full"), 0o700)
		_ = os.MkdirAll(filepath.Join(inbox, requestID(i)+".md.sig", "full"), 0o700)
		_ = os.MkdirAll(filepath.Join(inbox, fmt.Sprintf("TR-folder%d.md", i), "full"), 0o700)
	}
	n := 0
	_ = filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		n++
		_ = os.Link(path, filepath.Join(dir, fmt.Sprintf("or-%020d.json", 5000+n)))
		_ = os.Link(path, filepath.Join(inbox, fmt.Sprintf("TR-link%d.md", n)))
		return nil
	})
	for _, name := range []string{"done", "done/x.json", strings.Repeat("y", 200)} {
		_ = os.MkdirAll(filepath.Join(dir, name, "full"), 0o700)
	}
}

// TestMischiefHoldsUpNobody: whatever a member leaves, orders and requests of others are carried out in the next pass.
func TestMischiefHoldsUpNobody(t *testing.T) {
	w := shared(t)
	item := w.items(t)[0]
	as(t, another, []uint32{approvers, people}, func() { mischief(w) })
	given := w.order(t, orders.Reject, item, nil)
	must(t, os.Chown(filepath.Join(w.dir, spool.DirOrders, given.Name+".json"), anAuditor, auditors))
	id := requestID(77)
	must(t, w.put(w.cfg.Inboxes[0].Path, id, "ok"))
	ask, end := w.door(t)
	defer end()
	w.while(t, func() {
		wait(t, func() bool { a, err := orders.AnswerOf(w.dir, given.SHA256); must(t, err); return a != nil })
		wait(t, func() bool { return w.status(t, id).State == "delivered" })
		for range 30 { // over some reports
			code, text := ask("/healthz")
			if code != http.StatusOK && text != "held up: sender "+anotherName+"\n" {
				t.Fatalf("health: %d %q", code, text)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	if why := w.answer(t, given); why != "" {
		t.Errorf("refused: %s", why)
	}
	on := w.events(t, ledger.OrderRefused, ledger.QuarantineRejected)
	at := slices.IndexFunc(on, func(e ledger.Event) bool { return e.Order == given.SHA256 })
	if at > 2 { // another's, and one of which nobody knows whose it is
		t.Errorf("%d orders of another came before it", at)
	}
	of := map[string]int{}
	for _, e := range on {
		if of[e.ByUser]++; of[e.ByUser] > 100 {
			t.Fatalf("more orders of user %s were taken up at once", e.ByUser)
		}
		switch {
		case e.Order == given.SHA256, e.ByUser == anotherName:
		case e.ByUser == "unknown" && e.Order == "": // the file had two names
		default:
			t.Errorf("on record: %+v", e)
		}
	}
	var status trouble.Status
	data, err := os.ReadFile(filepath.Join(w.dir, "status.json"))
	must(t, err)
	must(t, json.Unmarshal(data, &status))
	for _, tr := range status.Troubles { // above the bound of refused requests, the member's own wait
		if tr.What != "sender "+anotherName {
			t.Errorf("held up: %+v", tr)
		}
	}
	if len(status.Stuck) != 0 {
		t.Errorf("stuck: %+v", status.Stuck)
	}
	w.whole(t)
}

// TestASendersRefusalsAreBounded: above a bound of refused requests that nobody decided on, those of the same user wait;
// others' don't, and it is said whose they are. A decision makes room.
func TestASendersRefusalsAreBounded(t *testing.T) {
	const most = 500
	w := shared(t)
	inbox := w.cfg.Inboxes[0].Path
	before := len(w.items(t))
	as(t, another, []uint32{approvers, people}, func() {
		for i := range most + 3 {
			_ = os.WriteFile(filepath.Join(inbox, fmt.Sprintf("TR-flood-%d.md", i)), []byte("x"), 0o600)
		}
	})
	waiting := func() int { n, err := spool.Waiting(inbox); must(t, err); return n }
	troubled := func() bool {
		status, err := os.ReadFile(filepath.Join(w.dir, "status.json"))
		return err == nil && strings.Contains(string(status), "sender "+anotherName)
	}
	for range 2 { // also after a start
		w.while(t, func() { wait(t, func() bool { return waiting() == 3 && troubled() }) })
	}
	id := requestID(77)
	must(t, w.put(inbox, id, "ok"))
	given := w.order(t, orders.Reject, w.items(t)[before], nil)
	w.while(t, func() {
		wait(t, func() bool { return w.status(t, id).State == "delivered" })
		wait(t, func() bool { return waiting() == 2 && troubled() })
	})
	if why := w.answer(t, given); why != "" {
		t.Errorf("refused: %s", why)
	}
	w.whole(t)
}

// TestASendersOrdersAreBounded: what a member fills orders with leaves little on the disk, however long they go on; others'
// orders are carried out, and it is said whose wait.
func TestASendersOrdersAreBounded(t *testing.T) {
	const most = 1000
	w := shared(t)
	var skew atomic.Int64
	start := time.Now()
	w.now = func() time.Time { return start.Add(time.Duration(skew.Load())) }
	dir, item := filepath.Join(w.dir, spool.DirOrders), w.items(t)[0]
	put := func(i int, raw []byte) {
		name := fmt.Sprintf("or-%020d", i)
		full := append(raw, strings.Repeat(" ", spool.MaxOrderBytes-len(raw))...)
		as(t, another, []uint32{people}, func() {
			must(t, os.WriteFile(filepath.Join(dir, "x"), full, 0o600))
			must(t, os.Rename(filepath.Join(dir, "x"), filepath.Join(dir, name+".json")))
		})
	}
	for i := range most + 5 {
		raw := orderOf(t, fmt.Sprintf("or-%020d", i), orders.Reject, item)
		if i%2 == 1 { // it is carried out: it only notes something
			raw, _ = json.Marshal(orders.Order{Version: 1, Name: fmt.Sprintf("or-%020d", i), Kind: orders.Refused, By: "eve",
				Subject: "TR-x", Reason: "no", RequestSHA256: strings.Repeat("ab", 32), OrderedUTC: start})
		}
		put(i, raw)
	}
	status := func() string { b, _ := os.ReadFile(filepath.Join(w.dir, "status.json")); return string(b) }
	left := func() int { return len(w.glob("orders/or-*.json")) }
	var given orders.Receipt
	for range 2 { // also after a start
		w.while(t, func() {
			wait(t, func() bool { skew.Add(int64(time.Minute)); return left() == 5 })
			skew.Add(int64(2 * time.Minute))
			given = w.order(t, orders.Reject, item, nil)
			wait(t, func() bool { a, err := orders.AnswerOf(w.dir, given.SHA256); must(t, err); return a != nil })
			wait(t, func() bool { return left() == 5 && strings.Contains(status(), "orders of "+anotherName) })
		})
	}
	on := w.events(t, ledger.OrderRefused, ledger.RequestRefused)
	var kept int64
	for _, path := range w.glob("orders/done/*") {
		fi, err := os.Stat(path)
		must(t, err)
		kept += fi.Size()
	}
	if len(on) != most+1 || kept > most*600 { // the answers, and root's two
		t.Errorf("%d on record, %d bytes kept", len(on), kept)
	}
	w.whole(t)
	w.while(t, func() { // the next day
		skew.Add(int64(25 * time.Hour))
		wait(t, func() bool { return left() == 0 && !strings.Contains(status(), "orders of") })
	})
}

// TestFormerApprover: requests of who left the approvers wait, and it is said whose; nobody else waits for them.
func TestFormerApprover(t *testing.T) {
	const former, name = 2, "bin" // whose session has the group still
	w := shared(t)
	inbox := w.cfg.Inboxes[0].Path
	id, other := requestID(77), requestID(78)
	must(t, w.put(inbox, id, "ok"))
	must(t, os.Chown(filepath.Join(inbox, id+".md"), former, approvers))
	must(t, w.put(inbox, other, "ok"))
	must(t, os.Chown(filepath.Join(inbox, other+".md"), another, another))
	status := func() string { b, _ := os.ReadFile(filepath.Join(w.dir, "status.json")); return string(b) }
	w.while(t, func() {
		wait(t, func() bool { return w.status(t, other).State == "delivered" })
		wait(t, func() bool { return strings.Contains(status(), "sender "+name) })
		if waiting, err := spool.Waiting(inbox); err != nil || waiting != 1 {
			t.Errorf("%d wait, %v", waiting, err)
		}
		must(t, os.Remove(filepath.Join(inbox, id+".md")))
		wait(t, func() bool { return !strings.Contains(status(), "sender") })
	})
}

// TestNobodyHoldsAnothersSignature: who puts a file beside an order of somebody else, and holds a lease on it so that
// no open of it succeeds, holds up nothing.
func TestNobodyHoldsAnothersSignature(t *testing.T) {
	w := shared(t)
	given := w.order(t, orders.Reject, w.items(t)[0], nil)
	path := filepath.Join(w.dir, spool.DirOrders, given.Name+".json")
	must(t, os.Chown(path, anAuditor, auditors))
	as(t, another, []uint32{approvers, people}, func() { must(t, os.WriteFile(path+".sig", []byte("x"), 0o600)) })
	must(t, os.Chown(path+".sig", another, people))
	f, err := os.Open(path + ".sig")
	must(t, err)
	defer f.Close()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
	must(t, err)
	w.until(t)
	if held, err := unix.FcntlInt(f.Fd(), unix.F_GETLEASE, 0); err != nil || held != unix.F_WRLCK {
		t.Errorf("the node opened the file of somebody else: %d, %v", held, err)
	}
	if why := w.answer(t, given); why != "" {
		t.Errorf("refused: %s", why)
	}
}

// TestACopyDecidesNothing: who can read an order that waits, and puts a copy in front of it, has the copy refused, and
// not the order.
func TestACopyDecidesNothing(t *testing.T) {
	w := shared(t)
	dir := filepath.Join(w.dir, spool.DirOrders)
	given := w.order(t, orders.Reject, w.items(t)[0], nil)
	path := filepath.Join(dir, given.Name+".json")
	must(t, os.Chmod(path, 0o644))
	must(t, os.Chown(path, anAuditor, auditors))
	raw, err := os.ReadFile(path)
	must(t, err)
	as(t, another, []uint32{people}, func() {
		must(t, os.WriteFile(filepath.Join(dir, "or-00000000000000000001.json"), raw, 0o600))
	})
	w.until(t)
	if why := w.answer(t, given); why != "" || len(w.events(t, ledger.QuarantineRejected)) != 1 {
		t.Errorf("refused: %s", why)
	}
	w.whole(t)
}
