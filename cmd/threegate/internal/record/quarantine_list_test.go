package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// jobID is the id of an item whose last letter is that.
func jobID(letter string) string { return "j01m7y2bdpdcrsgyvat4hpvd7t" + letter }

// refusedFour puts a result and three requests into the quarantine, an hour apart; the reasons of one can't be read.
func refusedFour(t *testing.T) string {
	t.Helper()
	node := newNode(t)
	for i, it := range []struct {
		kind           schemas.Kind
		slug, approver string
		rules          string
	}{
		{schemas.KindRequest, "stats", "alice", "secrets.scan sec.shell.glob"},
		{schemas.KindRequest, "stats-2", "bob", "sec.shell.glob secrets.scan"},
		{schemas.KindResult, "stats", "alice", "secrets.scan"},
	} {
		r := quarantine.Reasons{Kind: it.kind, RequestID: "TR-20260209-160501Z-" + it.slug, ApprovedBy: it.approver, Inbox: "default",
			RefusedAt: now.Add(time.Duration(i-5) * time.Hour)}
		for rule := range strings.FieldsSeq(it.rules) {
			r.Findings = append(r.Findings, finding("", rule, 1))
		}
		refused(t, node, jobID(string('a'+rune(i))), r)
	}
	must(t, os.Mkdir(filepath.Join(node, spool.DirQuarantineRequests, jobID("d")), 0o700))
	return node
}

func TestQuarantineList(t *testing.T) {
	node := refusedFour(t)
	for args, want := range map[string]string{
		"":                   "abcd",
		"--kind result":      "c",
		"--rule secrets":     "abc",
		"--rule secret":      "",
		"--rule sec.shell.":  "ab",
		"--approver bob":     "b",
		"--inbox default":    "abc",
		"--inbox other":      "",
		"--since 4h":         "bc",
		"--limit 9":          "abcd",
		"--limit 3":          "abc",
		"--limit 3 --page 2": "d",
		"--page 99999":       "",
		"--limit 2 --page 2": "cd",
	} {
		var items []struct{ Item string }
		must(t, json.Unmarshal([]byte(say(t, node, strings.Fields("quarantine list --json "+args)...)), &items))
		got := map[string]bool{}
		for _, it := range items {
			got[it.Item] = true
		}
		for _, letter := range "abcd" {
			if id := jobID(string(letter)); got[id] != strings.ContainsRune(want, letter) {
				t.Errorf("%q: item %c is listed: %v", args, letter, got[id])
			}
		}
	}
	if _, err := run(node, "quarantine", "list", "--page", "-1"); err == nil {
		t.Error("a negative page")
	}
	var groups []struct {
		Count int
		Slug  string
		Items []string
		First time.Time
		Last  time.Time
	}
	must(t, json.Unmarshal([]byte(say(t, node, "quarantine", "list", "--group", "--json")), &groups))
	if len(groups) != 3 || groups[0].Count != 2 || groups[0].Slug != "stats" || len(groups[0].Items) != 2 ||
		!groups[0].Last.After(groups[0].First) {
		t.Errorf("groups: %+v", groups)
	}
}

// TestShowFindings: each finding is shown at its line of its file, hidden characters spelled out; of an item with a
// secret no line is.
func TestShowFindings(t *testing.T) {
	node := newNode(t)
	item := jobID("a")
	r := quarantine.Reasons{Kind: schemas.KindResult, Findings: []schemas.Finding{
		finding("", "a.b", 1), finding("out/d/x.csv", "a.b", 2), finding("out/link/passwd", "a.b", 1), finding("stdout", "a.b", 2),
		finding("../../etc/passwd", "a.b", 1)}}
	dir := refused(t, node, item, r)
	put(t, filepath.Join(dir, "result.md"), "one\n")
	put(t, filepath.Join(dir, "out/d/x.csv"), "a\nb\x1b[2J\nc\n")
	put(t, filepath.Join(dir, "stdout"), "first\nsecond\n")
	must(t, os.Symlink("/etc", filepath.Join(dir, "out", "link")))
	got := say(t, node, "quarantine", "show", item)
	for _, want := range []string{"result.md:1: blocking a.b: finding 1: it is bad\n    1 | one",
		"out/d/x.csv:2: blocking a.b: finding 2: it is bad\n    2 | b⟦1B⟧[2J", "stdout:2: blocking a.b: finding 4",
		"2 | second", "out/link/passwd:1: blocking a.b: finding 3: it is bad\n    1 | [masked]",
		"../../etc/passwd:1: blocking a.b: finding 5: it is bad\n    1 | [masked]"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	r.Findings = append(r.Findings, finding("", "secrets.scan", 0))
	refused(t, node, item, r)
	if got := say(t, node, "quarantine", "show", item); strings.Contains(got, "second") || !strings.Contains(got, "finding 6") {
		t.Errorf("with a secret:\n%s", got)
	}
}
