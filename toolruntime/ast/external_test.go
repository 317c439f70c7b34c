package ast

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

func (b *bench) servers(lines string) *bench {
	b.t.Helper()
	var err error
	if b.reg, err = registry.Parse([]byte("version: 1\nast:\n  servers:\n    " + lines + "\n")); err != nil {
		b.t.Fatal(err)
	}
	return b
}

var goModule = map[string]string{
	"go.mod":      "module example.com/m\n\ngo 1.24\n",
	"a/a.go":      "// Package a is.\npackage a\n\n// Old is. Old does nothing.\nfunc Old() string { return \"Old\" }\n",
	"b/b.go":      "\ufeffpackage b\n\nimport \"example.com/m/a\"\n\nvar 漢, _ = /* 𝒳 */ a.Old(), \"a.Old()\"\n",
	"b/crlf.go":   "package b\r\n\r\nimport \"example.com/m/a\"\r\n\r\nvar y = a.Old() + a.Old()\r\n",
	"b/b_test.go": "package b\n\nimport (\n\t\"io\"\n\n\t\"example.com/m/a\"\n)\n\nvar _ io.Reader\nvar z = a.Old()\n",
}

// TestRename renames a function across packages with gopls.
func TestRename(t *testing.T) {
	b := newBench(t, goModule).servers("gopls: {}")
	raw, e := b.call("ast_edit", `{"operation":"rename_symbol","new_name":"Fresh","where":{"type":"fn","name_like":"Old"}}`)
	if e != nil || !strings.Contains(raw, `"files_touched":["a/a.go","b/b.go","b/b_test.go","b/crlf.go"]`) {
		t.Fatalf("%s, %v", raw, e)
	}
	for file, before := range goModule {
		want := strings.ReplaceAll(strings.ReplaceAll(before, "a.Old()", "a.Fresh()"), `"a.Fresh()"`, `"a.Old()"`)
		want = strings.ReplaceAll(strings.ReplaceAll(want, "func Old", "func Fresh"), "// Old is. Old", "// Fresh is. Fresh")
		if got := b.read(file); got != want {
			t.Errorf("%s is %q\nwant %q", file, got, want)
		}
	}
	// What can't be renamed changes nothing, and says why.
	_, e = b.call("ast_edit", `{"operation":"rename_symbol","new_name":"func","where":{"type":"fn","name_like":"Fresh"}}`)
	if e == nil || e.Code != contract.ASTEdit {
		t.Errorf("%v", e)
	}
}

// TestReferencesInOtherFiles: a server that knows only what it is told of is told of the files that have the name. A
// header of C is taken for one.
func TestReferencesInOtherFiles(t *testing.T) {
	b := newBench(t, map[string]string{"lib.h": "int old(int);\n", "lib.c": "#include \"lib.h\"\nint old(int n) { return n; }\n",
		"use.c": "#include \"lib.h\"\nint use(void) { return old(1); }\n", "other.c": "int other(void) { return 1; }\n"}).servers("clangd: {}")
	for _, place := range []string{`"lib.h" 0 4`, `"lib.c" 1 6`} { // where the name begins, and within it
		var file string
		var line, character int
		fmt.Sscanf(place, "%q %d %d", &file, &line, &character)
		raw, e := b.call("ast_external", fmt.Sprintf(`{"provider":"clangd","request":{"method":"textDocument/references","params":{`+
			`"textDocument":{"uri":"file:///%s"},"position":{"line":%d,"character":%d},"context":{"includeDeclaration":true}}}}`, file, line, character))
		for _, file := range []string{"lib.h", "lib.c", "use.c"} {
			if e != nil || !strings.Contains(raw, `"file:///`+file+`"`) {
				t.Errorf("%s, %s: %s, %v", place, file, raw, e)
			}
		}
	}
	got := b.renames(`{"type":"fn","name_like":"old","file_glob":"lib.c"}`, "fresh")
	if want := []string{"lib.c", "lib.h", "use.c"}; !slices.Equal(got, want) || b.read("lib.h") != "int fresh(int);\n" {
		t.Errorf("it changed %q, want %q: %s", got, want, b.read("lib.h"))
	}
}

// TestRenamePython renames with pyright.
func TestRenamePython(t *testing.T) {
	b := newBench(t, map[string]string{"a.py": "class K:\n    def old(self): pass\n\ndef old(): pass\n\nold()\nK().old()\n",
		"b/b.py": "from a import K\n\nK().old()\n"}).servers("pyright: {}")
	raw, e := b.call("ast_query", `{"where":{"type":"fn","name_like":"old","file_glob":"a.py"}}`)
	id := strings.Split(raw, `"`)
	if e != nil || len(id) < 6 {
		t.Fatalf("%s, %v", raw, e)
	}
	raw, e = b.call("ast_edit", fmt.Sprintf(`{"operation":"rename_symbol","new_name":"fresh","target_node_id":%q}`, id[5]))
	if want := "class K:\n    def fresh(self): pass\n\ndef old(): pass\n\nold()\nK().fresh()\n"; e != nil || b.read("a.py") != want {
		t.Errorf("%s, %v: %q", raw, e, b.read("a.py"))
	}
	if got := b.read("b/b.py"); got != "from a import K\n\nK().fresh()\n" {
		t.Errorf("in another file: %q", got)
	}
}

