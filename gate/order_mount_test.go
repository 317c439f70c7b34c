package gate_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/spool"
)

// mount mounts a file system for a test.
func mount(t *testing.T, source, at, kind string, flags uintptr) (unmount func()) {
	t.Helper()
	must(t, unix.Mount(source, at, kind, flags, ""))
	gone := false
	unmount = func() {
		if !gone {
			gone = true
			must(t, unix.Unmount(at, 0))
		}
	}
	t.Cleanup(unmount)
	return unmount
}

// TestMountInOrders: what an administrator mounts in orders, or over it, by mistake is named until it is gone, and loses
// no order.
func TestMountInOrders(t *testing.T) {
	w := shared(t)
	items := w.items(t)
	dir := filepath.Join(w.dir, spool.DirOrders)
	file, folder := filepath.Join(dir, "or-00000000000000000001.json"), filepath.Join(dir, "or-00000000000000000002.json")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Mkdir(folder, 0o700))
	held := func() string {
		b, err := os.ReadFile(filepath.Join(w.dir, "status.json"))
		if err != nil || !strings.Contains(string(b), `"orders"`) {
			return ""
		}
		return string(b)
	}
	answered := func(given orders.Receipt) func() bool {
		return func() bool { a, err := orders.AnswerOf(w.dir, given.SHA256); must(t, err); return a != nil }
	}
	ask, end := w.door(t)
	defer end()
	w.while(t, func() {
		one := mount(t, filepath.Join(w.dir, "threegate.yaml"), file, "", unix.MS_BIND)
		other := mount(t, "tmpfs", folder, "tmpfs", 0)
		given := w.order(t, orders.Reject, items[0], nil)
		wait(t, answered(given))
		wait(t, func() bool { return strings.Contains(held(), filepath.Base(file)) })
		time.Sleep(3 * w.cfg.Node.Sweep) // it is told until it is gone
		if code, text := ask("/healthz"); code != 503 || text != "held up: orders\n" {
			t.Errorf("health: %d %q", code, text)
		}
		one()
		other()
		wait(t, func() bool { return held() == "" })

		waiting := w.order(t, orders.Reject, items[1], nil)
		over := mount(t, "tmpfs", dir, "tmpfs", 0)
		lost := w.order(t, orders.Reject, items[1], nil)
		wait(t, func() bool { return strings.Contains(held(), lost.Name) || answered(waiting)() })
		over()
		wait(t, answered(waiting))
		wait(t, func() bool { return held() == "" })
	})
	if on := w.events(t, ledger.OrderRefused); len(on) != 2 || on[0].ByUser != "unknown" {
		t.Errorf("on record: %+v", on)
	}
	w.whole(t)
	for _, at := range []string{spool.DirOrders, spool.DirOrdersDone} {
		unmount := mount(t, "tmpfs", filepath.Join(w.dir, at), "tmpfs", 0)
		_, err := gate.Open(w.cfg, gate.Options{Executor: w.recorder(&injector{})})
		if err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("%s is a mount, and the node starts: %v", at, err)
		}
		unmount()
	}
}

// TestOrdersAtAnyTime: orders are carried out in the next pass whatever numbers others gave theirs, and wherever the
// node's clock is.
func TestOrdersAtAnyTime(t *testing.T) {
	const decade = 10 * 365 * 24 * time.Hour
	for _, jump := range []time.Duration{0, -decade, decade} {
		t.Run(fmt.Sprint(jump), func(t *testing.T) {
			w := shared(t)
			items := w.items(t)
			dir := filepath.Join(w.dir, spool.DirOrders)
			put := func(number int64, kind orders.Kind, subject string, uid, gid int) {
				name := fmt.Sprintf("or-%020d", number)
				path := filepath.Join(dir, name+".json")
				must(t, os.WriteFile(path, orderOf(t, name, kind, subject), 0o600))
				must(t, os.Chown(path, uid, gid))
			}
			for i := range int64(30) {
				put(i, orders.Reject, items[0], another, people)
				put(math.MaxInt64-i, orders.Reject, items[0], another, people)
			}
			put(40, orders.Reject, items[0], anAuditor, auditors)
			put(math.MaxInt64-40, orders.Reject, items[1], anAuditor, auditors)
			w.now = func() time.Time { return time.Now().Add(jump) }
			w.while(t, func() { wait(t, func() bool { return len(w.events(t, ledger.QuarantineRejected)) == 2 }) })
			w.now = nil // and back again
			given := w.order(t, orders.Reject, items[0], nil)
			w.while(t, func() { wait(t, func() bool { return len(w.glob("orders/or-*")) == 0 }) })
			if why := w.answer(t, given); !strings.Contains(why, "was rejected before") {
				t.Errorf("%q", why)
			}
			w.whole(t)
		})
	}
}

// TestSubordinateUsersAreOnePerson: all users of a range in /etc/subuid have the share of one, and none of them has a
// right of whose range it is: containers run there.
func TestSubordinateUsersAreOnePerson(t *testing.T) {
	if os.Getenv("THREEGATE_TEST_SUBUID") == "" { // again, with such a file, in a mount namespace of its own
		file := filepath.Join(t.TempDir(), "subuid")
		must(t, os.WriteFile(file, []byte(anotherName+":80000:65536\nroot:200000:10\ndaemon:300000:10\n"), 0o644))
		cmd := exec.Command("/bin/sh", "-c", `mount --bind "$1" /etc/subuid && exec "$0" -test.v -test.run "^$2$"`,
			os.Args[0], file, t.Name())
		cmd.Env = append(os.Environ(), "THREEGATE_TEST_SUBUID=yes")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	w := shared(t)
	item, dir := w.items(t)[0], filepath.Join(w.dir, spool.DirOrders)
	put := func(i, uid, gid int) {
		name := fmt.Sprintf("or-%020d", i)
		path := filepath.Join(dir, name+".json")
		must(t, os.WriteFile(path, orderOf(t, name, orders.Reject, item), 0o600))
		must(t, os.Chown(path, uid, gid))
	}
	for i := range 150 {
		put(i, 80000+i, people)
	}
	put(200, 200001, auditors)
	put(300, 300001, auditors)
	given := w.order(t, orders.Reject, item, nil)
	w.while(t, func() {
		wait(t, func() bool { a, err := orders.AnswerOf(w.dir, given.SHA256); must(t, err); return a != nil })
		wait(t, func() bool { return len(w.glob("orders/or-*.json")) == 50 })
	})
	on := w.events(t, ledger.OrderRefused, ledger.QuarantineRejected)
	at := slices.IndexFunc(on, func(e ledger.Event) bool { return e.Order == given.SHA256 })
	if len(on) != 103 || at > 3 || w.answer(t, given) != "" {
		t.Errorf("%d are on record, another's order was number %d: %q", len(on), at, w.answer(t, given))
	}
	for _, e := range on {
		if uid, err := strconv.Atoi(e.ByUser); e.Order != given.SHA256 && (err != nil || uid < 80000) {
			t.Errorf("on record: %+v", e)
		}
	}
}
