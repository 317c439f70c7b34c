package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	b := newBench(t)
	const good = "diff --git a/x.go b/x.go\nindex 1..2 100644\n--- a/x.go\n+++ b/x.go\n@@ -1 +1,2 @@\n a\n+// TODO: b\n"
	todo := "version: 1\nast: {language: go}\nvalidators: [{rule: code.todo.blockers, enforcement: %}, {rule: build.must.pass, enforcement: blocking}]\n"
	for _, tt := range []struct {
		name, patch, registry string
		code                  int
		want                  string
	}{
		{"no rules", good, "version: 1\n", exitOK, "1 files, held to: sec.paths.sandbox\n"},
		{"blocks", good, strings.Replace(todo, "%", "blocking", 1), exitReject, "blocking: \"x.go\", line 2: a TODO is added"},
		{"warns", good, strings.Replace(todo, "%", "warning", 1), exitOK, "not looked at: build.must.pass\n"},
		{"leaves", strings.ReplaceAll(good, "x.go", "../x.go"), "version: 1\n", exitReject, "(sec.paths.sandbox)"},
		{"words", "hello\n" + good, "version: 1\n", exitTrouble, "not as git diff writes it: line 1"},
		{"nothing", "", "version: 1\n", exitOK, "0 files"},
	} {
		var out, errs bytes.Buffer
		args := []string{"judge", b.write("changes.patch", tt.patch), "--registry", b.write("registry.yaml", tt.registry)}
		if code := run(args, nil, &out, &errs); code != tt.code || !strings.Contains(out.String()+errs.String(), tt.want) {
			t.Errorf("%s: code %d, %s%s", tt.name, code, out.String(), errs.String())
		}
	}
}
