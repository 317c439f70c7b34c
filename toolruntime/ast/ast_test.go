package ast

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// TestMain puts the programs of make ast-tools before all others.
func TestMain(m *testing.M) {
	bin, err := filepath.Abs("../../build/ast/bin")
	if err == nil {
		_, err = os.Stat(filepath.Join(bin, "ast-grep"))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\nhint: make ast-tools\n", err)
		os.Exit(1)
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("PATH", bin+":"+filepath.Dir(goTool)+":/usr/bin:/bin")
	os.Exit(m.Run())
}

type bench struct {
	t   *testing.T
	w   *workspace.Workspace
	reg *registry.Registry
	// scratch is where builds leave what the next one finds.
	scratch string
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	w, err := workspace.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, w: w, reg: registry.Default()}
	for name, content := range files {
		b.write(name, content)
	}
	return b
}

func (b *bench) write(name, content string) {
	b.t.Helper()
	name = filepath.Join(b.w.Dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(name string) string {
	b.t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.w.Dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(raw)
}

// call makes a call as a host does, and returns the result as JSON and the error's code.
func (b *bench) call(name, args string) (string, *contract.Error) {
	b.t.Helper()
	for _, t := range Tools(b.w, b.reg, b.scratch) {
		if t.Name != name {
			continue
		}
		c, err := t.Prepare([]byte(args))
		if err != nil {
			return "", contract.AsError(err)
		}
		result, err := c.Run(context.Background())
		raw, e := json.Marshal(result)
		if e != nil {
			b.t.Fatal(e)
		}
		if err != nil {
			return string(raw), contract.AsError(err)
		}
		return string(raw), nil
	}
	b.t.Fatalf("there is no %s", name)
	return "", nil
}

// nodes calls ast_query, and prints what it finds in short.
func (b *bench) nodes(where string) string {
	b.t.Helper()
	raw, e := b.call("ast_query", `{"where":`+where+`}`)
	if e != nil {
		return e.Error()
	}
	var found queryResult
	if err := json.Unmarshal([]byte(raw), &found); err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, n := range found.Nodes {
		text := b.read(n.File)[n.Span.Start:n.Span.End]
		flags := ""
		if n.Exported {
			flags += "+"
		}
		if n.Documented {
			flags += "!"
		}
		if n.Type != typeMatch && !strings.Contains(text, n.Name) {
			b.t.Errorf("%+v is %q", n, text)
		}
		out = append(out, fmt.Sprintf("%s:%d:%s%s", n.File, n.Line, n.Name, flags))
	}
	return strings.Join(out, " ")
}

var samples = map[string]string{
	"a.go": "// Package a is.\npackage a\n\nimport \"fmt\"\n\n// F is.\nfunc F() { fmt.Println(); panic(1) }\n\ntype T struct{}\n\n" +
		"func (t *T) M() {}\nfunc (t *hidden) N() {}\nfunc inner() {}\n",
	"cmd/main.go": "package main\n\nfunc Exported() { panic(1) }\n",
	"a.rs": "use std::io;\nuse crate::db::Conn;\n/// Docs.\n#[inline]\npub fn auth_login(x: u32) -> u32 { panic!(\"x\"); x.unwrap() }\n" +
		"pub(crate) fn b() {}\nstruct S { a: i32 }\nimpl S {\n    pub fn m(&self) { self.a.unwrap(); }\n}\n" +
		"#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() { None.unwrap(); panic!() }\n    pub fn helper() {}\n}\n",
	"a.py": "import os, sys as s\nfrom .x import y\nfrom a.b import c\n\ndef pub(a):\n    \"\"\"doc\"\"\"\n    def nested(): pass\n\n" +
		"class C:\n    def m(self): pass\n    def _p(self): pass\n\nasync def q(): pass\n",
	"a.ts": "import {x} from \"../db\";\nimport fs = require('fs');\n/** docs */\nexport function f(a: number): string { return \"\" }\n" +
		"export const g = (x: number) => 1;\nexport default class K { m() {} }\ninterface I { z(): void }\nfunction h() {}\n",
	"a.tsx":          "export const V = () => <div>{1}</div>;\n",
	"a.js":           "const p = require('path');\nexport * from './b.js';\nfunction f() {}\n",
	"a.c":            "#include <stdio.h>\nstruct s { int a; };\nstatic int *f(int a) { return 0; }\n",
	"a.cpp":          "#include \"x.h\"\nclass K { void m() {} };\nvoid K::q(int a) { }\n",
	"vendor/v.go":    "package v\n",
	".hidden/h.go":   "package h\n",
	"README.md":      "no code\n",
	"sgconfig.yml":   "ruleDirs: [/nowhere]\ncustomLanguages: {evil: {libraryPath: /tmp/evil.so, extensions: [go]}}\n",
	".gitignore":     "*\n",
	"name with 'a'$": "",
}

func TestQuery(t *testing.T) {
	b := newBench(t, samples)
	for where, want := range map[string]string{
		`{"type":"fn","language":"go"}`:                                         "a.go:7:F+! a.go:11:M+ a.go:12:N a.go:13:inner cmd/main.go:3:Exported",
		`{"type":"type","language":"go"}`:                                       "a.go:9:T+",
		`{"type":"import","language":"go"}`:                                     "a.go:4:fmt",
		`{"type":"fn","language":"rust"}`:                                       "a.rs:5:auth_login+! a.rs:6:b a.rs:9:m+ a.rs:14:t a.rs:15:helper",
		`{"type":"type","language":"rust"}`:                                     "a.rs:7:S",
		`{"type":"import","language":"rust"}`:                                   "a.rs:1:std::io a.rs:2:crate::db::Conn",
		`{"type":"fn","language":"python"}`:                                     "a.py:5:pub+! a.py:7:nested a.py:10:m+ a.py:11:_p a.py:13:q+",
		`{"type":"type","language":"python"}`:                                   "a.py:9:C",
		`{"type":"import","file_glob":"*.py"}`:                                  "a.py:1:os a.py:1:sys a.py:2:.x a.py:3:a.b",
		`{"type":"fn","file_glob":"a.ts"}`:                                      "a.ts:4:f+! a.ts:5:g+ a.ts:6:m a.ts:8:h",
		`{"type":"type","file_glob":"a.ts"}`:                                    "a.ts:6:K a.ts:7:I",
		`{"type":"import","file_glob":"a.js"}`:                                  "a.js:1:path a.js:2:./b.js",
		`{"type":"fn","file_glob":"*.tsx"}`:                                     "a.tsx:1:V+",
		`{"type":"fn","language":"c"}`:                                          "a.c:3:f",
		`{"file_glob":"a.cpp"}`:                                                 "a.cpp:1:x.h a.cpp:2:K a.cpp:2:m a.cpp:3:K::q",
		`{"name_like":"auth*"}`:                                                 "a.rs:5:auth_login+!",
		`{"type":"fn","exported":true,"file_glob":"a.{go,rs}","name_like":"?"}`: "a.go:7:F+! a.go:11:M+ a.rs:9:m+",
		`{"pattern":"$X.unwrap()","language":"rust"}`:                           "a.rs:5:x.unwrap() a.rs:9:self.a.unwrap() a.rs:14:None.unwrap()",
		`{"pattern":"$X.unwrap()"}`:                                             "E_VALIDATION_FAIL: a pattern goes with a language and with the type match",
		`{"file_glob":"../**"}`:                                                 `E_POLICY: the pattern "../**" leaves the workspace`,
		`{"file_glob":"none/**"}`:                                               "",
	} {
		if got := b.nodes(where); got != want {
			t.Errorf("%s:\n got %s\nwant %s", where, got, want)
		}
	}
	raw, _ := b.call("ast_query", `{"where":{"type":"fn"},"limit":2}`)
	if !strings.Contains(raw, `"truncated":true`) || strings.Count(raw, `"id"`) != 2 {
		t.Errorf("with a limit: %s", raw)
	}
}

func TestGenerate(t *testing.T) {
	b := newBench(t, samples)
	if raw, e := b.call("ast_generate", `{"paths":["**"]}`); e != nil || raw != `{"parsed_files":9,"errors":[],"truncated":false}` {
		t.Errorf("%s, %v", raw, e)
	}
	// What one parser alone would miss is an error, and what only looks wrong is none.
	for name, tt := range map[string]struct {
		text string
		line int // 0 is no error, -1 a file that is not parsed
	}{
		"missing.go": {"package a\nfunc f() { return 1\n", 2},
		"missing.py": {"x = 1\nx = (1\n", 2},
		"print.py":   {"print 1\n", 1},
		"await.py":   {"#!/usr/bin/python3\nasync def f():\n    match x:\n        case 1: pass\n", 0},
		"missing.js": {"let x = (1;\n", 1},
		"missing.ts": {"let a = 1;\nfunction f(a: number { }\n", -1},
		"types.ts":   {"enum A { B }\nfunction f<T extends A>(a: T): a is T { return true }\n", 0},
		"return.js":  {"#!/usr/bin/env node\nreturn;\n", 0},
		"module.js":  {"import a from 'a';\nawait a;\nexport default 1;\n", 0},
		"badmod.mjs": {"import a from 'a';\nlet b = ;\n", 2},
		"jsx.js":     {"export const V = () => <div/>;\n", 0},
		"badjsx.jsx": {"export const V = () => <div>{ ;</div>;\nlet = ;", 1},
		"error.rs":   {"fn f() {\n    let x = ;\n}\n", 2},
		"deep.py":    {"x = " + strings.Repeat("[", 100_000) + "\n", -1},
		"deep.go":    {"package a\nvar x = " + strings.Repeat("(", 1<<20) + "\n", 2},
		"utf8.go":    {"package a\n\xff\n", -1},
		"nul.py":     {"x = '\x00'\n", -1},
		"bom.go":     {"\ufeffpackage a\r\n", 0},
		"bom.js":     {"\ufefflet a = 1;\r\n", 0},
		"large.go":   {"package a\n" + strings.Repeat("func f() { x() }\n", 600_000), -1},
		"empty.py":   {"", 0},
	} {
		b := newBench(t, map[string]string{name: tt.text})
		raw, e := b.call("ast_generate", `{"paths":["*"]}`)
		var got generateResult
		if e != nil || json.Unmarshal([]byte(raw), &got) != nil {
			t.Errorf("%s: %v", name, e)
			continue
		}
		switch ok := len(got.Errors) == 0; {
		case ok != (tt.line == 0), ok == (got.ParsedFiles == 0):
			t.Errorf("%s: %.300s", name, raw)
		case !ok && tt.line > 0 && got.Errors[0].Line != tt.line:
			t.Errorf("%s: line %d: %.300s", name, tt.line, raw)
		}
	}
}

// TestDeep shows that code which is too deep for a program ends no call.
func TestDeep(t *testing.T) {
	b := newBench(t, map[string]string{"a.rs": "fn f() {" + strings.Repeat("{", 200_000),
		"b.rs": "fn f() {" + strings.Repeat("{", 100_000) + strings.Repeat("}", 100_000) + "}\n",
		"c.ts": "let x = " + strings.Repeat("(", 300_000) + "1" + strings.Repeat(")", 300_000), "d.rs": "fn good() {}\n"})
	if raw, e := b.call("ast_generate", `{"paths":["*"]}`); e != nil {
		t.Errorf("%s, %v", raw, e)
	}
	if got := b.nodes(`{"type":"fn","name_like":"good"}`); got != "d.rs:1:good" {
		t.Errorf("got %s", got)
	}
}

func TestRustfmt(t *testing.T) {
	bin := t.TempDir()
	fake := "#!/bin/sh\ncat >/dev/null\nprintf 'error: expected one of `;`, found `}`\\n --> <stdin>:3:27\\n' >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(bin, "rustfmt"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	b := newBench(t, map[string]string{"a.rs": "fn f() {}"})
	if raw, e := b.call("ast_generate", `{"paths":["*"]}`); e != nil || !strings.Contains(raw, "\"line\":3,\"message\":\"expected one of `;`") {
		t.Errorf("%s, %v", raw, e)
	}
}

// TestIncremental shows that a file is parsed again when it has changed, and when one asks for it.
func TestIncremental(t *testing.T) {
	b := newBench(t, map[string]string{"a.go": "package a\n"})
	gen := Tools(b.w, b.reg, b.scratch)[0]
	parsed := func(args string) int {
		c, err := gen.Prepare([]byte(args))
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return r.(generateResult).ParsedFiles
	}
	for i, text := range []string{"package a\n", "package a\n", "package\n", "package\n", "package b\n"} {
		b.write("a.go", text)
		if got, want := parsed(`{"paths":["*.go"]}`), map[bool]int{true: 1, false: 0}[len(text) > 8]; got != want {
			t.Errorf("%d: %q: %d", i, text, got)
		}
	}
	if got := parsed(`{"paths":["*.go"],"incremental":false}`); got != 1 {
		t.Errorf("%d", got)
	}
}

func TestValidate(t *testing.T) {
	b := newBench(t, samples)
	for rules, want := range map[string]string{
		`{"id":"code.fn.docs.exported","where":{"language":"go"}}`:                        "E_VALIDATION_FAIL a.go:11",
		`{"id":"code.fn.docs.exported","enforcement":"warning"}`:                          "a.go:11 a.py:10 a.py:13 a.rs:9 a.ts:5 a.tsx:1",
		`{"id":"code.no.panic.in.lib","enforcement":"suggestion"}`:                        "a.go:7 a.rs:5",
		`{"id":"code.no.unwrap"}`:                                                         "E_VALIDATION_FAIL a.rs:5 a.rs:9",
		`{"id":"code.ast.parsed"}`:                                                        "",
		`{"id":"code.mod.import.rules"}`:                                                  "",
		`{"id":"none"}`:                                                                   "E_VALIDATION_FAIL",
		`{"id":"docs","where":{"type":"type","exported":true},"must_have":["docstring"]}`: "E_VALIDATION_FAIL a.go:9",
		`{"id":"docs","where":{"type":"fn"},"must_have":["x"]}`:                           "E_VALIDATION_FAIL",
		`{"id":"no","where":{"pattern":"fmt.Println($$$)","language":"go"}}`:              "E_VALIDATION_FAIL a.go:7",
		`{"id":"no","enforcement":"warning","where":{"type":"import","name_like":"fmt"}}`: "a.go:4",
	} {
		raw, e := b.call("ast_validate", `{"rules":[`+rules+`]}`)
		var got []string
		if e != nil {
			got = append(got, string(e.Code))
		}
		var out validateResult
		if err := json.Unmarshal([]byte(raw), &out); raw != "" && err != nil {
			t.Fatal(err)
		}
		for _, v := range out.Violations {
			got = append(got, fmt.Sprintf("%s:%d", v.File, v.Line))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s:\n got %v\nwant %s\n%v", rules, got, want, e)
		}
	}
}
