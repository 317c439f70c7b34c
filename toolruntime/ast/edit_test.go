package ast

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func TestReplacePattern(t *testing.T) {
	for _, tt := range []struct {
		name, file, before, pattern, text, after string
		count, skipped                           int
	}{
		{"a call", "a.go", "package a\n\nfunc f() { old(1, g(2)); x.old(3) }\n", "old($A, $B)", "fresh($B, $A)",
			"package a\n\nfunc f() { fresh(g(2), 1); x.old(3) }\n", 1, 0},
		{"one argument", "a.go", "package a\n\nfunc f() { old(1) }\n", "old($A)", "fresh($A, nil)", "package a\n\nfunc f() { fresh(1, nil) }\n", 1, 0},
		{"many arguments", "a.go", "package a\n\nfunc f() { log(1,\n\t\t2,  3); log() }\n", "log($$$A)", "l.Log($$$A)",
			"package a\n\nfunc f() { l.Log(1,\n\t\t2,  3); l.Log() }\n", 2, 0},
		{"bytes are literal", "a.py", "f(1)\n", "f($A)", "g(r'$& $1 \\1 $$ ${A} $a', $A)", "g(r'$& $1 \\1 $$ ${A} $a', 1)\n", 1, 0},
		{"CR LF stays", "a.py", "x = 1\r\nf(1,\r\n  2)\r\n", "f($A, $B)", "g($A,\n$B)", "x = 1\r\ng(1,\r\n2)\r\n", 1, 0},
		{"BOM stays", "a.py", "\ufefff('é')\nf(2)\n", "f($A)", "g($A)", "\ufeffg('é')\ng(2)\n", 2, 0},
		{"no end of line", "a.ts", "let ä = f(1); f(2)", "f($A)", "g($A)", "let ä = g(1); g(2)", 2, 0},
		{"nested ones stay", "a.rs", "fn m() { f(f(1)); }\n", "f($A)", "g($A)", "fn m() { g(f(1)); }\n", 1, 1},
		{"a selector", "a.go", "package a\n\nvar r *http.Request\n\nfunc f() { w(http.StatusOK); if http.StatusOK == x { r.y() } }\n",
			"http.StatusOK", "200", "package a\n\nvar r *http.Request\n\nfunc f() { w(200); if 200 == x { r.y() } }\n", 2, 0},
		{"any selector", "a.go", "package a\n\nfunc f() { w(http.StatusOK); w(a.b.StatusOK) }\n", "$X.StatusOK", "$X.OK",
			"package a\n\nfunc f() { w(http.OK); w(a.b.OK) }\n", 2, 0},
		{"a type", "a.go", "package a\n\nfunc f(r *http.Request) { _ = http.Request{} }\n", "http.Request", "web.Request",
			"package a\n\nfunc f(r *web.Request) { _ = web.Request{} }\n", 2, 0},
		{"lines take the place's indentation", "a.py", "def a():\n    if x:\n        f(\n          1)\n", "f($A)", "g(\n  $A)\n\nh()",
			"def a():\n    if x:\n        g(\n          1)\n\n        h()\n", 1, 0},
		{"tabs and CR LF", "a.go", "package a\r\n\r\nfunc f() {\r\n\told(1)\r\n}\r\n", "old($A)", "if x {\n\tnew($A)\n}",
			"package a\r\n\r\nfunc f() {\r\n\tif x {\r\n\t\tnew(1)\r\n\t}\r\n}\r\n", 1, 0},
		{"a long string stays", "a.go", "package a\n\nfunc f() {\n\told(1)\n}\n", "old($A)", "new(`\n$A`)",
			"package a\n\nfunc f() {\n\tnew(`\n1`)\n}\n", 1, 0},
		{"short strings", "a.py", "def a():\n    f(1)\n", "f($A)", "g(r\"x\", 'y')\nh($A)", "def a():\n    g(r\"x\", 'y')\n    h(1)\n", 1, 0},
		{"quotes in lines", "a.rs", "fn a() {\n    f(1);\n}\n", "f($A)", "g(\"x\",\n    \"y\")", "fn a() {\n    g(\"x\",\n        \"y\");\n}\n", 1, 0},
		{"a quote that goes on", "a.rs", "fn a() {\n    f(1);\n}\n", "f($A)", "g(\"x\ny\")", "fn a() {\n    g(\"x\ny\");\n}\n", 1, 0},
		{"lines behind a name move with it", "a.py", "def a():\n    if x:\n        b()\n        if c:\n            d()\n    e()\n",
			"if x:\n    $$$A", "with y:\n    with z:\n        $$$A",
			"def a():\n    with y:\n        with z:\n            b()\n            if c:\n                d()\n    e()\n", 1, 0},
	} {
		b := newBench(t, map[string]string{tt.file: tt.before, "other.go": "package other\n"})
		raw, e := b.call("ast_edit", fmt.Sprintf(`{"operation":"replace_pattern","text":%s,"where":{"pattern":%s,"language":%q,`+
			`"file_glob":%q}}`, quote(tt.text), quote(tt.pattern), languageOf(tt.file), tt.file))
		want := fmt.Sprintf(`{"edited":true,"files_touched":[%q],"replacements":%d,"skipped":%d}`, tt.file, tt.count, tt.skipped)
		if got := b.read(tt.file); e != nil || got != tt.after || raw != want {
			t.Errorf("%s: %v\n got %q\nwant %q\n%s", tt.name, e, got, tt.after, raw)
		}
	}
}

