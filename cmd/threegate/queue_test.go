package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/spool"
)

// TestFiftyItemsInSixCommands: an auditor without root empties a quarantine of three kinds of items with six commands,
// each order signed; then the list is empty, and the record has who decided on each.
func TestFiftyItemsInSixCommands(t *testing.T) {
	n := newAccessNode(t)
	auditor := users[3]
	key := filepath.Join(filepath.Dir(n.dir), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	check(t, os.Chown(key, int(auditor.Uid), int(auditor.Gid)))
	inbox := filepath.Join(n.dir, spool.DefaultInbox)
	var devices []string
	for i := range 50 {
		switch {
		case i < 20:
			n.request(inbox, "a | b", "")
		case i < 40:
			n.request(inbox, "/etc/passwd", "")
		default:
			devices = append(devices, n.request(inbox, "/dev/sda", ""))
		}
	}
	list := func(more ...string) (items []struct {
		Item    string
		Decided *struct{ By, Reason string }
	}) {
		t.Helper()
		out, err := n.try(auditor, append([]string{n.program, "quarantine", "list", "--json"}, more...)...)
		check(t, err)
		check(t, json.Unmarshal([]byte(out), &items))
		return items
	}
	n.until("fifty items", func() bool { return len(list()) == 50 })
	as := []string{"--as", "dora", "--reason", "host files", "--sign", key}
	call := func(code int, args ...string) string {
		t.Helper()
		out, err := n.try(auditor, append([]string{n.program, "quarantine"}, args...)...)
		if got := fmt.Sprint(err); err != nil && got != fmt.Sprintf("exit status %d", code) || err == nil && code != 0 {
			t.Fatalf("%v: %v, want %d: %s", args, err, code, out)
		}
		return out
	}
	if out := call(2, append([]string{"reject", "--rule", "sec.shell.pipeline"}, as...)...); !strings.Contains(out,
		"add --count 20") {
		t.Errorf("without a count: %s", out)
	}
	call(2, append([]string{"reject", "--rule", "sec.shell.pipeline", "--count", "19"}, as...)...)
	if len(list()) != 50 {
		t.Fatal("another count decided on some")
	}
	call(0, append([]string{"reject", "--rule", "sec.shell.pipeline", "--count", "20"}, as...)...)
	call(0, append([]string{"reject", "--rule", "sec.paths", "--count", "20"}, as...)...)
	call(0, append(append([]string{"reject"}, devices...), as...)...)
	if left := list(); len(left) != 0 {
		t.Errorf("left are %+v", left)
	}
	all := list("--all")
	if len(all) != 50 {
		t.Fatalf("%d of them", len(all))
	}
	for _, it := range all {
		if it.Decided == nil || it.Decided.By != "dora" {
			t.Errorf("%s: %+v", it.Item, it.Decided)
		}
	}
	if out := call(0, "show", devices[0]); !strings.Contains(out, "dora ended it for good") ||
		!strings.Contains(out, "host files") || strings.Contains(out, "quarantine release") {
		t.Errorf("show says %s", out)
	}
	sigs, err := filepath.Glob(filepath.Join(n.dir, spool.DirOrdersDone, "*.sig"))
	if err != nil || len(sigs) != 50 {
		t.Errorf("%d signatures, %v", len(sigs), err)
	}
}