func TestExternal(t *testing.T) {
	b := newBench(t, goModule).servers("gopls: {}")
	raw, e := b.call("ast_external", `{"provider":"gopls","request":{"method":"textDocument/references","params":{`+
		`"textDocument":{"uri":"file:///a/a.go"},"position":{"line":4,"character":6},"context":{"includeDeclaration":true}}}}`)
	if e != nil || !strings.Contains(raw, `"file:///b/b.go"`) || strings.Contains(raw, b.w.Dir) {
		t.Errorf("%s, %v", raw, e)
	}
	raw, e = b.call("ast_external", `{"provider":"gopls","request":{"method":"textDocument/definition","params":{`+
		`"textDocument":{"uri":"file:///b/b_test.go"},"position":{"line":8,"character":10}}}}`)
	if e != nil || !strings.Contains(raw, `"external:///`) {
		t.Errorf("%s, %v", raw, e)
	}
	// As section 5.5 prints it.
	raw, e = b.call("ast_external", `{"provider":"gopls","request":{"method":"textDocument/documentSymbol","params":{"uri":"file:///a/a.go"}}}`)
	if e != nil || !strings.Contains(raw, `"name":`) {
		t.Errorf("%s, %v", raw, e)
	}
	for args, want := range map[string]contract.Code{
		`{"provider":"gopls","request":{"method":"workspace/executeCommand","params":{"command":"gopls.run_go_command"}}}`:      contract.Policy,
		`{"provider":"gopls","request":{"method":"workspace/didChangeConfiguration"}}`:                                          contract.Policy,
		`{"provider":"gopls","request":{"method":"shutdown"}}`:                                                                  contract.Policy,
		`{"provider":"clangd","request":{"method":"workspace/symbol"}}`:                                                         contract.Policy,
		`{"provider":"gopls","request":{"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///../x"}}}}`:       contract.Policy,
		`{"provider":"gopls","request":{"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///etc/passwd"}}}}`: contract.FileIO,
		`{"provider":"gopls","request":{"method":"textDocument/hover","params":{"x":["FILE://host/x"]}}}`:                       contract.Policy,
		`{"provider":"gopls","request":{"method":"workspace/symbol","params":{"query":1}}}`:                                     contract.Validation,
	} {
		if raw, e := b.call("ast_external", args); e == nil || e.Code != want {
			t.Errorf("%s: %v, want %s: %s", args, e, want, raw)
		}
	}
}

// evil is a language server that does what its first word says, once it is asked to rename.
const evil = `#!/usr/bin/python3
import json, os, subprocess, sys
how, marker = sys.argv[1:3]
def read():
    size = 0
    while (line := sys.stdin.buffer.readline().strip()):
        if line.lower().startswith(b"content-length:"):
            size = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(size)) if size else sys.exit(0)
def send(**m):
    raw = json.dumps({"jsonrpc": "2.0", **m}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(raw), raw))
    sys.stdout.buffer.flush()
def edit(uri, line=0):
    at = {"start": {"line": line, "character": 8}, "end": {"line": line, "character": 9}}
    return {"changes": {uri: [{"range": at, "newText": "b"}]}}
root = ""
while True:
    m = read()
    if m.get("method") == "initialize":
        root = m["params"]["rootUri"]
        if how == "dies":
            sys.exit("I die")
        send(id=m["id"], result={"capabilities": {}})
    elif m.get("method") == "textDocument/references":
        for token, kind in [("a", "begin"), (1, "begin"), (1, "end")] + [("a", "end")] * (how == "ends"):
            send(method="$/progress", params={"token": token, "value": {"kind": kind}})
        send(id=m["id"], result=[])
    elif m.get("method") == "textDocument/rename":
        if how == "asks":
            answers = []
            for i, (method, params) in enumerate([("workspace/applyEdit", {"edit": edit(root + "/a.go")}),
                    ("workspace/executeCommand", {"command": "x"}), ("window/showDocument", {"uri": "file:///etc/passwd"}),
                    ("workspace/configuration", {"items": [{}, {}]}), ("workspace/workspaceFolders", None)]):
                send(id=1000 + i, method=method, params=params)
                answers.append(read())
            with open(marker, "w") as f:
                json.dump(answers, f)
            send(id=m["id"], result=edit(root + "/a.go"))
        elif how == "outside":
            send(id=m["id"], result=edit("file:///etc/passwd"))
        elif how == "dots":
            send(id=m["id"], result=edit(root + "/../" + os.path.basename(marker)))
        elif how == "git":
            send(id=m["id"], result=edit(root + "/.git/config"))
        elif how == "link":
            send(id=m["id"], result=edit(root + "/link.go"))
        elif how == "creates":
            send(id=m["id"], result={"documentChanges": [{"kind": "create", "uri": root + "/new.go"}]})
        elif how == "line":
            send(id=m["id"], result=edit(root + "/a.go", 10**15))
        elif how == "breaks":
            send(id=m["id"], result=edit(root + "/a.go", 1))
        elif how == "nothing":
            send(id=m["id"], result=None)
        elif how == "null":
            send(id=m["id"], result={"changes": {}})
        elif how == "floods":
            while True:
                send(method="window/logMessage", params={"message": "x" * 2**20})
        elif how == "endless":
            sys.stdout.buffer.write(b"Content-Length: 99999999999999\r\n\r\n[")
            while True:
                sys.stdout.buffer.write(b"[1],\n" * 2**18)
        elif how == "garbage":
            sys.stdout.buffer.write(b"hello\r\n\r\n\x00\xff")
            sys.stdout.buffer.flush()
            sys.exit(3)
        elif how == "hangs":
            subprocess.Popen(["sleep", "1000"])
            with open(marker + ".new", "w") as f:
                f.write(str(os.getpgrp()))
            os.rename(marker + ".new", marker)
            while True:
                read()
`