// TestEditRefuses shows that a call which fails changes nothing.
func TestEditRefuses(t *testing.T) {
	files := map[string]string{"a.go": "package a\n\nfunc f() { old(1) }\n", "b.go": "package a\n\nfunc g() { old(2) }\n",
		"bad.go": "package\n", "r.rs": "fn f() {}\n", "a.py": "def a():\n    f()\n    if x:\n        b()\n        c(\"\"\"\n\"\"\")\n"}
	pattern := func(glob, pattern, text string) string {
		return fmt.Sprintf(`{"operation":"replace_pattern","text":%s,"where":{"pattern":%s,"language":"go","file_glob":%q}}`,
			quote(text), quote(pattern), glob)
	}
	for name, tt := range map[string]struct {
		args string
		code contract.Code
	}{
		"no match":            {pattern("?.go", "none($A)", "x($A)"), contract.ASTEdit},
		"the same":            {pattern("?.go", "old($A)", "old($A)"), contract.ASTEdit},
		"does not parse":      {pattern("?.go", "old($A)", "new($A"), contract.ASTParse},
		"unknown name":        {pattern("?.go", "old($A)", "new($B)"), contract.Validation},
		"double dollar":       {pattern("?.go", "old($A)", "new($$A)"), contract.Validation},
		"leaves":              {pattern("../*.go", "old($A)", "new($A)"), contract.Policy},
		"no pattern":          {`{"operation":"replace_pattern","text":"x"}`, contract.Validation},
		"no language":         {`{"operation":"replace_pattern","text":"x","where":{"pattern":"y"}}`, contract.Validation},
		"no text":             {`{"operation":"replace_pattern","where":{"pattern":"y","language":"go"}}`, contract.Validation},
		"unknown operation":   {`{"operation":"x"}`, contract.Validation},
		"node without target": {`{"operation":"replace_node","text":"x"}`, contract.Validation},
		"two targets":         {`{"operation":"replace_node","text":"x","where":{"type":"fn"},"target_node_id":"n1"}`, contract.Validation},
		"many nodes":          {`{"operation":"replace_node","text":"x","where":{"type":"fn"}}`, contract.ASTEdit},
		"no such node":        {`{"operation":"replace_node","text":"x","where":{"type":"fn","name_like":"none"}}`, contract.ASTEdit},
		"no id":               {`{"operation":"replace_node","text":"x","target_node_id":"n1"}`, contract.ASTEdit},
		"an id outside":       {`{"operation":"replace_node","text":"x","target_node_id":"0123456789abcdef:0-1:../a.go"}`, contract.Policy},
		"node does not parse": {`{"operation":"replace_node","text":"func","where":{"type":"fn","name_like":"f","language":"go"}}`, contract.ASTParse},
		"a long string": {`{"operation":"replace_pattern","text":"g(\"\"\"\nx\"\"\")","where":{"pattern":"f()","language":"python"}}`,
			contract.ASTEdit},
		"a long string moves": {`{"operation":"replace_pattern","text":"with y:\n    with z:\n        $$$A","where":{"pattern":"if x:\n    $$$A",` +
			`"language":"python"}}`, contract.ASTEdit},
		"no name":   {`{"operation":"rename_symbol","new_name":"a b","where":{"type":"fn","name_like":"f"}}`, contract.Validation},
		"no server": {`{"operation":"rename_symbol","new_name":"h","where":{"type":"fn","name_like":"f","language":"go"}}`, contract.Policy},
	} {
		b := newBench(t, files)
		raw, e := b.call("ast_edit", tt.args)
		if e == nil || e.Code != tt.code {
			t.Errorf("%s: %v, want %s: %s", name, e, tt.code, raw)
		}
		for file, content := range files {
			if b.read(file) != content {
				t.Errorf("%s: %s is now %q", name, file, b.read(file))
			}
		}
	}
}

