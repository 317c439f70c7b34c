package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestRepeatedRequests: the same id and bytes again is a duplicate, with other
// bytes a conflict; both are quarantined, also by the next gate, and the first
// result stands.
func TestRepeatedRequests(t *testing.T) {
	n := newNode(t)
	r := era("TR-20260209-180000Z-first", "print('first')\n")
	n.send(r)
	first := n.await(r.id)
	n.result(first)
	before := read(t, first.ResultPath)

	n.send(r)
	n.until("the duplicate to be refused", func() bool { return n.count("quarantine", "requests", "*") == 1 })
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	n.serve()
	other := r
	other.timeSec = 31
	n.send(other)
	n.until("the conflict to be refused", func() bool { return n.count("quarantine", "requests", "*") == 2 })

	var rules []string
	items, _ := filepath.Glob(filepath.Join(n.dir, "quarantine", "requests", "*"))
	for _, item := range items {
		for _, f := range n.reasons("requests", filepath.Base(item)).Findings {
			rules = append(rules, f.Rule)
		}
	}
	if !slices.Contains(rules, "request.duplicate") || !slices.Contains(rules, "request.conflict") {
		t.Errorf("refused by %v", rules)
	}
	if read(t, first.ResultPath) != before {
		t.Error("the first result was changed")
	}
	if f := n.await(r.id); f.State != "delivered" || f.Job != first.Job {
		t.Errorf("the id's fate is now %+v", *f)
	}
	n.check()
}

// TestARefusedIdCanBeMended: a refusal does not use up the id.
func TestARefusedIdCanBeMended(t *testing.T) {
	n := newNode(t)
	r := request{id: "TR-20260209-180001Z-mended", command: "python -c pass ; id"}
	n.send(r)
	if f := n.await(r.id); f.State != "quarantined" || !slices.Contains(f.Rules, "sec.shell.chaining") {
		t.Fatalf("became %+v", *f)
	}
	r.command = "python -c pass"
	n.send(r)
	n.until("the mended one", func() bool { return n.count("core-inbound", "TS-*.md") == 1 })
	n.result(n.await(r.id))
	n.check()
}

// TestHostileInbox: things that are no files end in quarantine, whatever they
// are, and the next request runs.
func TestHostileInbox(t *testing.T) {
	n := newNode(t)
	inbox := n.cfg.Inboxes[0].Path
	at := func(name string) string { return filepath.Join(inbox, "TR-20260209-19000"+name+".md") }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret")
	must(os.WriteFile(secret, []byte("a secret of the host\n"), 0o600))
	must(os.Symlink(secret, at("0Z-symlink")))
	must(os.Symlink("TR-20260209-190001Z-loop.md", at("1Z-loop")))
	must(syscall.Mkfifo(at("2Z-fifo"), 0o666))
	must(os.Mkdir(at("3Z-folder"), 0o755))
	must(os.Link(secret, at("4Z-hardlink")))
	must(os.WriteFile(at("5Z-huge"), nil, 0o644))
	must(os.Truncate(at("5Z-huge"), 10<<30))
	must(os.WriteFile(at("6Z-binary"), []byte("\x7fELF\x00\xff\xfe"), 0o644))
	must(os.WriteFile(at("7Z-unreadable"), []byte("x"), 0))
	must(os.WriteFile(filepath.Join(inbox, "TR-\xff\xfe.md"), []byte("x"), 0o644))
	must(os.WriteFile(filepath.Join(inbox, "TR-a\nb.md"), []byte("x"), 0o644))
	must(os.WriteFile(filepath.Join(inbox, "notes.txt"), []byte("x"), 0o644))
	n.until("all of them to be refused", func() bool { return n.count("quarantine", "requests", "*") == 10 })
	r := era("TR-20260209-190009Z-after", "print('still here')\n")
	n.send(r)
	if got := n.result(n.await(r.id)).Stdout.Text; got != "still here\n" {
		t.Errorf("stdout %q", got)
	}
	if !exists(filepath.Join(inbox, "notes.txt")) {
		t.Error("what is no request was touched")
	}
	items, _ := filepath.Glob(filepath.Join(n.dir, "quarantine", "requests", "*", "REASONS.md"))
	if len(items) != 10 {
		t.Errorf("%d of 10 have reasons", len(items))
	}
	for _, i := range items {
		if strings.Contains(read(t, i), "a secret of the host") {
			t.Errorf("%s holds what a link led to", i)
		}
	}
	n.check()
}

// TestADamagedRecordIsNotServed, and what was started for it is given back.
func TestADamagedRecordIsNotServed(t *testing.T) {
	n := newNode(t)
	n.untilServed()
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(n.dir, "ledger", "events-000000000001.jsonl")
	whole := read(t, record)
	if err := os.WriteFile(record, []byte("x"+whole), 0o640); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(threegate, "serve", "--node", n.dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "hint: keep the folder "+filepath.Dir(record)+" as it is") {
		t.Errorf("served, or no hint: %v\n%s", err, out)
	}
	if mounts := read(t, "/proc/self/mountinfo"); strings.Contains(mounts, filepath.Dir(n.cfg.RunDir())+"/") {
		t.Errorf("something stayed mounted:\n%s", mounts)
	}
	if pid := filepath.Join(n.cfg.ContainerdState(), "containerd.pid"); exists(pid) {
		t.Errorf("containerd goes on: %s", read(t, pid))
	}
}
