package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type bench struct {
	t            *testing.T
	in, out, dir string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	b := &bench{t, t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "w")}
	return b
}

func (b *bench) write(name, content string) string {
	b.t.Helper()
	name = filepath.Join(b.in, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return name
}

func (b *bench) read(name string) string {
	b.t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(raw)
}

// plan writes calls, each a tool and its arguments.
func (b *bench) plan(calls ...string) string {
	var lines strings.Builder
	for i, c := range calls {
		name, args, _ := strings.Cut(c, " ")
		fmt.Fprintln(&lines, request(fmt.Sprint("r", i), name, args))
	}
	return b.write("plan.jsonl", lines.String())
}

func request(id, name, args string) string {
	return fmt.Sprintf(`{"type":"ToolRequest","tool":%q,"args":%s,"request_id":%q,"session_id":"s","timestamp":1}`, name, args, id)
}

func (b *bench) run(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(append([]string{"run", "--workspace", b.dir, "--out", b.out}, args...), strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

func TestRun(t *testing.T) {
	b := newBench(t)
	b.write("workspace/src/a.txt", "old\n")
	if err := os.Mkdir(filepath.Join(b.in, "workspace/empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	plan := b.plan(`file_read {"path":"src/a.txt"}`, `file_write {"path":"src/a.txt","content":"new\n"}`)
	code, out, errs := b.run(plan)
	if code != exitOK || out != "1/2 file_read: ok\n2/2 file_write: ok\n" || errs != "" {
		t.Errorf("code %d, %q, %q", code, out, errs)
	}
	if got := b.read(filepath.Join(b.dir, "src/a.txt")); got != "new\n" {
		t.Errorf("the workspace holds %q", got)
	}
	if info, err := os.Stat(filepath.Join(b.dir, "empty")); err != nil || !info.IsDir() {
		t.Errorf("the empty folder did not come along: %v", err)
	}
	if got := b.read(filepath.Join(b.in, "workspace/src/a.txt")); got != "old\n" {
		t.Errorf("the input was changed to %q", got)
	}
	if got := strings.Count(b.read(filepath.Join(b.out, "responses.jsonl")), `"ok":true`); got != 2 {
		t.Errorf("%d responses", got)
	}
	if got := strings.Count(b.read(filepath.Join(b.out, "timeline.jsonl")), `"code":"OK"`); got != 2 {
		t.Errorf("%d lines in the timeline", got)
	}
	if got := b.read(filepath.Join(b.out, "changes.patch")); !strings.HasSuffix(got,
		"--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1 +1 @@\n-old\n+new\n") {
		t.Errorf("changes.patch is %q", got)
	}
	// What was written by a run is not written over.
	if code, _, errs := b.run(plan); code != exitTrouble || !strings.Contains(errs, "responses.jsonl") {
		t.Errorf("code %d, %q", code, errs)
	}
}

// TestRunWithARepository imports a bundle, works on it, and takes the commits out.
func TestRunWithARepository(t *testing.T) {
	b := newBench(t)
	source := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", source, "-c", "user.name=a", "-c", "user.email=a@b.invalid"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "feat: begin")
	git("bundle", "create", "-q", filepath.Join(b.in, "repository.bundle"), "HEAD", "main")
	plan := b.plan(`git_checkout {"target":"feat/x","create":true}`, `file_write {"path":"a","content":"a\n"}`,
		`git_add {"paths":["a"]}`, `git_commit {"message":"feat: a"}`, `git_status {}`)
	if code, out, errs := b.run(plan); code != exitOK || errs != "" {
		t.Fatalf("code %d, %q, %q", code, out, errs)
	}
	git("fetch", "-q", filepath.Join(b.out, "commits.bundle"), "feat/x:feat/x")
	if got, want := b.read(filepath.Join(b.out, "changes.patch")), git("diff", "main", "feat/x"); got != want {
		t.Errorf("changes.patch is\n%s\nwant\n%s", got, want)
	}
	// A bundle and files can't both be meant, and a bundle needs an empty folder.
	for _, spoil := range []func(){func() { b.write("workspace/a", "") }, func() {}} {
		b.out = t.TempDir()
		spoil()
		if code, _, errs := b.run(plan); code != exitTrouble || errs == "" {
			t.Errorf("code %d, %q", code, errs)
		}
		if err := os.RemoveAll(filepath.Join(b.in, "workspace")); err != nil {
			t.Fatal(err)
		}
	}
	// The same over the streams.
	var out, errs bytes.Buffer
	code := run([]string{"serve", "--jsonl", "--workspace", t.TempDir(), "--bundle", filepath.Join(b.in, "repository.bundle")},
		strings.NewReader(request("1", "git_status", "{}")), &out, &errs)
	if code != exitOK || !strings.Contains(out.String(), `"branch":"main"`) {
		t.Errorf("code %d, %s%s", code, out.String(), errs.String())
	}
	out.Reset()
	run([]string{"serve", "--jsonl", "--workspace", t.TempDir()}, strings.NewReader(request("1", "git_status", "{}")), &out, &errs)
	if !strings.Contains(out.String(), "no repository") {
		t.Errorf("without a bundle: %s", out.String())
	}
}

func TestRunStopsAtAFailure(t *testing.T) {
	b := newBench(t)
	plan := b.plan(`file_read {"path":"\u202enone"}`, `file_write {"path":"a","content":""}`)
	code, out, _ := b.run(plan)
	if code != exitReject || !strings.HasPrefix(out, "1/2 file_read: E_FILE_IO: ") || strings.Contains(out, "2/2") || strings.Contains(out, "\u202e") {
		t.Errorf("code %d, %q", code, out)
	}
	b.out = t.TempDir()
	if code, out, _ = b.run("--keep-going", plan); code != exitReject || !strings.HasSuffix(out, "2/2 file_write: ok\n") {
		t.Errorf("code %d, %q", code, out)
	}
}

// TestBadPlans shows that nothing of a plan is carried out if a line of it is wrong.
func TestBadPlans(t *testing.T) {
	good := request("r", "file_write", `{"path":"a","content":""}`)
	for want, line := range map[string]string{
		"plan.jsonl:2: E_VALIDATION_FAIL":       `x`,
		"there is no tool":                      request("1", "none", `{}`),
		"arguments of file_read":                request("1", "file_read", `{"Path":"a"}`),
		"the request_id \"r\" stands in line 1": good,
		"one session_id":                        strings.Replace(request("1", "file_read", `{"path":"a"}`), `"s"`, `"t"`, 1),
		`the path "../x" leaves`:                request("1", "file_write", `{"path":"../x","content":""}`),
		`the path ".GIT/config" belongs to git`: request("1", "file_write", `{"path":".GIT/config","content":""}`),
		`the path "/x" leaves`:                  request("1", "file_patch", `{"path":"/x","unified_diff":"x"}`),
		"ToolRequests only":                     `{"type":"Heartbeat","session_id":"s","timestamp":1}`,
	} {
		b := newBench(t)
		code, out, errs := b.run(b.write("plan.jsonl", good+"\n"+line+"\n"))
		if code != exitTrouble || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: code %d, %q, %q", want, code, out, errs)
		}
		if _, err := os.Stat(filepath.Join(b.dir, "a")); err == nil {
			t.Errorf("%s: the first line was carried out", want)
		}
	}
	b := newBench(t)
	if code, _, errs := b.run(b.write("plan.jsonl", "\n")); code != exitTrouble || !strings.Contains(errs, "empty") {
		t.Errorf("an empty plan: code %d, %q", code, errs)
	}
}

func TestServe(t *testing.T) {
	b := newBench(t)
	in := request("1", "file_write", `{"path":"a","content":"x"}`) + "\n\n" +
		`{"type":"Heartbeat","session_id":"s","timestamp":1}` + "\n" +
		`{"type":"EventMessage","event":"x","request_id":"3","progress":{"pct":1,"message":""}}` + "\n" +
		`{"request_id":"4"}` + "\n" + request("5", "file_read", `{"path":"b"}`)
	var out, errs bytes.Buffer
	timeline := filepath.Join(b.out, "t.jsonl")
	code := run([]string{"serve", "--jsonl", "--workspace", b.in, "--timeline", timeline}, strings.NewReader(in), &out, &errs)
	if code != exitOK {
		t.Fatalf("code %d, %s", code, errs.String())
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		kind, _, _ := strings.Cut(strings.TrimPrefix(line, `{"type":"`), `"`)
		got = append(got, kind)
	}
	slices.Sort(got) // a heartbeat is answered at once
	want := "[ErrorMessage ErrorMessage EventMessage EventMessage EventMessage EventMessage Heartbeat ToolResponse ToolResponse]"
	if fmt.Sprint(got) != want || !strings.Contains(out.String(), `"request_id":"4"`) {
		t.Errorf("got %v\n%s", got, out.String())
	}
	if got := strings.Count(b.read(timeline), "\n"); got != 2 {
		t.Errorf("%d lines in the timeline", got)
	}
}

// TestServeMCP speaks the Model Context Protocol over the streams.
func TestServeMCP(t *testing.T) {
	b := newBench(t)
	call := func(id int, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, id, params) + "\n"
	}
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		call(2, `{"name":"file_write","arguments":{"path":"a","content":"x"}}`) + call(3, `{"name":"git_status"}`) +
		call(4, `{"name":"file_read","arguments":{"path":"a","path":"b"}}`) + call(5, `{"name":"file_read","arguments":{"Path":"a"}}`)
	timeline := filepath.Join(b.out, "t.jsonl")
	args := []string{"serve", "--mcp", "--workspace", b.in, "--timeline", timeline}
	var out, errs bytes.Buffer
	if code := run(args, strings.NewReader(in), &out, &errs); code != exitOK {
		t.Fatalf("code %d, %s", code, errs.String())
	}
	for _, want := range []string{`"structuredContent":{"written":true,"bytes":1}`, `"code":"E_GIT"`, `"code":-32700`,
		`"code":"E_VALIDATION_FAIL"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no answer has %s:\n%s", want, out.String())
		}
	}
	if got := strings.Count(b.read(timeline), "\n"); got != 3 {
		t.Errorf("%d lines in the timeline", got)
	}
	for _, both := range [][]string{{"--mcp", "--jsonl"}, {}} {
		args := append([]string{"serve", "--workspace", b.in}, both...)
		if code := run(args, strings.NewReader(""), &out, &errs); code != exitTrouble {
			t.Errorf("%v: code %d", both, code)
		}
	}
}

func TestSchemaPrints(t *testing.T) {
	for arg, want := range map[string]string{"": "E_INTERNAL", "file_read": `"max_bytes"`, "Heartbeat": `"session_id"`} {
		var out, errs bytes.Buffer
		if code := run(strings.Fields("schema "+arg), nil, &out, &errs); code != exitOK || !strings.Contains(out.String(), want) {
			t.Errorf("%q: code %d, %s%s", arg, code, out.String(), errs.String())
		}
	}
	var out, errs bytes.Buffer
	if code := run([]string{"schema", "none"}, nil, &out, &errs); code != exitTrouble || !strings.Contains(errs.String(), "hint:") {
		t.Errorf("code %d, %s", code, errs.String())
	}
}

// TestDocument holds docs/tools.md to the contracts.
func TestDocument(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"schema", "--markdown"}, nil, &out, &errs); code != exitOK {
		t.Fatal(errs.String())
	}
	page, err := os.ReadFile("../../docs/tools.md")
	if err != nil || string(page) != out.String() {
		t.Errorf("docs/tools.md is out of date: make docs writes it anew (%v)", err)
	}
}

// TestRegistry shows that the registry next to the plan holds, and what is said of it.
func TestRegistry(t *testing.T) {
	b := newBench(t)
	plan := b.plan(`shell_exec {"cmd":"echo a"}`, `shell_exec {"cmd":"printf b","must_succeed":true}`, `emit_metrics {}`)
	if code, out, _ := b.run(plan); code != exitReject || !strings.Contains(out, "rule: sec.shell.allowlist") {
		t.Errorf("without a registry: code %d, %q", code, out)
	}
	b.out = t.TempDir()
	b.write("registry.yaml", "version: 1\nshell_allow: ['^(echo|printf) ']\nast: {language: python}\nvalidators: [{rule: build.must.pass, enforcement: blocking}]\n")
	code, out, errs := b.run(plan)
	if code != exitOK || errs != "" {
		t.Errorf("code %d, %q, %q", code, out, errs)
	}
	if got := b.read(filepath.Join(b.out, "responses.jsonl")); !strings.Contains(got, `"stdout":"a\n"`) || !strings.Contains(got, `"requests":2`) {
		t.Errorf("got %s", got)
	}
	b.out = t.TempDir()
	// A rule pack beside the registry raises levels, and needs one.
	b.out = t.TempDir()
	b.write("rules.yaml", "validators: [{rule: code.todo.blockers, enforcement: blocking}, {rule: lint.must.pass, enforcement: blocking}]\n")
	if code, _, errs := b.run(plan); code != exitTrouble || !strings.Contains(errs, "rules.yaml") || !strings.Contains(errs, "can never pass") {
		t.Errorf("code %d, %q", code, errs)
	}
	if err := os.Remove(filepath.Join(b.in, "rules.yaml")); err != nil {
		t.Fatal(err)
	}
	b.out = t.TempDir()
	b.write("registry.yaml", "version: 1\nshel_allow: []\n")
	if code, _, errs := b.run(plan); code != exitTrouble || !strings.Contains(errs, "registry.yaml") || !strings.Contains(errs, "shel_allow") {
		t.Errorf("code %d, %q", code, errs)
	}
}