func TestReplaceNode(t *testing.T) {
	b := newBench(t, map[string]string{"a.go": "package a\r\n\r\nfunc f() {}\r\n\r\nfunc g() {}\r\n"})
	raw, _ := b.call("ast_query", `{"where":{"type":"fn","name_like":"f"}}`)
	var n queryResult
	if err := json.Unmarshal([]byte(raw), &n); err != nil {
		t.Fatal(err)
	}
	replace := fmt.Sprintf(`{"operation":"replace_node","target_node_id":%q,"text":"func f() {\n\tg()\n}"}`, n.Nodes[0].ID)
	raw, e := b.call("ast_edit", replace)
	if want := "package a\r\n\r\nfunc f() {\r\n\tg()\r\n}\r\n\r\nfunc g() {}\r\n"; e != nil || b.read("a.go") != want {
		t.Errorf("%s %v: %q", raw, e, b.read("a.go"))
	}
	// The id is stale now.
	if _, e := b.call("ast_edit", replace); e == nil || e.Code != contract.ASTEdit || e.Hint != "query the node again" {
		t.Errorf("a stale id: %+v", e)
	}
}

// TestReplaceNodeWithin shows that the lines of a method take its place, whatever their first one has.
func TestReplaceNodeWithin(t *testing.T) {
	b := newBench(t, map[string]string{"a.py": "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n"})
	raw, e := b.call("ast_edit", `{"operation":"replace_node","where":{"type":"fn","name_like":"f"},"text":"def f(self):\n    x = 1\n\n    return x"}`)
	want := "class A:\n    def f(self):\n        x = 1\n\n        return x\n\n    def g(self):\n        return 2\n"
	if got := b.read("a.py"); e != nil || got != want {
		t.Errorf("%s, %v: %q", raw, e, got)
	}
}

// TestFormat shows that what was formatted is formatted after an edit, and nothing else is.
func TestFormat(t *testing.T) {
	for before, want := range map[string]string{
		"package a\n\nvar (\n\ta  = 1\n\tbb = 2\n)\n": "package a\n\nvar (\n\taaaa = 1\n\tbb   = 2\n)\n",
		"package a\n\nvar (\n\ta = 1\n\tbb = 2\n)\n":  "package a\n\nvar (\n\taaaa = 1\n\tbb = 2\n)\n",
	} {
		b := newBench(t, map[string]string{"a.go": before})
		s := newSource("a.go", []byte(before))
		at := strings.Index(before, "\ta") + 1
		id := s.node(typeMatch, "a", Span{at, at + 1}, 1).ID
		raw, e := b.call("ast_edit", fmt.Sprintf(`{"operation":"replace_node","target_node_id":%q,"text":"aaaa","format_on_save":true}`, id))
		if got := b.read("a.go"); e != nil || got != want {
			t.Errorf("%s, %v: %q", raw, e, got)
		}
	}
}

