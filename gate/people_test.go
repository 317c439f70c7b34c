package gate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/spool"
)

// Users that every Debian has, and groups that they are in: the node asks the host. People are a group that nobody is
// in but by what a test starts.
const (
	people, approvers, auditors    = 71001, 65534, 1
	anApprover, another, anAuditor = 65534, 4, 1
	approverName, anotherName      = "nobody", "sync"
	aStranger                      = 71014
)

// member is a person without root.
type member struct {
	uid    uint32
	groups []uint32
}

var members = map[string]member{
	"approver": {anApprover, []uint32{people, approvers}}, "another": {another, []uint32{people, approvers}},
	"auditor": {anAuditor, []uint32{people, auditors}}, "stranger": {aStranger, nil},
}

// can tells whether a person can do something.
func can(who string, argv ...string) bool {
	m := members[who]
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: m.uid, Gid: m.uid, Groups: m.groups}}
	return cmd.Run() == nil
}

// shared is a world whose node is shared with the groups; it had jobs before.
func shared(t *testing.T) *world {
	t.Helper()
	w := mustWorld(t, scenario{name: "people", word: "ok|; id|secret"})
	must(t, os.Chmod(filepath.Dir(w.dir), 0o755))
	must(t, w.process(&injector{}))
	w.share(t, "access: {people: 71001, approvers: nogroup, auditors: daemon}\n")
	must(t, w.put(w.cfg.Inboxes[0].Path, "TR-20260209-160501Z-later", "; id"))
	must(t, w.process(&injector{}))
	return w
}

func (w *world) share(t *testing.T, access string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(w.dir, config.FileName), []byte(crashConfig+access), 0o640))
	var err error
	w.cfg, err = config.Load(w.dir)
	must(t, err)
}

// TestPeopleWithoutRoot: who is in which group can do what is theirs, and nothing else.
func TestPeopleWithoutRoot(t *testing.T) {
	w := shared(t)
	in := func(elem ...string) string { return filepath.Join(append([]string{w.dir}, elem...)...) }
	inbox := w.cfg.Inboxes[0].Path
	sound := filepath.Join(inbox, "TR-sound.md.sig") // the node leaves alone what has no request
	must(t, os.WriteFile(sound, nil, 0o640))
	must(t, os.Chown(sound, another, another))
	order := in(spool.DirOrders, "or-00000000000000000001.json.sig")
	must(t, os.WriteFile(order, nil, 0o600))
	must(t, os.Chown(order, another, another))
	segment := w.one(t, filepath.Join(spool.DirLedger, "events-*.jsonl"))
	readAll := func(dir string) []string {
		return []string{"find", in(dir), "-type", "f", "-exec", "cat", "{}", "+"}
	}
	all, readers, none := "approver auditor", "auditor", ""
	for _, c := range []struct {
		who  string // who can; nobody else
		argv []string
	}{
		{all, []string{"cat", in(config.FileName)}},
		{all, []string{"cat", segment}},
		{all, []string{"cat", in("status.json")}},
		{all, []string{"ls", in(spool.DirOrdersDone)}},
		{all, []string{"touch", in(spool.DirOrders, "or-00000000000000000009.json.sig")}},
		{readers, readAll(spool.DirQuarantine)},
		{readers, readAll(spool.DirArchive)},
		{readers, []string{"ls", in(spool.DirSpool, string(spool.StateRunning))}},
		{none, []string{"ls", in(spool.DirTrash)}},
		{"approver", []string{"touch", filepath.Join(inbox, "TR-mine.md.sig")}},
		{none, []string{"rm", sound}},
		{none, []string{"mv", sound, sound + "2"}},
		{none, []string{"ln", "-sf", "/etc/passwd", sound}},
		{none, []string{"rm", order}},
		{none, []string{"cp", "/etc/passwd", order}},
		{none, []string{"touch", in(config.FileName)}},
		{none, []string{"touch", segment}},
		{none, []string{"touch", in(spool.DirLedger, "events-9.jsonl")}},
		{none, []string{"touch", in(spool.DirQuarantineRequests, "x")}},
		{none, []string{"touch", in(spool.DirArchive, "x")}},
		{none, []string{"touch", in(spool.DirOrdersDone, "x")}},
		{none, []string{"touch", in("x")}},
		{none, []string{"cat", in(".lock")}}, // it could be held, and keep the node from starting
	} {
		for _, who := range []string{"approver", "auditor", "stranger"} {
			_ = os.Remove(filepath.Join(inbox, "TR-mine.md.sig"))
			_ = os.Remove(in(spool.DirOrders, "or-00000000000000000009.json.sig"))
			if got, want := can(who, c.argv...), strings.Contains(c.who, who); got != want {
				t.Errorf("%s can %q: %v, want %v", who, c.argv, got, want)
			}
		}
	}
	must(t, os.Remove(sound))
	must(t, os.Remove(order))

	// Without the groups the node is closed again.
	w.share(t, "")
	w.until(t)
	for _, dir := range []string{spool.DirLedger, spool.DirQuarantine, spool.DirArchive, spool.DirSpool, spool.DirOrders} {
		if fi, err := os.Stat(in(dir)); err != nil || fi.Mode().Perm() != 0o700 || can("auditor", "ls", in(dir)) {
			t.Errorf("%s: %v, %v", dir, fi.Mode(), err)
		}
	}
	w.whole(t)
}

// TestOrdersOfPeople: an order is its giver's, whatever name stands in it, and only auditors order about
// what lies in quarantine.
func TestOrdersOfPeople(t *testing.T) {
	w := shared(t)
	items := w.items(t)
	give := func(item string, uid, gid int) orders.Receipt {
		name := w.order(t, orders.Reject, item, nil) // by alice
		must(t, os.Chown(filepath.Join(w.dir, spool.DirOrders, name.Name+".json"), uid, gid))
		return name
	}
	forged := give(items[0], anApprover, approvers)
	own := give(items[0], anAuditor, people)    // without the rights of the group
	former := give(items[0], another, auditors) // who kept a file, or a setgid program, of the group
	gone := give(items[0], 71013, auditors)     // whom the host no longer has
	good := give(items[0], anAuditor, auditors)
	w.until(t)
	for _, name := range []orders.Receipt{forged, own, former, gone} {
		if why := w.answer(t, name); !strings.Contains(why, "is no auditor") {
			t.Errorf("%s: %q", name, why)
		}
	}
	if why := w.answer(t, good); why != "" {
		t.Errorf("refused: %s", why)
	}
	got := w.events(t, ledger.QuarantineRejected, ledger.OrderRefused)
	if len(got) != 5 || got[0].ByUser != approverName || got[4].By != "alice" ||
		got[4].ByUser != "daemon" {
		t.Errorf("on record: %+v", got)
	}
	// What is put away is the node's own copy.
	fi, err := os.Stat(filepath.Join(w.dir, spool.DirOrdersDone, good.SHA256+".json"))
	must(t, err)
	if st := fi.Sys().(*syscall.Stat_t); st.Uid != 0 || st.Gid != people {
		t.Errorf("the order that is done belongs to %d:%d", st.Uid, st.Gid)
	}
	w.whole(t)

	// An order that its giver takes back meanwhile does nothing.
	again := give(items[1], anAuditor, auditors)
	must(t, os.Remove(filepath.Join(w.dir, spool.DirOrders, again.Name+".json")))
	w.until(t)
	if a, err := orders.AnswerOf(w.dir, again.SHA256); a != nil || err != nil {
		t.Errorf("%+v, %v", a, err)
	}
}
