package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/access"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/hold"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// The users of docs/access.md, in the order of its columns: the approver is Debian's nobody, a member of nogroup, the
// auditor its daemon, of the group daemon. No host names the others.
const (
	gidPeople, gidApprovers, gidAuditors, uidCore = 71001, 65534, 1, 71021
)

var users = []syscall.Credential{
	{Uid: 71010, Gid: 71010},
	{Uid: 71011, Gid: 71011, Groups: []uint32{gidPeople}},
	{Uid: 65534, Gid: 71012, Groups: []uint32{gidPeople, gidApprovers}},
	{Uid: 1, Gid: 71013, Groups: []uint32{gidPeople, gidAuditors}},
	{Uid: uidCore, Gid: uidCore},
}

const accessConfig = `version: 1
node: {name: access, wait_for_writers: 0s, drain: 0s, sweep: 100ms}
inboxes: [{name: default, path: inbox/default}]
approvals: {max_age: 0s}
core_inbound: {owner: "71021", group: "71021"}
access: {people: "71001", approvers: nogroup, auditors: daemon}
backends: {era: {languages: {python: {image: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}}}}
`

// stopped runs nothing: what is admitted waits.
type stopped struct{ gate.Executor }

func (stopped) List(context.Context) ([]string, error)        { return nil, nil }
func (stopped) Cleanup(context.Context, string) error         { return nil }
func (stopped) Kill(context.Context, string) error            { return nil }
func (stopped) Prepare(context.Context, executors.Task) error { return errors.New("nothing runs here") }
func (stopped) State(context.Context, string) (executors.State, error) {
	return "", errors.New("nothing runs here")
}
func (stopped) Identity(context.Context, executors.Task) (executors.Identity, error) {
	return executors.Identity{}, nil
}

// accessNode is a node that is served, with the users of docs/access.md.
type accessNode struct {
	t       *testing.T
	dir     string
	program string
	idle    string // another node, which nobody serves
	cfg     *config.Node
	count   int
	given   int
}

func newAccessNode(t *testing.T) *accessNode {
	t.Helper()
	tmp := t.TempDir()
	for _, dir := range []string{filepath.Dir(tmp), tmp} {
		check(t, os.Chmod(dir, 0o755))
	}
	n := &accessNode{t: t, dir: filepath.Join(tmp, "node"), program: filepath.Join(tmp, "threegate")}
	self, err := os.ReadFile("/proc/self/exe")
	check(t, err)
	check(t, os.WriteFile(n.program, self, 0o755))
	for _, name := range []string{"threegate-init", "threegate-payload"} {
		check(t, os.Link(n.program, filepath.Join(tmp, name)))
	}
	n.idle = filepath.Join(tmp, "idle")
	for _, dir := range []string{n.idle, n.dir} {
		check(t, spool.Init(dir))
		check(t, os.WriteFile(filepath.Join(dir, config.FileName), []byte(accessConfig), 0o640))
	}
	check(t, os.Chmod(filepath.Join(n.idle, config.FileName), 0o644))
	for _, dir := range []string{spool.DirCoreInbound, spool.DirCoreNotices} {
		check(t, os.Chown(filepath.Join(n.dir, dir), uidCore, uidCore))
	}
	n.cfg, err = config.Load(n.dir)
	check(t, err)
	n.record()
	g, err := gate.Open(n.cfg, gate.Options{Executor: stopped{}, Logger: slog.New(slog.DiscardHandler)})
	check(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	t.Cleanup(func() { stop(); check(t, errors.Join(<-ran, g.Close())) })
	return n
}

// resultDigest is that of each result that record records.
var resultDigest = strings.Repeat("cd", 32)

// record puts results on record, for delivered to give.
func (n *accessNode) record() {
	n.t.Helper()
	l, err := ledger.Open(filepath.Join(n.dir, spool.DirLedger), ledger.Options{}, func(ledger.Event) {})
	check(n.t, err)
	for k := range 4 * len(users) {
		e := ledger.Event{RequestID: fmt.Sprintf("TR-20260209-160501Z-given-%d", k+1), RunID: fmt.Sprintf("j%026d", k)}
		for _, step := range []ledger.Event{{Type: ledger.DeliveryAttempted, Outcome: ledger.OutcomeAdmitted},
			{Type: ledger.RunStarted}, {Type: ledger.RunCompleted},
			{Type: ledger.ResultDelivered, ResultID: "TS-20260209-160502Z-" + e.RequestID, ResultSHA256: resultDigest, Withheld: 1}} {
			step.RequestID, step.RunID, step.RequestSHA256 = e.RequestID, e.RunID, strings.Repeat("ab", 32)
			check(n.t, l.Append(step))
		}
	}
	check(n.t, l.Close())
}

// delivered is a request whose result is on record.
func (n *accessNode) delivered() string {
	n.given++
	return fmt.Sprintf("TR-20260209-160501Z-given-%d", n.given)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until waits for what comes.
func (n *accessNode) until(what string, done func() bool) {
	n.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			n.t.Fatalf("%s did not come", what)
		}
	}
}

