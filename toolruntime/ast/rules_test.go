package ast

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

const imports = `version: 1
ast:
  imports:
    - {files: "core/**", deny: ["net/**", "crate::db::**", "django.*", "web/**"], allow: [net/url]}
    - {files: "lib/**", allow: [fmt, strings]}
`

// TestRules shows what is a violation, and that what was there before is none.
func TestRules(t *testing.T) {
	reg, err := registry.Parse([]byte(imports))
	if err != nil {
		t.Fatal(err)
	}
	const docs, panics, unwrap, imp, parsed = "code.fn.docs.exported", "code.no.panic.in.lib", "code.no.unwrap",
		"code.mod.import.rules", "code.ast.parsed"
	for _, tt := range []struct{ rule, path, before, after, want string }{
		{docs, "a.go", "", "package a\n\nfunc F() {}\n", "a.go:3"},
		{docs, "a.go", "package a\nfunc F() {}\n", "package a\n\n\nfunc F() {}\n", ""},
		{docs, "a.go", "package a\nfunc F() {}\n", "package a\nfunc F() {}\nfunc G() {}\n", "a.go:3"},
		{docs, "a.go", "package a\n// F is.\nfunc F() {}\n", "package a\nfunc F() {}\n", "a.go:2"}, // the docs are gone
		{docs, "a_test.go", "", "package a\nfunc F() {}\n", ""},
		{docs, "a.go", "", "package main\nfunc F() {}\n", ""},
		{docs, "a.rs", "", "/// D.\npub fn f() {}\npub fn g() {}\n", "a.rs:3"},
		{docs, "a.rs", "", "#[test]\npub fn g() {}\n", ""},
		{docs, "a.py", "", "def f():\n    'd'\ndef g(): pass\ndef _h(): pass\n", "a.py:3"},
		{docs, "tests/a.py", "", "def g(): pass\n", ""},
		{docs, "a.ts", "", "/** d */\nexport function f() {}\nexport function g() {}\nfunction h() {}\n", "a.ts:3"},
		{docs, "a.txt", "", "func F()", ""},
		{panics, "a.go", "", "package a\nfunc F() { panic(1) }\n", "a.go:2"},
		{panics, "a.go", "package a\nfunc F() { panic(1) }\n", "package a\n\nfunc F() { panic(1) }\n", ""},
		{panics, "a.go", "package a\nfunc F() {\n\tpanic(1)\n}\n", "package a\nfunc F() {\n\tpanic(1)\n\tpanic(1)\n}\n", "a.go:4"},
		{panics, "a.go", "", "package main\nfunc F() { panic(1) }\n", ""},
		{panics, "a_test.go", "", "package a\nfunc F() { panic(1) }\n", ""},
		{panics, "src/a.rs", "", "fn f() { panic!(\"x\"); a.panic(); }\n", "src/a.rs:1"},
		{panics, "src/main.rs", "", "fn f() { panic!(\"x\") }\n", ""},
		{panics, "src/a.rs", "", "#[cfg(test)]\nmod tests {\n fn f() { panic!(\"x\") }\n}\n", ""},
		{unwrap, "src/a.rs", "", "fn f() {\n a.unwrap();\n a.unwrap_or(1);\n}\n", "src/a.rs:2"},
		{unwrap, "src/a.rs", "", "// a.unwrap()\nfn f() { \"a.unwrap()\"; }\n#[test]\n#[ignore]\nfn t() { a.unwrap() }\n", ""},
		{unwrap, "tests/a.rs", "", "fn f() { a.unwrap() }\n", ""},
		{imp, "core/a.go", "", "package a\nimport (\n\t\"net/http\"\n\t\"net/url\"\n\t\"fmt\"\n)\n", "core/a.go:3"},
		{imp, "core/a.go", "package a\nimport \"net/http\"\n", "package a\n\nimport \"net/http\"\n", ""},
		{imp, "b/a.go", "", "package a\nimport \"net/http\"\n", ""},
		{imp, "lib/a.go", "", "package a\nimport \"os\"\nimport \"fmt\"\n", "lib/a.go:2"},
		{imp, "core/a.rs", "", "use crate::db::x::Conn;\nuse std::io;\n", "core/a.rs:1"},
		{imp, "core/a.py", "", "import os, django.db\nfrom django.x import y\n", "core/a.py:1 core/a.py:2"},
		{imp, "core/a.ts", "", "import x from '../web/y';\nimport z from './web/y';\n", "core/a.ts:1"},
		{parsed, "a.go", "package\n", "package a\nfunc\n", "a.go:2"},
		{parsed, "a.go", "", "package a\n", ""},
		{parsed, "a.py", "", "x = (\n", "a.py:1"},
		{parsed, "a.go", "", "package a\n\xff", "a.go:0"},
		{docs, "a.py", "", "\xff", "a.py:0"}, // what can't be looked at is not taken for good
	} {
		f := File{Path: tt.path, After: []byte(tt.after)}
		if tt.before != "" {
			f.Before = []byte(tt.before)
		}
		l, err := Look(context.Background(), []File{f, {Path: "gone.go", Before: []byte("package a\nfunc F() {}\n")}}, tt.rule)
		if err != nil {
			t.Errorf("%s %s: %v", tt.rule, tt.path, err)
			continue
		}
		var got []string
		for _, v := range l.Judge(tt.rule, reg) {
			got = append(got, fmt.Sprintf("%s:%d", v.Path, v.Line))
			if v.Rule != tt.rule || v.Hint == "" || v.Message == "" {
				t.Errorf("%+v", v)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s %s %q: %v, want %s", tt.rule, tt.path, tt.after, got, tt.want)
		}
	}
}

// TestManyPlaces shows that a file made of violations is judged, and not slowly.
func TestManyPlaces(t *testing.T) {
	for name, text := range map[string]string{
		"a.go": "package a\nfunc f() {" + strings.Repeat("panic(1);", 100_000) + "}\n",
		"a.rs": strings.Repeat(" ", 3<<20) + strings.Repeat("\npub fn f() {}", 1_000) + "\n",
	} {
		files := []File{{name, []byte(text), []byte(text + "\n")}}
		l, err := Look(context.Background(), files, "code.no.panic.in.lib", "code.fn.docs.exported")
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range []string{"code.no.panic.in.lib", "code.fn.docs.exported"} {
			if got := l.Judge(rule, registry.Default()); len(got) > 0 {
				t.Errorf("%s %s: %d places, such as %+v", name, rule, len(got), got[0])
			}
		}
	}
}

// TestGuard shows that no tool makes a file that parses one that does not, where the rule blocks.
func TestGuard(t *testing.T) {
	blocking, err := registry.Parse([]byte("version: 1\nvalidators: [{rule: code.ast.parsed, enforcement: blocking}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, before, call, args string
		ok                       bool
	}{
		{"good", "package a\n", "file_write", `{"path":"a.go","content":"package b\n"}`, true},
		{"bad", "package a\n", "file_write", `{"path":"a.go","content":"package\n"}`, false},
		{"bad and new", "", "file_write", `{"path":"a.go","content":"package\n"}`, false},
		{"was bad before", "package\n", "file_write", `{"path":"a.go","content":"func\n"}`, true},
		{"no code", "package a\n", "file_write", `{"path":"a.txt","content":"func\n"}`, true},
		{"a patch", "package a\n", "file_patch", `{"path":"a.go","unified_diff":"--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-package a\n+package\n"}`, false},
	} {
		b := newBench(t, nil)
		if tt.before != "" {
			b.write("a.go", tt.before)
		}
		for _, tool := range Guard(b.w, blocking, workspace.Tools(b.w)) {
			if tool.Name != tt.call {
				continue
			}
			c, err := tool.Prepare([]byte(tt.args))
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Run(context.Background())
			if (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "E_AST_PARSE: \"a.go\", line ") {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		there, err := b.w.Exists("a.go")
		if err != nil {
			t.Fatal(err)
		}
		if !tt.ok && there != (tt.before != "") || !tt.ok && there && b.read("a.go") != tt.before {
			t.Errorf("%s: the file is not as it was", tt.name)
		}
	}
}
