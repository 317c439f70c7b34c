package spool_test

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

const halfDone = "j01m7xq6ve9pemrvrx5czecqaf3"

// halfClaim makes a claim in the making by hand.
func halfClaim(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	mustNot(t, spool.Init(dir))
	hidden := filepath.Join(dir, "spool/claimed", "."+halfDone)
	mustNot(t, os.MkdirAll(filepath.Join(hidden, "raw"), 0o700))
	for name, data := range files {
		p := filepath.Join(hidden, name)
		mustNot(t, os.MkdirAll(filepath.Dir(p), 0o700))
		if name == "intent" {
			mustNot(t, os.Symlink(data, p))
			continue
		}
		mustNot(t, os.WriteFile(p, []byte(data), 0o600))
	}
	return dir
}

func openAt(t *testing.T, dir string) *node {
	t.Helper()
	n := &node{t: t, dir: dir, inbox: filepath.Join(dir, spool.DefaultInbox)}
	n.open()
	return n
}

func TestHalfDoneClaims(t *testing.T) {
	name := func(text string) string { return "intent," + url.PathEscape(text) }
	const (
		head   = "1\n2026-02-09T00:00:00Z\ndefault\n8\n/nowhere"
		intent = head + "TR-a.md"
	)
	for name, c := range map[string]struct {
		files map[string]string
		rules []string // nil: nothing was claimed
	}{
		"empty":          {map[string]string{}, nil},
		"only an intent": {map[string]string{"intent": intent}, nil},
		"request taken":  {map[string]string{"intent": intent, "raw/request.md": "x"}, []string{}},
		"half copied": {map[string]string{"intent": intent, "raw/request.md": "x", "request.md": "",
			"inputs/a": "other", "job.json": "{"}, []string{}},
		"temporary left": {map[string]string{"intent": intent, "raw/request.md": "x", "request.md": "x",
			".job.json.tmp": "{"}, []string{}},
		"unreadable intent":   {map[string]string{"intent": "{", "raw/request.md": "x"}, []string{"spool.job.damaged"}},
		"intent without name": {map[string]string{"intent": head, "raw/request.md": "x"}, []string{"spool.job.damaged"}},
		"intent of a newer": {map[string]string{"intent": "2" + intent[1:], "raw/request.md": "x"},
			[]string{"spool.job.damaged"}},
		"no link":   {map[string]string{"intent/x": "x", "raw/request.md": "x"}, []string{"spool.job.damaged"}},
		"no intent": {map[string]string{"raw/request.md": "x"}, []string{"spool.job.damaged"}},
		"any bytes": {map[string]string{"intent": head + "TR-\xff\n\n.md", "raw/request.md": "x"},
			[]string{"spool.name"}},
		"a name for the text": {map[string]string{name(intent): "", "raw/request.md": "x"}, []string{}},
		"only that name":      {map[string]string{name(intent): ""}, nil},
		"any bytes in a name": {map[string]string{name(head + "TR-\xff\n\n.md"): "", "raw/request.md": "x"},
			[]string{"spool.name"}},
		"a damaged name":      {map[string]string{"intent,1%0": "", "raw/request.md": "x"}, []string{"spool.job.damaged"}},
		"nothing but a comma": {map[string]string{"intent,": "", "raw/request.md": "x"}, []string{"spool.job.damaged"}},
		"made, not used":      {map[string]string{".intent.tmp": "", "raw/request.md": "x"}, []string{"spool.job.damaged"}},
		"a name out of place": {map[string]string{"intent": head + "TR-/../../etc/x.md", "raw/request.md": "x"},
			[]string{"spool.name"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := openAt(t, halfClaim(t, c.files))
			jobs, err := n.Jobs(spool.StateClaimed)
			mustNot(t, err)
			if c.rules == nil {
				if es, err := os.ReadDir(filepath.Join(n.dir, "spool/claimed")); err != nil || len(es) > 0 {
					t.Errorf("left: %v, %v", es, err)
				}
				return
			}
			if len(jobs) != 1 || jobs[0].ID != halfDone || jobs[0].Damage != nil || !slices.Equal(rules(jobs[0]), c.rules) {
				t.Fatalf("jobs: %+v", jobs)
			}
			if raw, err := jobs[0].Request(); err != nil || string(raw) != "x" || len(jobs[0].Inputs()) > 0 {
				t.Errorf("request %q, %v", raw, err)
			}
			n.check()
		})
	}
}

// TestAHalfDoneClaimWithoutItsRequest can't come of any crash: it is kept for a
// person to look at, and hinders nobody.
func TestAHalfDoneClaimWithoutItsRequest(t *testing.T) {
	n := openAt(t, halfClaim(t, map[string]string{"raw/inputs/x": "x"}))
	n.put("TR-b.md", "b")
	if st := n.Stuck(); len(st) != 1 || !st[0].InNode || !strings.Contains(st[0].Reason, halfDone) {
		t.Errorf("stuck: %+v", st)
	}
	n.claimOne()
}

func TestLeftoversInJobsAreRemoved(t *testing.T) {
	n := newNode(t)
	n.put("TR-a.md", "a")
	j := n.claimOne()
	mustNot(t, j.Move(spool.StateAdmitted))
	mustNot(t, os.WriteFile(j.Path(".outcome.json.tmp"), []byte("{"), 0o600))
	n.reopen()
	n.check()
}

// TestRulesSayEverything keeps the catalogue's part of this package complete.
func TestRulesSayEverything(t *testing.T) {
	count := 0
	for _, r := range schemas.Rules() {
		if !strings.HasPrefix(r.ID, "spool.") && r.ID != "request.duplicate" && r.ID != "request.cancelled" &&
			r.ID != "request.conflict" {
			continue
		}
		count++
		if r.Level != schemas.SeverityBlocking || len(r.Applies) == 0 || r.Title == "" || r.Why == "" || r.Bad == "" ||
			r.Good == "" || r.Hint == "" || r.Source == "" {
			t.Errorf("rule %s is incomplete", r.ID)
		}
	}
	if count < 18 {
		t.Errorf("only %d rules", count)
	}
}

// TestTemporariesOfRecordsGo: what a crash left half written beside orders and signers is removed by the next start.
func TestTemporariesOfRecordsGo(t *testing.T) {
	n := newNode(t)
	var left []string
	for _, dir := range []string{spool.DirOrdersDone, spool.DirSigners} {
		path := filepath.Join(n.dir, dir, durable.Temporary(sum(dir)))
		mustNot(t, os.WriteFile(path, []byte("half"), 0o600))
		left = append(left, path)
	}
	n.reopen()
	for _, path := range left {
		if exists(path) {
			t.Errorf("%s is left", path)
		}
	}
}