const accessRequest = `---
request_type: tool_request
schema_version: "1"
request_id: %q
created_utc: "2026-02-09T16:05:01Z"
requested_by: "CORE"
approved_by: "operator"
approved_utc: "2026-02-09T16:10:00Z"
purpose: "Who may do what"
backend: ERA
language: python
network: none
cpu_limit: "1"
memory_limit_mb: 64
time_limit_sec: 30
inputs:
  - path: "/in/x.py"
    sha256: %q
---

## Command

python x.py %s

## Input Files

- /in/x.py: an input

## Output Expectations

None

## Risk Assessment

- Risk level: low
- Justification: a test %s
- Data sensitivity: public
- Network rationale: none
`

// request writes a request with its input into a folder.
func (n *accessNode) request(dir, argument, remark string) (id string) {
	n.t.Helper()
	const input = "print(1)\n"
	n.count++
	id = fmt.Sprintf("TR-20260209-160501Z-access-%d", n.count)
	check(n.t, os.Mkdir(filepath.Join(dir, id+".inputs"), 0o755))
	check(n.t, os.WriteFile(filepath.Join(dir, id+".inputs", "x.py"), []byte(input), 0o644))
	doc := fmt.Sprintf(accessRequest, id, digestOf(input), argument, remark)
	check(n.t, os.WriteFile(filepath.Join(dir, "."+id), []byte(doc), 0o644))
	check(n.t, os.Rename(filepath.Join(dir, "."+id), filepath.Join(dir, id+".md")))
	return id
}

func digestOf(text string) string { return schemas.SHA256([]byte(text)) }

// inQuarantine sends a request that is refused, and gives its item.
func (n *accessNode) inQuarantine(argument, remark string) (item string) {
	n.t.Helper()
	id := n.request(filepath.Join(n.dir, spool.DefaultInbox), argument, remark)
	store := quarantine.NewStore(filepath.Join(n.dir, spool.DirQuarantine))
	n.until(id, func() bool {
		found, err := store.Find(id)
		if err == nil && len(found) == 1 && found[0].Reasons != nil {
			item = found[0].ID
		}
		return item != ""
	})
	return item
}

func (n *accessNode) refused() string { return n.inQuarantine("; id", "") }

// refusedID is the id of a refused request.
func (n *accessNode) refusedID() string {
	n.t.Helper()
	it, err := quarantine.NewStore(filepath.Join(n.dir, spool.DirQuarantine)).Show(n.refused())
	check(n.t, err)
	return it.Reasons.RequestID
}

// secret is an item that can be released.
func (n *accessNode) secret() string { return n.inQuarantine("", "ghp_"+rand.Text()+rand.Text()[:10]) }

// admitted sends a request that waits for its run.
func (n *accessNode) admitted() string {
	n.t.Helper()
	id := n.request(filepath.Join(n.dir, spool.DefaultInbox), "", "")
	n.until(id, func() bool {
		r, err := view.Of(n.cfg, id)
		return err == nil && r.State == ledger.StateAdmitted
	})
	return id
}

// draft is a request that waits to be promoted.
func (n *accessNode) draft() string {
	n.t.Helper()
	dir := filepath.Dir(n.dir)
	return filepath.Join(dir, n.request(dir, "", "")+".md")
}

