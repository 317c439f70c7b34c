package record

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
)

var refusedAt = time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC)

func item(id, kind, request, approver string, rules ...string) quarantine.Item {
	r := &quarantine.Reasons{RequestID: request, ApprovedBy: approver, Inbox: "default",
		RefusedAt: refusedAt.Add(time.Duration(len(id)) * time.Hour)}
	for _, rule := range rules {
		r.Findings = append(r.Findings, schemas.Finding{Rule: rule, Severity: schemas.SeverityBlocking})
	}
	return quarantine.Item{ID: id, Kind: schemas.Kind(kind), Reasons: r}
}

func some() []quarantine.Item {
	return []quarantine.Item{
		item("j1", "request", "TR-20260209-160501Z-stats", "alice", "secrets.scan", "sec.shell.glob"),
		item("j22", "request", "TR-20260209-160502Z-stats-2", "bob", "sec.shell.glob", "secrets.scan"),
		item("j333", "result", "TR-20260209-160503Z-stats", "alice", "secrets.scan"),
		{ID: "j4444", Kind: schemas.KindRequest},
	}
}

func TestListFilters(t *testing.T) {
	for _, c := range []struct {
		f    listFlags
		want string
	}{
		{listFlags{}, "j1 j22 j333 j4444"},
		{listFlags{rule: "secrets"}, "j1 j22 j333"},
		{listFlags{rule: "secret"}, ""},
		{listFlags{rule: "sec.shell.glob"}, "j1 j22"},
		{listFlags{rule: "sec.shell.", approver: "bob"}, "j22"},
		{listFlags{inbox: "other"}, ""},
		{listFlags{from: refusedAt.Add(3 * time.Hour)}, "j22 j333"},
	} {
		var got []string
		for _, it := range some() {
			if c.f.wants(it) {
				got = append(got, it.ID)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v, want %s", c.f, got, c.want)
		}
	}
}

func TestListPages(t *testing.T) {
	list := []int{1, 2, 3, 4, 5}
	for _, c := range []struct {
		page, limit, n int
		rest           string
	}{
		{0, 0, 5, ""}, {0, 9, 5, ""}, {0, 2, 2, "1 to 2 of 5; --page 2 shows more"},
		{2, 2, 2, "3 to 4 of 5; --page 3 shows more"}, {3, 2, 1, "5 to 5 of 5"},
		{1 << 40, 2, 0, "6 to 5 of 5"},
	} {
		got, rest := paged(listFlags{page: c.page, limit: c.limit}, list)
		if len(got) != c.n || rest != c.rest {
			t.Errorf("page %d of %d: %v, %q", c.page, c.limit, got, rest)
		}
	}
	if err := (&listFlags{page: -1}).check(refusedAt); err == nil {
		t.Error("a negative page")
	}
}

func TestGroups(t *testing.T) {
	all := groupsOf(some())
	if len(all) != 3 || all[0].Count != 2 || all[0].Slug != "stats" || strings.Join(all[0].Items, " ") != "j1 j22" ||
		!all[0].Last.After(all[0].First) {
		t.Errorf("%+v", all)
	}
}

// Each finding is shown at its line of its file, hidden characters spelled out; of an item with a
// secret no line is.
func TestShowFindings(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("result.md", "one\n")
	write("out/d/x.csv", "a\nb\x1b[2J\nc\n")
	write("stdout", "first\nsecond\n")
	if err := os.Symlink("/etc", filepath.Join(dir, "out", "link")); err != nil {
		t.Fatal(err)
	}
	found := func(file, rule string, line int) schemas.Finding {
		return schemas.Finding{Rule: rule, Severity: schemas.SeverityBlocking, File: file, Line: line, Message: "it is bad",
			Excerpt: "[masked]"}
	}
	it := quarantine.Item{Dir: dir, Kind: schemas.KindResult, Reasons: &quarantine.Reasons{Findings: []schemas.Finding{
		found("", "a.b", 1), found("out/d/x.csv", "a.b", 2), found("out/link/passwd", "a.b", 1), found("stdout", "a.b", 2),
		found("../../etc/passwd", "a.b", 1)}}}
	show := func() string {
		t.Helper()
		var out bytes.Buffer
		a := &app{cli.New(nil, &out, &out)}
		if err := a.showFindings(it); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	got := show()
	for _, want := range []string{"result.md:1: blocking a.b: finding 1: it is bad\n    1 | one",
		"out/d/x.csv:2: blocking a.b: finding 2: it is bad\n    2 | b⟦1B⟧[2J", "stdout:2: blocking a.b: finding 4",
		"2 | second", "out/link/passwd:1: blocking a.b: finding 3: it is bad\n    1 | [masked]",
		"../../etc/passwd:1: blocking a.b: finding 5: it is bad\n    1 | [masked]"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	it.Reasons.Findings = append(it.Reasons.Findings, found("", "secrets.scan", 0))
	if got := show(); strings.Contains(got, "second") || !strings.Contains(got, "finding 6") {
		t.Errorf("with a secret:\n%s", got)
	}
}