// TestValidateBuild shows that a change which does not build is taken back.
func TestValidateBuild(t *testing.T) {
	const before = "package a\n\nfunc f() int { return 1 }\n"
	for text, ok := range map[string]bool{"func f() int { return 2 }": true, "func f() int { return x }": false} {
		b := newBench(t, map[string]string{"go.mod": "module a\n", "a.go": before})
		b.reg.AST.ValidateOnEdit = true
		raw, e := b.call("ast_edit", `{"operation":"replace_node","where":{"type":"fn"},"text":"`+text+`"}`)
		if (e == nil) != ok || !ok && (e.Rule != "build.must.pass" || b.read("a.go") != before) {
			t.Errorf("%s: %s, %v: %q", text, raw, e, b.read("a.go"))
		}
	}
	// Other languages have commands too, or those of the registry.
	const source = "int f() { return 1; }\n"
	for run, code := range map[string]contract.Code{"": contract.Policy, "go nothing": contract.Validation, "no-such-program": contract.Shell, "go version": ""} {
		b := newBench(t, map[string]string{"a.c": source})
		if run != "" {
			b.reg.Validators = []registry.Validator{{Rule: "build.must.pass", Run: []string{run}}}
		}
		_, e := b.call("ast_edit", `{"operation":"replace_node","where":{"type":"fn","language":"c"},"text":"int g() { return 2; }","validate_build":true}`)
		if (e == nil) != (code == "") || e != nil && e.Code != code || (b.read("a.c") == source) != (code != "") {
			t.Errorf("%q: %v, %q", run, e, b.read("a.c"))
		}
	}
}

// TestBuildsShareACache: what an edit builds the next one, and a commit, need not build again.
func TestBuildsShareACache(t *testing.T) {
	t.Setenv("GOCACHE", "")
	b := newBench(t, map[string]string{"go.mod": "module a\n", "a.go": "package a\n\nfunc f() int { return 1 }\n"})
	b.scratch = t.TempDir()
	raw, e := b.call("ast_edit", `{"operation":"replace_node","where":{"type":"fn"},"text":"func f() int { return 2 }","validate_build":true}`)
	if left, err := os.ReadDir(filepath.Join(b.scratch, "go-build")); e != nil || err != nil || len(left) == 0 {
		t.Errorf("%s, %v: %v %v", raw, e, left, err)
	}
}

// TestConfigurationOfTheWorkspace: none is read, and what .gitignore names is found.
func TestConfigurationOfTheWorkspace(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	b := newBench(t, map[string]string{"sgconfig.yml": "ruleDirs: [rules]\ncustomLanguages:\n  evil: {libraryPath: evil.so, extensions: [py]}\n",
		"rules/x.yml": "broken", "evil.so": "x", ".gitignore": "*\n", ".ignore": "*\n", "a.py": "f(1)\n",
		"sitecustomize.py": "open(" + quote(marker) + ", 'w')\n", "ast.py": "open(" + quote(marker) + ", 'w')\n",
		"rustfmt.toml": "bad = 1\n", "pyproject.toml": "x"})
	if got := b.nodes(`{"pattern":"f($A)","language":"python"}`); got != "a.py:1:f(1)" {
		t.Errorf("got %s", got)
	}
	if raw, e := b.call("ast_generate", `{"paths":["**"]}`); e != nil || !strings.Contains(raw, `"parsed_files":3,"errors":[]`) {
		t.Errorf("%s, %v", raw, e)
	}
	if _, err := os.Lstat(marker); err == nil {
		t.Error("a file of the workspace was run")
	}
}

// TestNodeIDs shows that an id holds as long as its file is as it was.
func TestNodeIDs(t *testing.T) {
	b := newBench(t, map[string]string{"a.go": "package a\nfunc F() {}\n"})
	raw, _ := b.call("ast_query", `{"where":{"type":"fn"}}`)
	var n queryResult
	if err := json.Unmarshal([]byte(raw), &n); err != nil {
		t.Fatal(err)
	}
	if _, span, err := locate(b.w, n.Nodes[0].ID); err != nil || span != (Span{10, 21}) {
		t.Errorf("%v, %v", span, err)
	}
	b.write("a.go", "package a\nfunc G() {}\n")
	for id, want := range map[string]string{n.Nodes[0].ID: "has changed", "n1": "no id", n.Nodes[0].ID + "x": "E_FILE_IO",
		strings.Replace(n.Nodes[0].ID, "a.go", "../a.go", 1): "sec.paths", strings.Replace(n.Nodes[0].ID, "-21", "-99", 1): "has changed"} {
		_, _, err := locate(b.w, id)
		if err == nil || !strings.Contains(fmt.Sprintf("%v %+v", err, err), want) && want != "sec.paths" {
			t.Errorf("%s: %v, want %s", id, err, want)
		}
	}
}