// try runs something as a user, in a folder of theirs.
func (n *accessNode) try(as syscall.Credential, argv ...string) (string, error) {
	ctx, stop := context.WithTimeout(n.t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &as}
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/", "THREEGATE_NODE=" + n.dir}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// cells are the rows of a table of docs/access.md: what a row is about, and a cell for each user.
func cells(t *testing.T, head string) (rows [][]string) {
	t.Helper()
	raw, err := os.ReadFile("../../docs/access.md")
	check(t, err)
	_, table, found := strings.Cut(string(raw), "| "+head+" | nobody |")
	if !found {
		t.Fatalf("docs/access.md has no table of %s", head)
	}
	for _, line := range strings.Split(table, "\n")[2:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		row := strings.Split(strings.Trim(line, "| "), "|")
		for i := range row {
			row[i] = strings.Trim(row[i], "` ")
		}
		rows = append(rows, row)
	}
	return rows
}

// saysWho is what a refusal has: who may.
var saysWho = regexp.MustCompile(`members of|root may`)

// argvOf is a command of the table as it is called.
func (n *accessNode) argvOf(command string) []string {
	decide := []string{"--as", "alice", "--reason", "a test", "--timeout", "30s"}
	rest := map[string]func() []string{
		"status": nil, "list": nil, "results list": nil, "events": nil, "audit verify": nil, "config show": nil, "quarantine list": nil, "fsck": nil,
		"wait":               func() []string { return []string{n.refusedID()} },
		"show":               func() []string { return []string{n.refusedID()} },
		"promote":            func() []string { return []string{n.draft()} },
		"cancel":             func() []string { return append([]string{n.admitted()}, decide...) },
		"reissue":            func() []string { return append([]string{n.delivered()}, decide...) },
		"recall":             func() []string { return append([]string{n.delivered()}, decide...) },
		"quarantine show":    func() []string { return []string{n.refused()} },
		"quarantine reject":  func() []string { return append([]string{n.refused()}, decide...) },
		"quarantine release": func() []string { return append([]string{n.secret()}, decide...) },
		"hold":               func() []string { return []string{"--as", "alice", "--reason", "a test"} },
		"resume":             n.held,
		"prune":              func() []string { return []string{"--older-than", "90d", "--as", "alice"} },
		"serve":              func() []string { return []string{"--node", n.idle} },
	}
	argv := append([]string{n.program}, strings.Fields(command)...)
	more, known := rest[command]
	if !known {
		n.t.Fatalf("nobody knows how %s is called", command)
	}
	if more != nil {
		argv = append(argv, more()...)
	}
	return argv
}

// held holds the node.
func (n *accessNode) held() []string {
	n.t.Helper()
	err := hold.Set(n.cfg, hold.Hold{By: "alice", Reason: "a test"})
	if err != nil && !errors.Is(err, os.ErrExist) {
		n.t.Fatal(err)
	}
	return nil
}

// TestAccess tries each cell of docs/access.md.
func TestAccess(t *testing.T) {
	n := newAccessNode(t)
	names := []string{"nobody", "people", "approver", "auditor", "CORE"}
	for _, row := range cells(t, "command") {
		for i, user := range users {
			out, err := n.try(user, n.argvOf(row[0])...)
			// A command that says what is wrong with what it read was allowed to read it.
			denied := err != nil && (strings.Contains(out, "denied") || strings.Contains(out, "not permitted") ||
				strings.Contains(out, "the order was refused: user"))
			if want := row[i+1] == "no"; denied != want {
				t.Errorf("%s: %s: refused is %v, want %v: %v\n%s", row[0], names[i], denied, want, err, out)
			}
			if denied && !saysWho.MatchString(out) {
				t.Errorf("%s: %s: it does not say who may:\n%s", row[0], names[i], out)
			}
		}
	}
	check(t, hold.Release(n.cfg, ""))
	for _, row := range cells(t, "order") {
		for i, user := range users {
			n.orderFile(row[0], names[i], user, row[i+1] == "yes")
		}
	}
	for _, row := range cells(t, "folder") {
		for i, user := range users {
			n.folder(filepath.Join(n.dir, row[0]), names[i], user, row[i+1])
		}
	}
}

// orderFile has a user put an order into the folder by hand.
func (n *accessNode) orderFile(kind, name string, user syscall.Credential, want bool) {
	n.t.Helper()
	n.count++
	o := orders.Order{Version: 1, Kind: orders.Kind(kind), Subject: "TR-unknown", By: "alice", Reason: "a test",
		OrderedUTC: time.Now().UTC(), Name: fmt.Sprintf("or-%020d", time.Now().UnixNano())}
	switch o.Kind {
	case orders.Refused:
		o.RequestSHA256 = strings.Repeat("ab", 32)
	case orders.Reject:
		o.Subject = n.refused()
	case orders.Cancel:
		o.Subject = n.admitted()
	case orders.Recall:
		o.Subject, o.ResultSHA256 = n.delivered(), resultDigest
	case orders.Reissue:
		o.Subject, o.ResultSHA256 = n.delivered(), resultDigest
		o.Released = []schemas.Release{{Rule: "result.instruction.fetch", SHA256: resultDigest}}
	case orders.Release:
		o.Subject = n.secret()
		it, err := quarantine.NewStore(filepath.Join(n.dir, spool.DirQuarantine)).Show(o.Subject)
		check(n.t, err)
		for _, r := range it.Reasons.Releasable {
			o.Released = append(o.Released, r.Release)
		}
	}
	raw, err := json.Marshal(o)
	check(n.t, err)
	hidden := filepath.Join(n.dir, spool.DirOrders, ".hand")
	group := user.Gid
	if len(user.Groups) > 1 {
		group = user.Groups[1]
	}
	out, err := n.try(user, "/bin/sh", "-c", `umask 077; printf %s "$1" > "$2" && chgrp "$3" "$2" && mv "$2" "$4"`, "sh",
		string(raw), hidden, fmt.Sprint(group), filepath.Join(n.dir, spool.DirOrders, o.Name+".json"))
	if err != nil {
		if want || !strings.Contains(out, "denied") {
			n.t.Errorf("%s: %s can't give it: %s", kind, name, out)
		}
		return
	}
	digest := digestOf(string(raw))
	n.until("the answer to "+o.Name, func() bool { a, err := orders.AnswerOf(n.dir, digest); return err == nil && a != nil })
	a, err := orders.AnswerOf(n.dir, digest)
	check(n.t, err)
	if o.Kind == orders.Reissue && strings.Contains(a.Refused, "in the archive no longer") {
		a.Refused = "" // this user may, and the node has only the record of it
	}
	if (a.Refused == "") != want || !want && !saysWho.MatchString(a.Refused) {
		n.t.Errorf("%s: %s: %q, want it done: %v", kind, name, a.Refused, want)
	}
	e := ledger.Event{}
	_, _, err = ledger.Read(filepath.Join(n.dir, spool.DirLedger), func(x ledger.Event) error {
		if x.Order == digest {
			e = x
		}
		return nil
	})
	check(n.t, err)
	if e.ByUser != access.UserName(int(user.Uid)) {
		n.t.Errorf("%s: %s is on record as %q", kind, name, e.ByUser)
	}
}

// folder tries what a user can do with a folder or a file.
func (n *accessNode) folder(path, name string, user syscall.Credential, want string) {
	n.t.Helper()
	fi, err := os.Stat(path)
	check(n.t, err)
	got := ""
	read, made := []string{"/bin/ls", path}, filepath.Join(path, "made")
	if !fi.IsDir() {
		read, made = []string{"/bin/cat", path}, path
	}
	if _, err := n.try(user, read...); err == nil {
		got = "r"
	}
	if _, err := n.try(user, "/usr/bin/touch", made); err == nil {
		got += "w"
	}
	_, err = n.try(user, "/bin/rm", "-f", filepath.Join(path, "made"))
	if err != nil && strings.Contains(got, "w") {
		n.t.Errorf("%s: %s can't remove what is theirs", path, name)
	}
	if got == "" {
		got = "-"
	}
	if got != want {
		n.t.Errorf("%s: %s: %s, want %s", path, name, got, want)
	}
}

// TestPromoteNamesWhoIsInTheWay: an approver who knows the id of a request, and puts something there first, keeps another
// one from promoting it; they learn who it was, and nothing of theirs is taken in without its inputs.
func TestPromoteNamesWhoIsInTheWay(t *testing.T) {
	n := newAccessNode(t)
	approver, eve := users[2], syscall.Credential{Uid: 4, Gid: 71014, Groups: []uint32{gidPeople, gidApprovers}}
	inbox := filepath.Join(n.dir, spool.DefaultInbox)
	for _, name := range []string{".inputs", ".md.sig", ".md"} {
		draft := n.draft()
		stem := strings.TrimSuffix(draft, ".md")
		at := filepath.Join(inbox, filepath.Base(stem)+name)
		squat := []string{"/usr/bin/touch", at}
		switch name {
		case ".inputs": // the same files, so that nothing seems to be wrong
			squat = []string{"/bin/cp", "-r", stem + name, at}
		case ".md":
			check(t, hold.Set(n.cfg, hold.Hold{By: "alice", Reason: "a test"}))
		}
		if out, err := n.try(eve, squat...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		out, err := n.try(approver, n.program, "promote", draft)
		if err == nil || !strings.Contains(out, at+" belongs to the user 4") || !strings.Contains(out, "hint") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		check(t, os.RemoveAll(at))
		if out, err := n.try(approver, n.program, "promote", draft); err != nil {
			t.Errorf("%s is gone: %v\n%s", name, err, out)
		}
	}
}
