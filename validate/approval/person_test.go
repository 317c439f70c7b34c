package approval_test

import (
	"github.com/threegate/tool-exec/validate/approval"
)

import "testing"

func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"ann.b", "ann.b", true},
		{"ann.b", "Ann.B", true},
		{"ann.b", "Ann.B@x.org", true},
		{"ann.b", "annb", true},
		{"ann.b", "Ann B", true},
		{"ann.b", "ann_b", true},
		{"ann.b", "ａｎｎ．ｂ", true},
		{"ann.b", "аnn.b", true}, // a Cyrillic letter
		{"ann.b", "Änn.B", true},
		{"ann.b", "ann.b＠X.ORG", true},
		{"ann.b", "ann.b+gate@x.org", true},
		{"ann.b", "Bob <ann.b@x.org>", true},
		{"ann.b", "Bob <ann.b@x.org", true},
		{"ann.b", "ann\u200b.b", true}, // with a character of no width
		{"ann.b@x.org", "ann.b@x.org.", true},
		{"STRASSE", "straße", true},
		{"ann.b", "ann.c", false},
		{"ann.b@x.org", "ann.b@y.org", false},
		{"ann.b", "", false},
		{"...", "___", false},
		{"...", "...", true},
		{"@x.org", "@y.org", false},
		{"山田", "山田", true},
		{"山田", "山本", false},
	} {
		if got := approval.Same(c.a, c.b); got != c.want {
			t.Errorf("Same(%q, %q) = %v", c.a, c.b, got)
		}
		if approval.Same(c.b, c.a) != approval.Same(c.a, c.b) {
			t.Errorf("Same(%q, %q) depends on the order", c.a, c.b)
		}
	}
}

func TestMachine(t *testing.T) {
	patterns := []string{"ai", "auto-*", "*-bot"}
	for name, want := range map[string]string{
		"ai": "ai", "A.I.": "ai", "AI@x.org": "ai", "ＡＩ": "ai",
		"auto-approver": "auto-*", "Auto Approver": "auto-*", "auto_approver@x.org": "auto-*",
		"deploy-bot": "*-bot", "deploy.bot+1@x.org": "*-bot", "Nice <deploy-bot@x.org>": "*-bot",
		"Ai Nakamura": "", "talbot": "", "ann.b": "", "": "", "...": "", "aidan": "",
	} {
		if got := approval.Machine(patterns, name); got != want {
			t.Errorf("Machine(%q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzSame(f *testing.F) {
	f.Add("ann.b", "Ann.B@x.org")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !approval.Same(a, a) || approval.Same(a, b) != approval.Same(b, a) {
			t.Fatalf("%q %q", a, b)
		}
		approval.Machine([]string{"a*", "*-b"}, a)
	})
}