// TestUnfinished: an answer says whether the server was still at work.
func TestUnfinished(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "evil-server"), []byte(evil), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for how, unfinished := range map[string]bool{"begins": true, "ends": false} {
		b := newBench(t, map[string]string{"a.go": "package a\n"}).servers("evil: {command: evil-server " + how + " none}")
		raw, e := b.call("ast_external", `{"provider":"evil","request":{"method":"textDocument/references","params":{`+
			`"textDocument":{"uri":"file:///a.go"},"position":{"line":0,"character":0}}}}`)
		if want := fmt.Sprintf(`"response":[],"unfinished":%v`, unfinished); e != nil || !strings.Contains(raw, want) {
			t.Errorf("%s: %s, %v", how, raw, e)
		}
	}
}

// TestHostileServers shows what comes of servers that do not do what they are asked for.
func TestHostileServers(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "evil-server"), []byte(evil), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for how, want := range map[string]contract.Code{"asks": "", "dies": contract.Shell, "outside": contract.Policy,
		"dots": contract.Policy, "git": contract.Policy, "link": contract.Policy, "creates": contract.ASTEdit, "line": contract.ASTEdit,
		"breaks": contract.ASTParse, "nothing": contract.ASTEdit, "null": contract.ASTEdit, "floods": contract.Shell,
		"endless": contract.Shell, "garbage": contract.Shell} {
		t.Run(how, func(t *testing.T) {
			marker := filepath.Join(t.TempDir(), "marker")
			b := newBench(t, map[string]string{"a.go": "func f\n"}).servers(
				"evil: {command: 'evil-server " + how + " " + marker + "', languages: [go]}")
			const before = "package a\n"
			b.write("a.go", before+"\nfunc f() {}\n")
			if err := os.Symlink("a.go", filepath.Join(b.w.Dir, "link.go")); err != nil {
				t.Fatal(err)
			}
			raw, e := b.call("ast_edit", `{"operation":"rename_symbol","new_name":"h","where":{"type":"fn","name_like":"f"}}`)
			got := b.read("a.go")
			switch {
			case want != "" && (e == nil || e.Code != want || got != before+"\nfunc f() {}\n"):
				t.Errorf("%v, want %s: %s: %q", e, want, raw, got)
			case want == "" && (e != nil || got == before+"\nfunc f() {}\n"):
				t.Errorf("%v: %q", e, got)
			}
			if how == "asks" {
				said, err := os.ReadFile(marker)
				for _, w := range []string{`"applied": false`, "does not do workspace/executeCommand", "does not do window/showDocument",
					`"result": [null, null]`} {
					if err != nil || !strings.Contains(string(said), w) {
						t.Errorf("%s is not answered to: %s, %v", w, said, err)
					}
				}
			}
		})
	}
}

// TestServerEnds shows that nothing of a server is left when its call is over.
func TestServerEnds(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "evil-server"), []byte(evil), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	marker := filepath.Join(t.TempDir(), "marker")
	b := newBench(t, map[string]string{"a.go": "package a\n\nfunc f() {}\n"}).servers(
		"evil: {command: 'evil-server hangs " + marker + "', languages: [go]}")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := tools{w: b.w, rules: b.reg}.edit(ctx, editArgs{Operation: renameSymbol, NewName: "g", Where: Where{Type: typeFn}})
		done <- err
	}()
	group := ""
	for group == "" {
		raw, _ := os.ReadFile(marker)
		group = string(raw)
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a call that was cancelled succeeded")
	}
	pgid, err := strconv.Atoi(group)
	if err != nil || pgid < 2 {
		t.Fatalf("the group is %q", group)
	}
	// A process that was killed may take a moment to go.
	for {
		if errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
